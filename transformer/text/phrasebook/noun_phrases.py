"""Draw noun phrases: pronouns, names, nouns with what may stand around them, pairs."""

import re
from collections import defaultdict
from dataclasses import replace
from random import Random

from transformer.text.phrasebook.chance import Balance, Weighted, Word, made_up_word, pick
from transformer.text.phrasebook.french import compared, determine
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.morphology import starts_with_vowel
from transformer.text.phrasebook.numbers import english_number, french_number
from transformer.text.phrasebook.words import (
    Adjective,
    Gender,
    Noun,
    NounChoice,
    NounPhrase,
    Pronoun,
)

# How often a noun takes an adjective, an owner, a number or a quantity, where it can.
_ADJECTIVE_OF_PERSON, _NAMED = 0.04, 0.07
# How often le is said in another way: the same, the other, the first.
_OTHER_DETERMINER = 0.035
_ADJECTIVE, _OWNER, _NUMBER, _QUANTITY, _SUPERLATIVE = 0.17, 0.06, 0.05, 0.05, 0.08
_MADE_UP_NAME = 0.28
_QUANTITIES = (
    ("beaucoup de", "a lot of", "a lot of"),
    ("trop de", "too many", "too much"),
    ("assez de", "enough", "enough"),
    ("peu de", "few", "little"),
    ("plus de", "more", "more"),
)
# Who a clause is about: kinds of subject and their weights.
_SUBJECTS = {"pronoun": 66, "name": 10, "kin": 10, "folk": 8, "pair": 4, "group": 2, "everyone": 3}
_EVERYONE = (("tout le monde", "everyone"), ("quelqu'un", "someone"), ("personne", "nobody"))


