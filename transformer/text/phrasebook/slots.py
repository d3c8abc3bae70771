"""Fill the slots of a pattern: each kind of slot draws from the lexicon what fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeVar

from transformer.text.phrasebook.lexicon import Lexicon, check_known
from transformer.text.phrasebook.tables import Place, read_table
from transformer.text.phrasebook.words import (
    Adjective,
    Gender,
    Nominal,
    Noun,
    NounChoice,
    Phrase,
    Pronoun,
    Sense,
)

Filler = Nominal | Sense | Adjective | Phrase
_T = TypeVar("_T")
_Keyed = TypeVar("_Keyed", Noun, Sense, Adjective, Phrase)
_CANDIDATES = 3
KINDS = ("subject", "name", "pronoun", "noun", "object", "verb", "adj", "phrase")


@dataclass(slots=True)
class Filling:
    """The slots filled so far, and the keys of the content words that fill them."""

    counts: dict[str, int]  # how often each content word was used in sentences before
    values: dict[str, Filler] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)

    def rarest(self, rng: Random, items: Sequence[_Keyed]) -> _Keyed | None:
        """Of a few drawn at random, the one used least so far; None if it is in the sentence.

        Words of small classes, which stand in many patterns, so leave room for the others.
        """
        counts = self.counts
        best = items[int(rng.random() * len(items))]
        for _ in range(_CANDIDATES - 1):
            other = items[int(rng.random() * len(items))]
            if counts.get(other.key, 0) < counts.get(best.key, 0):
                best = other
        if best.key in self.keys:
            return None
        self.keys.append(best.key)
        return best

    def nominal(self, name: str) -> Nominal:
        """The nominal in slot `name`."""
        value = self.values[name]
        assert isinstance(value, Nominal)
        return value

    def sense(self, name: str) -> Sense:
        """The verb in slot `name`."""
        value = self.values[name]
        assert isinstance(value, Sense)
        return value


Draw = Callable[[Random, Filling], Filler | None]  # None: nothing fits, draw all again


@dataclass(frozen=True, slots=True)
class Slot:
    """A named slot: its kind, the slots that it looks at, and how to fill it."""

    name: str
    kind: str
    needs: tuple[str, ...]
    draw: Draw


@dataclass(frozen=True, slots=True)
class _SubjectKind:
    kind: str  # pron, name or noun
    weight: int
    choice: NounChoice | None


def _pick(rng: Random, items: Sequence[_T]) -> _T:
    return items[int(rng.random() * len(items))]


def nominal_from_pronoun(rng: Random | None, pronoun: Pronoun) -> Nominal:
    """A pronoun as a nominal; gender and number that it leaves open are drawn."""
    gender: Gender = pronoun.gender or ("m" if rng is None or rng.random() < 0.5 else "f")
    plural = pronoun.plural
    if plural is None:
        plural = rng is not None and rng.random() < 0.3
    return Nominal(
        fr=pronoun.subject,
        en=pronoun.en_subject,
        gender=gender,
        plural=plural,
        person=pronoun.person,
        en_person=pronoun.en_person,
        pronoun=pronoun,
    )


class SlotMaker:
    """Turns the words after `=` of a slot line into a Slot, over one lexicon."""

    def __init__(self, lexicon: Lexicon, folder: Path) -> None:
        self._lexicon = lexicon
        self._adjectives: dict[tuple[frozenset[str], str], tuple[Adjective, ...]] = {}
        self._kinds: list[_SubjectKind] = []
        for row in read_table(folder / "subjects.txt", ("kind", "weight", "choice?")):
            check_known(row.place, "kind of subject", row["kind"], ("pron", "name", "noun"))
            cell = row["choice"].split()
            choice = lexicon.noun_choice(row.place, cell) if cell else None
            self._kinds.append(_SubjectKind(row["kind"], int(row["weight"]), choice))

    def make(self, place: Place, name: str, words: list[str], earlier: dict[str, Slot]) -> Slot:
        """Build the slot; raises ValueError at `place` when `words` cannot be understood."""
        kind, arguments = (words[0], words[1:]) if words else ("", [])
        check_known(place, "kind of slot", kind, KINDS)
        if kind == "subject":
            return Slot(name, "nominal", (), self._subject(place, arguments))
        if kind == "name":
            return self._name_like(place, name, arguments, earlier)
        if kind == "pronoun":
            return self._pronoun(place, name, arguments, earlier)
        if kind == "noun":
            choice = self._lexicon.noun_choice(place, arguments[:3])
            owner = arguments[3] if len(arguments) > 3 else ""
            if "poss" in choice.determiners or choice.number == "agree":
                check_known(place, "slot as owner (fourth word)", owner, earlier)
            needs = (owner,) if owner else ()
            return Slot(name, "nominal", needs, self._noun(choice, owner))
        if kind == "object":
            return self._object(place, name, arguments, earlier)
        if kind == "verb":
            group = " ".join(arguments)
            check_known(place, "group of verbs", group, self._lexicon.senses)
            senses = _by_size(self._lexicon.senses[group])
            return Slot(name, "verb", (), lambda rng, filling: filling.rarest(rng, senses))
        if kind == "adj":
            return self._adjective(place, name, arguments, earlier)
        group = " ".join(arguments)
        check_known(place, "class of phrases", group, self._lexicon.phrases)
        phrases = self._lexicon.phrases[group]
        return Slot(name, "phrase", (), lambda rng, filling: filling.rarest(rng, phrases))

    def _subject(self, place: Place, words: list[str]) -> Draw:
        pronouns = self._lexicon.pronouns
        allowed = {"pron", "name", "noun", "third", "other", "sg", "pl", *pronouns}
        for word in words:
            check_known(place, "kind of subject", word, allowed)
        keys = [word for word in words if word in pronouns]
        kinds = [word for word in words if word in ("pron", "name", "noun")]
        if not kinds:
            kinds = ["pron"] if keys else ["pron", "name", "noun"]
        number = "sg" if "sg" in words else "pl" if "pl" in words else ""
        candidates = [
            pronoun
            for pronoun in pronouns.values()
            if (pronoun.key in keys if keys else pronoun.weight > 0)
            and not ("other" in words and pronoun.en_person in (0, 3))
            and not ("third" in words and (pronoun.person not in (2, 5) or pronoun.key == "on"))
            and not (number and pronoun.plural is not (number == "pl"))
        ]
        drawn = tuple(pronoun for pronoun in candidates for _ in range(max(pronoun.weight, 1)))
        options = tuple(
            kind
            for kind in self._kinds
            if kind.kind in kinds and not (kind.kind == "name" and number == "pl")
            for _ in range(kind.weight)
        )

        def draw(rng: Random, filling: Filling) -> Filler | None:
            option = _pick(rng, options)
            if option.kind == "pron":
                return nominal_from_pronoun(rng, _pick(rng, drawn))
            if option.kind == "name":
                return self._name(rng, filling)
            assert option.choice is not None
            return self._draw_noun(rng, filling, option.choice, None, number)

        return draw

    def _name_like(
        self, place: Place, name: str, words: list[str], earlier: dict[str, Slot]
    ) -> Slot:
        """`name SLOT`: a first name of the gender of what is in SLOT."""
        if len(words) != 1 or words[0] not in earlier:
            raise place.error("write 'name SLOT' with a slot declared above")
        other = words[0]

        def draw(rng: Random, filling: Filling) -> Filler | None:
            return self._name(rng, filling, filling.nominal(other).gender)

        return Slot(name, "nominal", (other,), draw)

    def _name(self, rng: Random, filling: Filling, like: Gender | None = None) -> Nominal | None:
        name, gender = _pick(rng, self._lexicon.names)
        if name in filling.keys or gender != (like or gender):
            return None
        filling.keys.append(name)
        pronoun = self._lexicon.pronouns["il" if gender == "m" else "elle"]
        person = frozenset(("person",))
        return Nominal(name, name, gender, False, 2, 2, pronoun, classes=person)

    def _pronoun(self, place: Place, name: str, words: list[str], earlier: dict[str, Slot]) -> Slot:
        """`pronoun SLOT [keys]`: one that may not mean the same person as SLOT."""
        pronouns = self._lexicon.pronouns
        if not words or words[0] not in earlier:
            raise place.error("write 'pronoun SLOT [keys]' with a slot declared above")
        other = words[0]
        for word in words[1:]:
            check_known(place, "pronoun", word, pronouns)
        keys = words[1:] or [key for key, pronoun in pronouns.items() if pronoun.weight > 0]
        candidates = tuple(pronouns[key] for key in keys)

        def draw(rng: Random, filling: Filling) -> Filler | None:
            drawn = nominal_from_pronoun(rng, _pick(rng, candidates))
            subject = filling.nominal(other)
            clash = drawn.en_person % 3 == subject.en_person % 3
            if clash and (subject.en_person % 3 != 2 or subject.fr == drawn.fr):
                return None
            return drawn

        return Slot(name, "nominal", (other,), draw)

    def _noun(self, choice: NounChoice, owner: str) -> Draw:
        def draw(rng: Random, filling: Filling) -> Filler | None:
            possessor = filling.nominal(owner) if owner else None
            return self._draw_noun(rng, filling, choice, possessor, "")

        return draw

    def _object(self, place: Place, name: str, words: list[str], earlier: dict[str, Slot]) -> Slot:
        """`object VERB [owner]`: what the drawn verb takes."""
        if not words or words[0] not in earlier or earlier[words[0]].kind != "verb":
            raise place.error("write 'object VERB [OWNER]' with a verb slot declared above")
        verb, owner = words[0], words[1] if len(words) > 1 else ""
        if owner:
            check_known(place, "slot as owner", owner, earlier)

        def draw(rng: Random, filling: Filling) -> Filler | None:
            sense = filling.sense(verb)
            assert sense.objects is not None, f"{sense.key} takes no object"
            possessor = filling.nominal(owner) if owner else None
            drawn = self._draw_noun(rng, filling, sense.objects, possessor, "")
            if drawn is not None:
                drawn.preposition = sense.preposition
            return drawn

        return Slot(name, "nominal", (verb, owner) if owner else (verb,), draw)

    def _draw_noun(
        self,
        rng: Random,
        filling: Filling,
        choice: NounChoice,
        owner: Nominal | None,
        number: str,
    ) -> Nominal | None:
        noun = filling.rarest(rng, choice.nouns)
        if noun is None:
            return None
        gender = _pick(rng, tuple(noun.forms))
        wanted = number or choice.number
        if wanted == "agree":
            assert owner is not None
            gender = owner.gender
            if gender not in noun.forms:
                return None
            wanted = "pl" if owner.plural else "sg"
        singular, plural = noun.forms[gender]
        use_plural = wanted == "pl" or not singular
        if wanted == "any" and singular and plural:
            use_plural = rng.random() < 0.3
        form = plural if use_plural else singular
        if not form:
            return None
        code = _pick(rng, choice.determiners)
        if code == "poss":
            if owner is None:
                return None
            code = owner.pronoun.possessive
        pronouns = self._lexicon.pronouns
        key = ("ils" if gender == "m" else "elles") if use_plural else None
        key = key or ("il" if gender == "m" else "elle")
        if "person" not in noun.classes:
            key += "-it"
        en_plural = not noun.en_mass and (use_plural or noun.en_pair)
        return Nominal(
            fr=form,
            en=noun.en_plural if en_plural else noun.en_singular,
            gender=gender,
            plural=use_plural,
            person=5 if use_plural else 2,
            en_person=5 if en_plural else 2,
            pronoun=pronouns[key],
            determiner=self._lexicon.determiners[code],
            noun=noun,
            classes=noun.classes,
        )

    def _adjective(
        self, place: Place, name: str, words: list[str], earlier: dict[str, Slot]
    ) -> Slot:
        """`adj SLOT [CLASS]` suits what is in the slot; `adj class CLASS` is of a class.

        With `-CLASS`, it is not of that class.
        """
        classes = self._lexicon.classes
        if len(words) == 2 and words[0] == "class":
            check_known(place, "class", words[1], classes)
            wanted = frozenset((words[1],))
            return Slot(name, "adj", (), lambda rng, filling: self._fitting(rng, filling, wanted))
        if len(words) not in (1, 2) or words[0] not in earlier:
            raise place.error(
                "write 'adj SLOT [CLASS]' with a slot declared above, or 'adj class CLASS'"
            )
        target, also = words[0], words[1] if len(words) == 2 else ""
        if also:
            check_known(place, "class", also.removeprefix("-"), classes)

        def draw(rng: Random, filling: Filling) -> Filler | None:
            nominal = filling.nominal(target)
            return self._fitting(rng, filling, nominal.classes or frozenset(("person",)), also)

        return Slot(name, "adj", (target,), draw)

    def _fitting(
        self, rng: Random, filling: Filling, classes: frozenset[str], also: str = ""
    ) -> Adjective | None:
        fitting = self._adjectives.get((classes, also))
        if fitting is None:
            fitting = tuple(
                adjective
                for adjective in self._lexicon.adjectives
                if not adjective.classes.isdisjoint(classes)
                and (not also or (also.removeprefix("-") in adjective.classes) != (also[0] == "-"))
            )
            self._adjectives[classes, also] = fitting
        return filling.rarest(rng, fitting) if fitting else None


def _by_size(senses: tuple[Sense, ...]) -> tuple[Sense, ...]:
    """The senses, repeated the more, the more nouns they take, so that all nouns are drawn."""
    return tuple(
        sense
        for sense in senses
        for _ in range(max(1, round(len(sense.objects.nouns) ** 0.5)) if sense.objects else 1)
    )
