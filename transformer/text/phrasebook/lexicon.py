"""Load the phrasebook's words from its tables."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import get_args

from transformer.text.phrasebook.morphology import (
    Model,
    conjugate,
    english_plural,
    english_verb,
    french_feminine,
    french_plural,
    starts_with_vowel,
)
from transformer.text.phrasebook.tables import Place, Row, read_table
from transformer.text.phrasebook.words import (
    Adjective,
    Aspect,
    Determiner,
    EnglishTense,
    EnglishVerb,
    FrenchTense,
    FrenchVerb,
    Gender,
    Modal,
    Noun,
    NounChoice,
    ObjectChoice,
    Phrase,
    Pronoun,
    VerbUse,
)

# A beginner's first words are drawn so many times as often as others of their class.
CORE_WEIGHT, CORE_VERB_WEIGHT = 5, 3
NUMBERS = ("sg", "pl", "one", "any", "mass", "all")
# What a verb may do and be joined to; see data/phrasebook/README.md.
TAGS = (
    *get_args(Aspect),
    *("unwilled", "nocan", "big", "past", "lasting", "habit", "daily", "with"),
    *("home", "kitchen", "out", "town", "work", "trip"),
    *("fast", "well", "much", "carefully", "avoir", "noagree"),
    *("to", "stressed", "core", "weather", "sky", "goes"),
)
# Complements that are no nouns: written @kind, or @kind:class,class.
COMPLEMENTS = ("to", "at", "from", "adjective", "profession", "age", "price", "clock")
RECIPIENTS = ("à", "pour", "de")
MODAL_TAGS = ("any", "future", "past", "habit", "can", "positive", "negative", "event", "lasting")
# Words of the code and the rules that stand in no table.
_FUNCTION_WORDS = frozenset(("ce", "en", "et", "mais", "ne", "ni", "ou", "par", "pas", "plus"))
_FUNCTION_WORDS |= {"que", "quoi", "sans", "se", "si", "sur", "y"}


@dataclass(frozen=True)
class Lexicon:
    """Every word of the phrasebook, by kind."""

    classes: frozenset[str]
    determiners: dict[str, Determiner]
    pronouns: dict[str, Pronoun]
    names: tuple[tuple[str, Gender], ...]
    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: dict[str, FrenchVerb]
    english_verbs: dict[str, EnglishVerb]
    uses: tuple[VerbUse, ...]
    modals: tuple[Modal, ...]
    phrases: dict[str, tuple[Phrase, ...]]  # by class

    @cached_property
    def french_words(self) -> frozenset[str]:
        """Every French word in all its forms, lower-cased: what no made-up name may be."""
        texts = [form for noun in self.nouns for pair in noun.forms.values() for form in pair]
        for one in self.adjectives:
            texts += [
                one.agree(gender, plural) for gender in ("m", "f") for plural in (False, True)
            ]
        for verb in self.verbs.values():
            texts += [verb.infinitive, verb.participle, verb.gerund, *verb.imperative]
            texts += [form for forms in verb.forms.values() for form in forms]
        for code in self.determiners.values():
            texts += [code.masculine, code.masculine_vowel, code.feminine, code.plural]
        for pronoun in self.pronouns.values():
            texts += [pronoun.subject, pronoun.direct, pronoun.indirect, pronoun.stressed]
        texts += [phrase.fr[""] for group in self.phrases.values() for phrase in group]
        words = re.findall(r"\w+", " ".join(texts).lower())
        return frozenset(words).union(_FUNCTION_WORDS)

    def noun_choice(self, place: Place, words: Iterable[str]) -> NounChoice:
        """Parse `class[,class] number determiner[,determiner]`.

        Raises ValueError at `place` for an unknown class, number or determiner, or an empty choice.
        """
        parts = tuple(words)
        if len(parts) != 3:
            raise place.error(
                f"'{' '.join(parts)}' must be three words: classes, number, determiners "
                "(for example: fruit sg un,le)"
            )
        classes, number, codes = parts[0].split(","), parts[1], tuple(parts[2].split(","))
        check_known(place, "number", number, NUMBERS)
        for code in codes:
            check_known(place, "determiner", code, {*self.determiners, "poss"})
        nouns = tuple(noun for noun in self.nouns_of(place, classes) if _has_number(noun, number))
        if not nouns:
            raise place.error(f"no noun is of class {parts[0]} and number {number}; add one")
        return NounChoice(nouns, number, codes)

    def verb(self, place: Place, infinitive: str) -> FrenchVerb:
        """The conjugated verb; raises ValueError at `place` when verbs_fr.txt lacks it."""
        if infinitive not in self.verbs:
            raise place.error(f"unknown French verb '{infinitive}'; add it to verbs_fr.txt")
        return self.verbs[infinitive]

    def english_verb(self, base: str) -> EnglishVerb:
        """The forms of an English verb; one that verbs_en.txt does not list is regular."""
        return self.english_verbs.get(base) or english_verb(base)

    def verb_use(self, place: Place, fr: str, en: str, tags: str, objects: str) -> VerbUse:
        """Build one use of a verb from its cells; raises ValueError at `place`."""
        key = f"{fr}={en}"
        reflexive = fr.startswith(("se ", "s'"))
        if reflexive:
            fr = fr[2:].lstrip()
        infinitive, _, tail = fr.partition(" ")
        base, _, en_tail = en.partition(" ")
        flags: set[str] = set()
        by, also, weight = "", "", "1"
        for flag in tags.split():
            name, equals, classes = flag.partition("=")
            if equals:
                check_known(place, "tag", name, ("by", "also", "weight"))
                by = classes if name == "by" else by
                also = classes if name == "also" else also
                weight = classes if name == "weight" else weight
            else:
                check_known(place, "tag", flag, TAGS)
                flags.add(flag)
        aspects = sorted(flags.intersection(get_args(Aspect)))
        if len(aspects) != 1:
            raise place.error(
                f"tags '{tags}' must name exactly one of {', '.join(get_args(Aspect))}"
            )
        aspect: Aspect = aspects[0]  # type: ignore[assignment]
        verb = self.verb(place, infinitive)
        return VerbUse(
            key=key,
            verb=verb,
            reflexive=reflexive,
            with_etre=reflexive or (verb.with_etre and "avoir" not in flags),
            agrees="noagree" not in flags,
            tail=tail,
            en_verb=self.english_verb(base),
            en_tail=en_tail,
            aspect=aspect,
            tags=frozenset(flags),
            subjects=self.nouns_of(place, (by or also).split(",")) if by or also else (),
            also_persons=not by and "weather" not in flags,
            weight=place.number("weight", weight) * (CORE_VERB_WEIGHT if "core" in flags else 1),
            objects=tuple(
                self._object(place, part.strip()) for part in objects.split(";") if part.strip()
            ),
        )

    def _object(self, place: Place, text: str) -> ObjectChoice:
        """Parse `[preposition +] what [> [preposition] person]`."""
        text, greater, recipient = (part.strip() for part in text.partition(">"))
        to_whom = ""
        if greater:
            to_whom = recipient.removesuffix("person").strip() or "à"
            if not recipient.endswith("person"):
                raise place.error(f"'> {recipient}' must end in 'person'")
            check_known(place, "preposition of a recipient", to_whom, RECIPIENTS)
        preposition, plus, what = (part.strip() for part in text.rpartition("+"))
        preposition = preposition if plus else ""
        if what == "person":
            return ObjectChoice("person", preposition, recipient=to_whom)
        if what.startswith("@"):
            kind, _, classes = what[1:].partition(":")
            check_known(place, "complement", kind, COMPLEMENTS)
            return ObjectChoice(kind, preposition, classes=tuple(filter(None, classes.split(","))))
        return ObjectChoice(
            "noun", preposition, self.noun_choice(place, what.split()), recipient=to_whom
        )

    def nouns_of(self, place: Place, classes: Iterable[str]) -> tuple[Noun, ...]:
        """All nouns of some classes (or of these names), but those of a `-class`.

        Core nouns stand in it CORE_WEIGHT times, so that they are drawn as often.

        Raises ValueError at `place` for an unknown class.
        """
        names = frozenset(classes)
        for name in names:
            check_known(place, "class", name.removeprefix("-"), self.classes)
        left_out = frozenset(name[1:] for name in names if name[0] == "-")
        return tuple(
            noun
            for noun in self.nouns
            if not noun.classes.isdisjoint(names) and noun.classes.isdisjoint(left_out)
            for _ in range(noun.weight)
        )


def check_known(place: Place, what: str, name: str, known: Collection[str]) -> None:
    """Raise ValueError at `place` unless `name` is among `known`."""
    if name not in known:
        choices = sorted(known)
        shown = ", ".join(choices[:40]) + (", …" if len(choices) > 40 else "")
        raise place.error(f"unknown {what} '{name}'; use one of: {shown}")


def load_lexicon(folder: Path) -> Lexicon:
    """Read all tables of `folder`; raises ValueError naming file and line."""
    parents = _load_classes(folder)
    nouns = tuple(_load_nouns(folder, parents))
    names = {name for noun in nouns for name in noun.classes}
    determiners = _load_determiners(folder)
    lexicon = Lexicon(
        classes=frozenset(parents) | names,
        determiners=determiners,
        pronouns=_load_pronouns(folder, determiners),
        names=_load_names(folder),
        nouns=nouns,
        adjectives=tuple(_load_adjectives(folder, frozenset(parents) | names)),
        verbs=_load_french_verbs(folder),
        english_verbs=_load_english_verbs(folder),
        uses=(),
        modals=(),
        phrases=_load_phrases(folder),
    )
    columns = ("fr", "en", "tags", "objects?")
    uses = tuple(
        lexicon.verb_use(row.place, row["fr"], row["en"], row["tags"], row["objects"])
        for file in ("verbs.txt", "frames.txt")
        for row in read_table(folder / file, columns)
    )
    return replace(lexicon, uses=uses, modals=tuple(_load_modals(folder, lexicon)))


def _load_modals(folder: Path, lexicon: Lexicon) -> Iterable[Modal]:
    columns = ("fr", "tense", "en", "en tense", "form", "weight", "tags?")
    for row in read_table(folder / "modals.txt", columns):
        infinitive, _, tail = row["fr"].partition(" ")
        base, _, en_tail = row["en"].partition(" ")
        verb = lexicon.verb(row.place, infinitive)
        check_known(row.place, "form", row["form"], ("base", "ing"))
        check_known(row.place, "French tense", row["tense"], get_args(FrenchTense))
        check_known(row.place, "English tense", row["en tense"], get_args(EnglishTense))
        for tag in row.words("tags"):
            check_known(row.place, "tag", tag, MODAL_TAGS)
        yield Modal(
            key=f"{row['fr']} {row['tense']}" + " not" * ("negative" in row.words("tags")),
            verb=verb,
            with_etre=verb.with_etre,
            tail=tail,
            tense=row["tense"],
            en_verb=lexicon.english_verb(base) if base else None,
            en_tail=en_tail,
            en_tense=row["en tense"],
            en_form=row["form"],
            weight=row.number("weight"),
            tags=frozenset(row.words("tags")),
        )


def _has_number(noun: Noun, number: str) -> bool:
    if number == "mass":
        return noun.mass
    if number == "all":
        return True
    if number in ("one", "any"):
        return not noun.mass
    index = 0 if number == "sg" else 1
    return not noun.mass and any(forms[index] for forms in noun.forms.values())


def _load_classes(folder: Path) -> dict[str, frozenset[str]]:
    """Each class with itself and all its ancestors; parents are declared above children."""
    ancestors: dict[str, frozenset[str]] = {}
    for row in read_table(folder / "classes.txt", ("class", "parents?")):
        above = {row["class"]}
        for parent in row.words("parents"):
            check_known(row.place, "class", parent, ancestors)
            above |= ancestors[parent]
        ancestors[row["class"]] = frozenset(above)
    return ancestors


def _declared_classes(row: Row, known: Collection[str]) -> frozenset[str]:
    for name in row.words("classes"):
        check_known(row.place, "class", name, known)
    return frozenset(row.words("classes"))


def _load_determiners(folder: Path) -> dict[str, Determiner]:
    columns = ("code", "m", "m vowel", "f", "f vowel", "plural")
    english = ("en singular", "en plural", "en mass", "negated", "asked", "usual")
    rows = read_table(folder / "determiners.txt", columns + english)
    codes = [row["code"] for row in rows]
    for row in rows:
        for column in ("negated", "asked", "usual"):
            check_known(row.place, "determiner", row[column], codes)
    return {row["code"]: Determiner(*row.cells.values()) for row in rows}


def _load_pronouns(folder: Path, determiners: Collection[str]) -> dict[str, Pronoun]:
    columns = ("key", "fr", "gender", "plural", "person", "direct", "indirect", "stressed")
    english = ("en", "en person", "en object", "en reflexive", "possessive", "weight")
    genders: dict[str, Gender | None] = {"m": "m", "f": "f", "mf": None}
    plurals = {"sg": False, "pl": True, "any": None}
    pronouns: dict[str, Pronoun] = {}
    for row in read_table(folder / "pronouns.txt", columns + english):
        check_known(row.place, "gender", row["gender"], genders)
        check_known(row.place, "number", row["plural"], plurals)
        check_known(row.place, "person", row["person"], "012345")
        check_known(row.place, "person", row["en person"], "012345")
        check_known(row.place, "determiner", row["possessive"], determiners)
        pronouns[row["key"]] = Pronoun(
            key=row["key"],
            subject=row["fr"],
            gender=genders[row["gender"]],
            plural=plurals[row["plural"]],
            person=int(row["person"]),
            direct=row["direct"],
            indirect=row["indirect"],
            stressed=row["stressed"],
            en_subject=row["en"],
            en_person=int(row["en person"]),
            en_object=row["en object"],
            en_reflexive=row["en reflexive"],
            possessive=row["possessive"],
            weight=int(row.number("weight")),
        )
    return pronouns


def _load_names(folder: Path) -> tuple[tuple[str, Gender], ...]:
    names: list[tuple[str, Gender]] = []
    for row in read_table(folder / "names.txt", ("name", "gender")):
        check_known(row.place, "gender", row["gender"], get_args(Gender))
        names.append((row["name"], "f" if row["gender"] == "f" else "m"))
    return tuple(names)


def _load_nouns(folder: Path, parents: dict[str, frozenset[str]]) -> Iterable[Noun]:
    flags_plural = {"plural", "en-pair"}
    known_flags = {"mass", "plural", "en-mass", "en-pair", "singular", "core"}
    for row in read_table(folder / "nouns.txt", ("fr", "gender", "en", "classes", "flags?")):
        check_known(row.place, "gender", row["gender"], ("m", "f", "mf"))
        flags = row.words("flags")
        for flag in flags:
            check_known(row.place, "flag", flag, known_flags)
        forms: dict[Gender, tuple[str, str]] = {}
        spellings = [part.strip() for part in row["fr"].split("/")]
        genders: tuple[Gender, ...] = ("m", "f") if row["gender"] == "mf" else ()
        if row["gender"] == "mf" and len(spellings) == 1:
            spellings *= 2
        if not genders:
            genders = ("f",) if row["gender"] == "f" else ("m",)
        if len(spellings) != len(genders):
            raise row.place.error(
                f"'{row['fr']}' has {len(spellings)} spellings for gender '{row['gender']}'; "
                "write masculine / feminine with gender mf"
            )
        for gender, spelling in zip(genders, spellings, strict=True):
            singular, _, plural = (part.strip() for part in spelling.partition(","))
            if "plural" in flags:
                forms[gender] = ("", singular)
            elif "mass" in flags or "singular" in flags:
                forms[gender] = (singular, "")
            else:
                forms[gender] = (singular, plural or french_plural(singular))
        en_singular, _, en_plural = (part.strip() for part in row["en"].partition(","))
        name = spellings[0].split(",")[0].strip("*").replace(" ", "_")
        uncountable = "en-mass" in flags or "mass" in flags
        if not uncountable and not flags_plural.isdisjoint(flags):
            en_plural = en_singular
        yield Noun(
            key=f"{spellings[0].split(',')[0]}={en_singular}",
            forms=forms,
            en_singular=en_singular,
            en_plural=en_plural or (en_singular if uncountable else english_plural(en_singular)),
            classes=frozenset((name,)).union(
                *(parents[name] for name in _declared_classes(row, parents))
            ),
            mass="mass" in flags,
            en_mass=uncountable,
            en_pair="en-pair" in flags,
            weight=CORE_WEIGHT if "core" in flags else 1,
        )


def _load_adjectives(folder: Path, classes: frozenset[str]) -> Iterable[Adjective]:
    columns = ("fr", "feminine", "en", "comparative", "place", "classes", "flags?")
    for row in read_table(folder / "adjectives.txt", columns):
        check_known(row.place, "place", row["place"], ("before", "after"))
        masculine, _, vowel = (part.strip() for part in row["fr"].partition(","))
        key, masculine = masculine, masculine.partition("=")[0]
        feminine = row["feminine"] or french_feminine(masculine)
        invariable, better, has_degrees = False, "", True
        core, attributive = False, True
        for flag in row.words("flags"):
            name, _, value = flag.partition("=")
            check_known(
                row.place, "flag", name, ("invariable", "plus", "nodegree", "predicative", "core")
            )
            invariable = invariable or name == "invariable"
            has_degrees = has_degrees and name != "nodegree"
            core = core or name == "core"
            attributive = attributive and name != "predicative"
            better = value if name == "plus" else better
        comparative = row["comparative"] or f"more {row['en']}"
        if comparative.startswith("more "):
            superlative = "most " + comparative.removeprefix("more ")
        else:
            superlative = _SUPERLATIVES.get(comparative, comparative.removesuffix("r") + "st")
        yield Adjective(
            key=key,
            masculine=masculine,
            masculine_vowel=vowel or masculine,
            feminine=masculine if invariable else feminine,
            masculine_plural=masculine if invariable else french_plural(masculine),
            feminine_plural=masculine if invariable else french_plural(feminine),
            before=row["place"] == "before",
            plus=better,
            en=row["en"],
            comparative=comparative,
            superlative=superlative,
            classes=_declared_classes(row, classes),
            has_degrees=has_degrees,
            attributive=attributive,
            weight=CORE_WEIGHT if core else 1,
        )


_SUPERLATIVES = {"better": "best", "worse": "worst", "farther": "farthest"}


def _load_french_verbs(folder: Path) -> dict[str, FrenchVerb]:
    columns = ("ending", "present", "imparfait", "futur", "participle")
    models: dict[str, Model] = {}
    optional = ("subjunctive?", "imperative?")
    for row in read_table(folder / "models_fr.txt", columns + optional):
        present, subjunctive = row.words("present"), row.words("subjunctive")
        if len(present) != 6 or len(subjunctive) not in (0, 6):
            raise row.place.error("the present (and the subjunctive, if given) must have 6 forms")
        if len(row.words("imperative")) not in (0, 3):
            raise row.place.error("the imperative, if given, must have 3 forms: tu, nous, vous")
        hard, _, soft = row["imparfait"].replace("-", "").partition("/")
        models[row["ending"]] = Model(
            ending=row["ending"],
            present=tuple(form.replace("-", "") for form in present),
            imparfait=(hard, soft or hard),
            futur=row["futur"],
            participle=row["participle"],
            subjunctive=subjunctive,
            imperative=row.words("imperative"),
        )
    verbs: dict[str, FrenchVerb] = {}
    for row in read_table(folder / "verbs_fr.txt", ("infinitive", "model", "auxiliary?")):
        check_known(row.place, "verb model", row["model"], models)
        check_known(row.place, "auxiliary", row["auxiliary"], ("", "être"))
        if not row["infinitive"].endswith(row["model"]):
            raise row.place.error(
                f"'{row['infinitive']}' does not end in its model '{row['model']}'; "
                "choose a model that ends it, or add one to models_fr.txt"
            )
        verbs[row["infinitive"]] = conjugate(
            row["infinitive"], models[row["model"]], row["auxiliary"] == "être"
        )
    return verbs


def _load_english_verbs(folder: Path) -> dict[str, EnglishVerb]:
    return {
        row["base"]: english_verb(row["base"], row["past"], row["participle"], row["gerund"])
        for row in read_table(folder / "verbs_en.txt", ("base", "past", "participle?", "gerund?"))
    }


def _load_phrases(folder: Path) -> dict[str, tuple[Phrase, ...]]:
    phrases: dict[str, list[Phrase]] = {}

    def add(row: Row, column: str, phrase: Phrase) -> None:
        for name in row.words(column):
            phrases.setdefault(name, []).append(phrase)

    for file in ("phrases.txt", "reporting.txt"):
        for row in read_table(folder / file, ("classes", "fr", "en")):
            add(row, "classes", Phrase(row["fr"], {"": row["fr"]}, {"": row["en"]}))
    columns = ("classes", "fr", "fr from", "en", "en to", "en from")
    for row in read_table(folder / "places.txt", columns):
        fr = {"": row["fr"], "from": row["fr from"]}
        en = {"": row["en"], "to": row["en to"], "from": row["en from"]}
        add(row, "classes", Phrase(row["fr"], fr, en))
    for row in read_table(folder / "geography.txt", ("name", "kind", "en")):
        check_known(row.place, "kind", row["kind"], _ARTICLES)
        phrase = _geographic(row["name"], row["kind"], row["en"])
        phrases.setdefault("city" if row["kind"] == "city" else "country", []).append(phrase)
        phrases.setdefault("geography", []).append(phrase)
        if row["kind"] == "city":
            bare = Phrase(row["name"], {"": row["name"]}, {"": row["en"], "to": row["en"]})
            phrases.setdefault("bare_city", []).append(bare)
    return {name: tuple(members) for name, members in phrases.items()}


_ARTICLES = {"f": "°la", "m": "°le", "p": "°les", "city": ""}


def _geographic(name: str, kind: str, en: str) -> Phrase:
    """A country or city with its prepositions: in and to it, from it, and its bare name."""
    article = _ARTICLES[kind]
    full = f"{article} {name}".strip()
    if kind == "f" or (kind == "m" and starts_with_vowel(name)):
        inside, origin = f"en {name}", f"de {name}"
    else:
        inside, origin = f"à {full}", f"de {full}"
    return Phrase(
        key=name,
        fr={"": inside, "from": origin, "name": full},
        en={"": f"in {en}", "to": f"to {en}", "from": f"from {en}", "name": en},
    )