class NounPhrases:
    """Draws noun phrases over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._determiners = lexicon.determiners
        pronouns = lexicon.pronouns
        self.pronouns = pronouns
        self._subject_pronouns = Weighted(
            (pronoun, pronoun.weight) for pronoun in pronouns.values() if pronoun.weight
        )
        self._subject_kinds = Weighted(_SUBJECTS.items())
        self._adjectives: dict[frozenset[str], tuple[Adjective, ...]] = {}
        self._by_class: dict[str, tuple[Noun, ...]] = {}
        self._phrases: dict[tuple[int, Gender, bool, str], NounPhrase] = {}
        # How the sentence addresses the one who is spoken to; the other way doesn't occur in it.
        self.polite = False
        weights: defaultdict[str, float] = defaultdict(float)
        words: list[Word] = [*lexicon.nouns, *lexicon.adjectives, *lexicon.uses]
        for word in words:
            weights[word.key] += word.weight  # a verb has several rows
        self.balance = Balance(weights)

    def begin_sentence(self, polite: bool) -> None:
        """Decides between tu and vous for the sentence that follows."""
        self.polite = polite

    def may_say(self, text: str) -> bool:
        """Whether a French text addresses nobody, or in the way of this sentence."""
        way = address_of(text)
        return way is None or way == self.polite

    def addressed(self, key: str) -> str:
        """`tu` or `vous`, `ton` or `votre`, as the sentence has it; other keys as they are."""
        return (_POLITE if self.polite else _FAMILIAR).get(key, key)

    def nouns(self, *classes: str) -> tuple[Noun, ...]:
        """The nouns of some classes, core nouns several times."""
        key = ",".join(classes)
        if key not in self._by_class:
            self._by_class[key] = tuple(
                noun
                for noun in self._lexicon.nouns
                if not noun.classes.isdisjoint(classes)
                for _ in range(noun.weight)
            )
        return self._by_class[key]

    # --- persons

    def pronoun(self, rng: Random, key: str) -> NounPhrase:
        """A pronoun as subject; je, tu, nous and vous are of either gender."""
        pronoun = self.pronouns[self.addressed(key)]
        gender = pronoun.gender or ("m" if rng.random() < 0.55 else "f")
        plural = rng.random() < 0.3 if pronoun.plural is None else pronoun.plural
        return _pronoun_phrase(pronoun, gender, plural)

    def subject(self, rng: Random, *, questioned: bool = False) -> NounPhrase:
        """Somebody who does something; more often tu and vous where there is a question."""
        kind = self._subject_kinds.draw(rng)
        if kind == "pronoun":
            if questioned and rng.random() < 0.6:
                return self.pronoun(rng, "tu" if rng.random() < 0.6 else "vous")
            key = self._subject_pronouns.draw(rng).key
            if questioned and key in ("je", "nous") and rng.random() < 0.7:
                key = "il" if rng.random() < 0.5 else "elle"
            return self.pronoun(rng, key)
        if kind == "pair":
            return self.pair(rng)
        if kind == "everyone":
            return self._everyone(rng, questioned=questioned)
        return self.person(rng, kind)

    def _everyone(self, rng: Random, *, questioned: bool) -> NounPhrase:
        """`tout le monde`, `quelqu'un`, `personne`."""
        fr, en = pick(rng, _EVERYONE[: 2 if questioned else 3])
        kind = "nobody" if fr == "personne" else "everyone"
        pronoun = self.pronouns["il"]
        return NounPhrase(fr, en, "m", False, 2, 2, pronoun, kind, classes=_PERSON)

    def name(self, rng: Random, gender: Gender | None = None) -> NounPhrase:
        """A first name; some are made up, so that names that nobody knows are learned as such."""
        if gender is None and rng.random() < _PARENT:
            fr, en, of, key = pick(rng, _PARENTS)
            person = self.pronouns[key]
            return NounPhrase(fr, en, of, False, 2, 2, person, "name", words=(fr,), classes=_PERSON)
        if rng.random() < _MADE_UP_NAME:
            text = made_up_word(rng, self._lexicon.french_words)
            of = gender or ("m" if rng.random() < 0.5 else "f")
            words: tuple[str, ...] = ()
        else:
            text, of = pick(rng, self._lexicon.names)
            while gender and of != gender:
                text, of = pick(rng, self._lexicon.names)
            words = (text,)
        pronoun = self.pronouns["il" if of == "m" else "elle"]
        return NounPhrase(
            text, text, of, False, 2, 2, pronoun, "name", words=words, classes=_PERSON
        )

    def titled(self, rng: Random) -> NounPhrase:
        """`monsieur Durand`, `le docteur Ngozi`."""
        fr, en, of, key = pick(rng, _TITLES)
        if rng.random() < _MADE_UP_NAME:
            name = made_up_word(rng, self._lexicon.french_words)
        else:
            name = pick(rng, self._lexicon.phrases["surname"]).key
        return NounPhrase(
            f"{fr} {name}", f"{en} {name}", of, False, 2, 2, self.pronouns[key], "name",
            words=(name,), classes=_PERSON,
        )  # fmt: skip

    def person(self, rng: Random, kind: str = "", owner: NounPhrase | None = None) -> NounPhrase:
        """A name, a relative or friend of somebody's, or one of the folk."""
        kind = kind or ("name", "kin", "kin", "folk")[int(rng.random() * 4)]
        if kind == "name":
            return self.titled(rng) if rng.random() < _TITLED else self.name(rng)
        if kind == "kin":
            noun = self.balance.pick(rng, self.nouns("kin", "friend"))
            code = pick(rng, _OWNERS)
            if owner is not None and not _owns_clearly(owner):
                return self.name(rng)
            # son and sa are the subject's where it is somebody else than je, tu ...
            third = owner is not None and owner.person == 2
            if owner is not None and (rng.random() < 0.5 or (third and code == "son")):
                code = owner.pronoun.possessive
            if code in _SHARED and not noun.classes.isdisjoint(_SPOUSES):
                code = "mon"
            phrase = self.noun(rng, noun, "any", self.addressed(code))
            if phrase.plural or rng.random() > _NAMED:
                return phrase
            name = self.name(rng, phrase.gender)  # mon frère Paul
            return replace(
                phrase,
                fr=f"{phrase.fr} {name.fr}",
                en=f"{phrase.en} {name.en}",
                kind="noun with name",
                words=phrase.words + name.words,
                fr_bare="",
                en_bare="",
            )
        if kind == "group":
            noun = self.balance.pick(rng, self.nouns("group"))
            own = rng.random() < 0.5 and not noun.classes.isdisjoint(("famille", "équipe"))
            return self.noun(rng, noun, "one", "mon" if own else "le")
        noun = self.balance.pick(rng, self.nouns("folk"))
        return self.noun(rng, noun, "any", pick(rng, _FOLK_DETERMINERS))

    def pair(self, rng: Random) -> NounPhrase:
        """Two persons: mon frère et ma sœur, Paul et moi."""
        first = self.person(rng, "name" if rng.random() < 0.5 else "kin")
        if rng.random() < 0.25:
            return self.together(first, self.pronoun(rng, "je"))
        if first.kind == "name":
            second = self.name(rng)
            return self.together(
                first, self.pronoun(rng, "je") if second.fr == first.fr else second
            )
        owner = first.words[0] if first.words else ""
        second = self.person(rng, "kin")
        if second.words[:1] == (owner,):
            second = self.name(rng)
        return self.together(first, second)

    def together(self, first: NounPhrase, second: NounPhrase) -> NounPhrase:
        """Two noun phrases joined by et; with a pronoun, in its stressed form."""
        with_me = second.kind == "pronoun"
        fr = second.pronoun.stressed if with_me else second.fr
        en = second.pronoun.en_subject if with_me else second.en
        person = 3 if with_me else 5
        gender: Gender = "f" if first.gender == second.gender == "f" else "m"
        pronoun = self.pronouns["nous" if with_me else "elles" if gender == "f" else "ils"]
        return NounPhrase(
            fr=f"{first.fr} et {fr}",
            en=f"{first.en} and {en}",
            gender=gender,
            plural=True,
            person=person,
            en_person=person,
            pronoun=pronoun,
            kind="pair",
            fr_negated=f"{first.french(True)} ni {second.french(True)}",
            en_negated=f"{first.english('negated')} or {second.english('negated')}",
            en_asked=f"{first.english('asked')} and {second.english('asked')}",
            en_usual=f"{first.english('usual')} and {second.english('usual')}",
            definite=first.definite and second.definite,
            words=first.words + second.words,
            classes=first.classes & second.classes,
        )

    # --- nouns

    def chosen(
        self,
        rng: Random,
        choice: NounChoice,
        owner: NounPhrase | None = None,
        *,
        plain: bool = False,
    ) -> NounPhrase | None:
        """A noun phrase as a verb's row asks for it; None when it can't be had.

        `plain`: neither adjective nor quantity nor owner.
        """
        code = self.addressed(pick(rng, choice.determiners))
        noun = self.balance.pick(rng, choice.nouns, 3)
        if code == "poss":
            if owner is not None and not (_owns_clearly(owner) or owner.kind == "pair"):
                return None
            code = owner.pronoun.possessive if owner is not None else "mon"
        worn_by = _WORN_BY.get(next(iter(noun.classes & _WORN_BY.keys()), ""))
        if owner is not None and "person" in owner.classes and worn_by not in (None, owner.gender):
            return None
        if not plain and code in ("un", "du") and choice.number != "sg":
            chance = rng.random()
            if chance < _NUMBER and not noun.mass and code == "un":
                return self.counted(rng, noun)
            if chance < _NUMBER + _QUANTITY:
                return self.quantity(rng, noun)
        return self.noun(rng, noun, choice.number, code, plain=plain)

    def noun(
        self, rng: Random, noun: Noun, number: str, code: str, *, plain: bool = False
    ) -> NounPhrase:
        """A noun with a determiner; now and then with an adjective or an owner."""
        gender, plural = self._form(rng, noun, number)
        if code == "du" and not noun.classes.isdisjoint(_NEVER_SOME):
            code = "du0"
        if not plain and code in _OTHERS and not noun.mass and rng.random() < _OTHER_DETERMINER:
            person, ride = "person" in noun.classes, "ride" in noun.classes
            other = pick(rng, _OTHERS[code])
            other = "le-prochain" if ride and other == "le-premier" else other
            other = "l'autre" if person and code == "le" else other
            if not plural or self._determiners[other].plural:
                return self.build(noun, gender, plural, other, kind=f"noun with {other}")
        adjective = None
        person = "person" in noun.classes
        chance = _ADJECTIVE_OF_PERSON if person else _ADJECTIVE
        if not plain and code not in _NO_ADJECTIVE and rng.random() < chance:
            adjective = self._attribute(rng, noun)
        if not plain and code == "le" and "person" not in noun.classes:
            chance = rng.random()
            if chance < _OWNER and not noun.classes.isdisjoint(OWNABLE):
                return self.owned(rng, noun, gender, plural, adjective)
            if chance < _OWNER + _SUPERLATIVE and adjective and adjective.has_degrees:
                return self._superlative(rng, noun, gender, plural, adjective)
        if adjective is None:
            # The same plain phrase is built once. Two nouns may have one key: le café, un café.
            key = (id(noun), gender, plural, code)
            phrase = self._phrases.get(key)
            if phrase is None:
                phrase = self.build(noun, gender, plural, code)
                self._phrases[key] = phrase
            return phrase
        return self.build(noun, gender, plural, code, adjective)

    def _form(self, rng: Random, noun: Noun, number: str) -> tuple[Gender, bool]:
        """Gender and number of a noun for one of NUMBERS."""
        genders = tuple(noun.forms)
        gender = genders[0] if len(genders) == 1 else pick(rng, genders)
        singular, plural = noun.forms[gender]
        if number == "pl":
            return gender, bool(plural)
        if number == "any" and singular and plural:
            return gender, rng.random() < 0.3
        return gender, not singular

    def build(
        self,
        noun: Noun,
        gender: Gender,
        plural: bool,
        code: str,
        adjective: Adjective | None = None,
        *,
        kind: str = "noun",
    ) -> NounPhrase:
        """The noun phrase with its determiner, in all its ways."""
        determiner = self._determiners[code]
        form = noun.forms[gender][1 if plural else 0]
        early, words = False, form
        if adjective is not None:
            early = adjective.before
            word = adjective.agree(gender, plural)
            if early and gender == "m" and not plural and starts_with_vowel(form):
                word = adjective.masculine_vowel
            words = f"{word} {form}" if early else f"{form} {word}"
        en_plural = not noun.en_mass and (plural or noun.en_pair)
        en_words = noun.en_plural if en_plural else noun.en_singular
        if adjective is not None:
            en_words = f"{adjective.en} {en_words}"

        def french(code: str) -> str:
            one = self._determiners[code]
            if early and plural and one.plural == "des":
                return f"de {words}"
            return f"{determine(one, gender, plural, words)} {words}"

        def english(code: str) -> str:
            one = self._determiners[code]
            if noun.en_mass:
                article = one.en_mass
            elif en_plural:
                article = one.en_plural
                if noun.en_pair and not plural and one.en_singular == "a":
                    article = "a pair of"
            else:
                article = one.en_singular
            if article == "a" or article.endswith(" a"):
                article += "°"
            return f"{article} {en_words}" if article else en_words

        person = 5 if plural else 2
        key = ("ils" if gender == "m" else "elles") if plural else "il" if gender == "m" else "elle"
        pronoun = self.pronouns[key if "person" in noun.classes else f"{key}-it"]
        changes = determiner.negated != code
        return NounPhrase(
            fr=french(code),
            en=english(code),
            gender=gender,
            plural=plural,
            person=person,
            en_person=5 if en_plural else 2,
            pronoun=pronoun,
            kind=f"{kind} with adjective" if adjective is not None else kind,
            fr_negated=french(determiner.negated) if changes else "",
            en_negated=english(determiner.negated) if changes else "",
            en_asked=english(determiner.asked) if changes else "",
            en_usual=english(determiner.usual) if changes else "",
            definite=not changes,
            words=(noun.key,) if adjective is None else (noun.key, adjective.key),
            classes=noun.classes,
            fr_bare=words,
            en_bare=en_words,
        )

    def owned(
        self,
        rng: Random,
        noun: Noun,
        gender: Gender,
        plural: bool,
        adjective: Adjective | None,
    ) -> NounPhrase:
        """`la voiture de mon frère`, his brother's car."""
        phrase = self.build(noun, gender, plural, "le", adjective)
        owner = self.person(rng, "name" if rng.random() < 0.5 else "kin")
        phrase.fr = f"{phrase.fr} {of(owner)}"
        phrase.en = f"{genitive_of(owner)} {phrase.en_bare}"
        phrase.kind = "noun of noun"
        phrase.words += owner.words
        return phrase

    def _superlative(
        self, rng: Random, noun: Noun, gender: Gender, plural: bool, adjective: Adjective
    ) -> NounPhrase:
        phrase = self.build(noun, gender, plural, "le")
        bare = noun.forms[gender][1 if plural else 0]
        most = f"{phrase.fr.split()[0]} {compared(adjective, phrase)}"
        # Behind the noun its article neither contracts nor elides: la voiture la plus rapide.
        after = f"{phrase.fr} {most.replace('°', '')}"
        phrase.fr = f"{most} {bare}" if adjective.before else after
        phrase.en = f"the {adjective.superlative} {phrase.en_bare}"
        if rng.random() < 0.4:
            among = pick(rng, self._lexicon.phrases["most_thing"])
            phrase.fr, phrase.en = f"{phrase.fr} {among.fr['']}", f"{phrase.en} {among.en['']}"
        phrase.kind = "superlative"
        phrase.words = (noun.key, adjective.key)
        return phrase

    def counted(self, rng: Random, noun: Noun) -> NounPhrase:
        """`trois pommes`, in words or digits."""
        number = 2 + int(rng.random() ** 2 * 30)
        gender = next(iter(noun.forms))
        if not all(noun.forms[gender]) or noun.en_mass or noun.en_pair:
            return self.noun(rng, noun, "any", "un", plain=True)
        phrase = self.build(noun, gender, True, "nu")
        digits = rng.random() < 0.3
        if number % 10 == 1 and not digits and gender == "f":
            number += 1
        fr, en = (str(number),) * 2 if digits else (french_number(number), english_number(number))
        phrase.fr, phrase.en = f"{fr} {phrase.fr}", f"{en} {phrase.en}"
        phrase.kind = "number and noun"
        return phrase

    def quantity(self, rng: Random, noun: Noun) -> NounPhrase:
        """`beaucoup de pommes`, `trop de bruit`."""
        gender = next(iter(noun.forms))
        plural = not noun.mass and bool(noun.forms[gender][1])
        if not plural and not noun.mass:
            return self.noun(rng, noun, "any", "un", plain=True)
        phrase = self.build(noun, gender, plural, "nu")
        fr, many, much = pick(rng, _QUANTITIES)
        phrase.fr = f"{fr} {phrase.fr}"
        phrase.en = f"{much if noun.en_mass else many} {phrase.en}"
        phrase.kind = "quantity"
        return phrase

    def _attribute(self, rng: Random, noun: Noun) -> Adjective | None:
        """An adjective beside the noun; mon petit ami and beau-père are nouns of their own."""
        if not noun.classes.isdisjoint(_BARE):
            return None
        adjective = self.fitting(rng, noun.classes)
        if adjective is None or not adjective.attributive:
            return None
        if adjective.before and not noun.classes.isdisjoint(_CLOSE):
            return None
        return adjective

    def fitting(self, rng: Random, classes: frozenset[str]) -> Adjective | None:
        """An adjective that may be said of what is of these classes."""
        fitting = self.adjectives(_PERSON_ADJECTIVES if "person" in classes else classes)
        return self.balance.pick(rng, fitting, 4) if fitting else None

    def adjectives(self, classes: frozenset[str]) -> tuple[Adjective, ...]:
        """The adjectives of some classes, core ones several times."""
        found = self._adjectives.get(classes)
        if found is None:
            found = tuple(
                adjective
                for adjective in self._lexicon.adjectives
                if not adjective.classes.isdisjoint(classes)
                for _ in range(adjective.weight)
            )
            self._adjectives[classes] = found
        return found


# What somebody may have, and who: mon sac, le sac de Paul.
OWNABLE = frozenset(("clothing", "personal", "pet", "vehicle", "device", "text", "furniture"))
OWNABLE |= {"room", "building", "toy", "instrument", "kin", "friend", "body"}
_TU = re.compile(r"\b(?:tu|te|toi|ton|ta|tes|dis|peux|pourrais)\b|\bt'", re.IGNORECASE)
_VOUS = re.compile(r"\b(?:vous|votre|vos|dites|\w+ez)\b", re.IGNORECASE)
_PERSON = frozenset(("person",))
_PERSON_ADJECTIVES = frozenset(("character", "looks"))
_OWNERS = ("mon", "mon", "mon", "ton", "notre", "ton", "son", "leur")
# Called as by a name. Drawn so often in a name's place.
_PARENT = 0.07
_TITLED = 0.08
_TITLES: tuple[tuple[str, str, Gender, str], ...] = (
    ("monsieur", "Mr", "m", "il"),
    ("madame", "Mrs", "f", "elle"),
    ("°le docteur", "Doctor", "m", "il"),
)
_PARENTS: tuple[tuple[str, str, Gender, str], ...] = (
    ("maman", "Mum", "f", "elle"),
    ("papa", "Dad", "m", "il"),
)
_OTHERS = {
    "le": ("le-même", "l'autre", "le-premier", "le-dernier"),
    "un": ("autre",),
}
_WORN_BY: dict[str, Gender] = {"womenswear": "f", "menswear": "m"}
# Nobody shares these: no notre mari, leur femme.
_SHARED = frozenset(("notre", "leur", "votre"))
_SPOUSES = frozenset(("mari", "femme", "fiancé", "petit_ami", "petite_amie", "copain", "copine"))
_POLITE = {"tu": "vous", "ton": "votre"}
_FAMILIAR = {"vous": "tu", "votre": "ton"}
_FOLK_DETERMINERS = ("le", "le", "le", "le", "le", "le", "ce", "ce", "un")
# What takes no adjective beside it, and none before it.
_BARE = frozenset(("group", "language", "subject", "sport", "game", "hobby", "topic", "timeunit"))
_CLOSE = frozenset(("kin", "friend"))
# No some in English: to have courage.
_NEVER_SOME = frozenset(("quality", "feeling", "illness"))
_NO_ADJECTIVE = frozenset(("gen", "chaque"))


def _owns_clearly(owner: NounPhrase) -> bool:
    """Whether his, her or their is clear: not of a family, of everyone, of a made-up name."""
    made_up = owner.kind == "name" and not owner.words
    return not (made_up or owner.kind in ("everyone", "nobody", "pair") or "group" in owner.classes)


def address_of(text: str) -> bool | None:
    """Whether a French text addresses somebody by vous (True), tu (False) or not at all."""
    return True if _VOUS.search(text) else False if _TU.search(text) else None


def of(owner: NounPhrase) -> str:
    """`de °le voisin`, `d'Anne`."""
    return f"de {owner.fr}"


def genitive_of(owner: NounPhrase) -> str:
    """`Paul's`, `my parents'`."""
    return owner.en + ("'" if owner.plural and owner.en.endswith("s") else "'s")


def _pronoun_phrase(pronoun: Pronoun, gender: Gender, plural: bool) -> NounPhrase:
    return NounPhrase(
        pronoun.subject,
        pronoun.en_subject,
        gender,
        plural,
        pronoun.person,
        pronoun.en_person,
        pronoun,
        "pronoun",
        classes=_PERSON,
    )
