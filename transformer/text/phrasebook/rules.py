"""Read and apply the rules of data/phrasebook/rules.txt: pairs of lines with slots in them.

`{label:kind words}` declares a slot, `{label}` says it again, on either side; `{kind}` does both.
`.view` at the end says it in another way: `{c:city.from}`, `{p.genitive}`, `{v.gerund}`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.chance import Weighted, draw_clock, made_up_city, pick
from transformer.text.phrasebook.lexicon import Lexicon, check_known
from transformer.text.phrasebook.noun_phrases import address_of, genitive_of
from transformer.text.phrasebook.speaker import Said, Speaker
from transformer.text.phrasebook.tables import Place, Row, read_table
from transformer.text.phrasebook.words import NounPhrase

_SLOT = re.compile(r"\{([^{}]*)\}")
# The ways in which a slot is said, where it has them; else it is said plainly.
_VIEWS = (
    "",
    "to",
    "from",
    "name",
    "genitive",
    "bare",
    "asked",
    "negated",
    "quel",
    "gerund",
    "mine",
)
_MARK = re.compile(r" ?([.?!])$")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What fills a slot: by view, "" being the plain one."""

    fr: dict[str, str]
    en: dict[str, str]
    words: tuple[str, ...] = ()


Draw = Callable[[Random], Drawn | None]
Side = tuple[str | tuple[str, str], ...]  # text, and (slot, view) between texts


@dataclass(frozen=True, slots=True)
class Rule:
    """A pair of lines over the same slots."""

    name: str
    source: Side
    target: Side
    slots: dict[str, Draw] = field(hash=False)
    mark: str
    flags: tuple[str, ...]
    speaker: Speaker = field(hash=False)
    polite: bool | None  # how it addresses somebody: by vous, by tu, or not

    def apply(self, rng: Random) -> Said | None:
        """Draw what fills the slots; None where something does not go together."""
        if self.polite is not None:
            self.speaker.phrases.begin_sentence(self.polite)
        filled: dict[str, Drawn] = {}
        words: list[str] = []
        for name, draw in self.slots.items():
            drawn = draw(rng)
            if drawn is None or (drawn.words and set(drawn.words) <= set(words)):
                return None
            filled[name] = drawn
            words += drawn.words
        fr = [_view(filled[part[0]].fr, part[1]) if isinstance(part, tuple) else part
              for part in self.source]  # fmt: skip
        en = [_view(filled[part[0]].en, part[1]) if isinstance(part, tuple) else part
              for part in self.target]  # fmt: skip
        structure = (f"rule {self.name}", *self.flags)
        return Said("".join(fr), "".join(en), self.mark, tuple(words), structure)


def _view(views: dict[str, str], name: str) -> str:
    return views.get(name) or views[""]


def load_rules(folder: Path, lexicon: Lexicon, speaker: Speaker) -> Weighted[Rule]:
    """Read `rules.txt`; raises ValueError naming file and line, and what to do."""
    slots = _Slots(lexicon, speaker)
    columns = ("weight", "fr", "en", "flags?")
    return Weighted(
        [
            (_rule(row, slots), row.number("weight"))
            for row in read_table(folder / "rules.txt", columns)
        ]
    )


def _rule(row: Row, slots: "_Slots") -> Rule:
    marks = [match[1] if (match := _MARK.search(row[side])) else "" for side in ("fr", "en")]
    if marks[0] != marks[1]:
        raise row.place.error(f"both sides must end with the same mark, not {marks}")
    for flag in row.words("flags"):
        check_known(row.place, "flag", flag, ("request",))
    draws: dict[str, Draw] = {}
    specs: dict[str, str] = {}
    sides = [
        _side(row.place, _MARK.sub("", row[side]), specs, draws, slots) for side in ("fr", "en")
    ]
    used = [{part[0] for part in side if isinstance(part, tuple)} for side in sides]
    if used[0] != used[1]:
        raise row.place.error(f"slot {sorted(used[0] ^ used[1])} stands on one side alone")
    name = _SLOT.sub("_", row["fr"])
    keys = " ".join(spec.split()[1] for spec in specs.values() if spec.startswith("infinitive "))
    polite = address_of(f"{name} {keys}")
    source, target = sides
    flags = row.words("flags")
    return Rule(name, source, target, draws, marks[0], flags, slots.speaker, polite)


def _side(
    place: Place, text: str, specs: dict[str, str], draws: dict[str, Draw], slots: "_Slots"
) -> Side:
    """The pieces of one line; declares the slots that it is the first to name."""
    pieces: list[str | tuple[str, str]] = []
    for at, piece in enumerate(_SLOT.split(text)):
        if at % 2 == 0:
            if "{" in piece or "}" in piece:
                raise place.error(f"unbalanced braces in '{text}'")
            pieces.append(piece)
            continue
        label, colon, spec = piece.partition(":")
        spec, _, view = (spec if colon else label).partition(".")
        label = label if colon else spec
        check_known(place, "view", view, _VIEWS)
        if label not in draws:
            draws[label], specs[label] = slots.make(place, spec), spec
        elif colon and specs[label] != spec:
            raise place.error(f"'{label}' is both '{specs[label]}' and '{spec}'; choose two labels")
        pieces.append((label, view))
    return tuple(pieces)


class _Slots:
    """Makes the functions that fill slots."""

    def __init__(self, lexicon: Lexicon, speaker: Speaker) -> None:
        self._lexicon = lexicon
        self.speaker = self._speaker = speaker
        self._phrases = speaker.phrases

    def make(self, place: Place, spec: str) -> Draw:
        """What fills a slot of this kind; raises ValueError at `place`."""
        if not spec.strip():
            raise place.error("empty braces; name a kind of slot, as in {name}")
        kind, *words = spec.split()
        if kind == "noun":
            choice = self._lexicon.noun_choice(place, words)
            return lambda rng: _counted(self._phrases.chosen(rng, choice), choice.number)
        if kind == "adjective":
            classes = frozenset(words)
            fitting = [
                one for one in self._lexicon.adjectives if not one.classes.isdisjoint(classes)
            ]
            if not fitting:
                raise place.error(f"no adjective is of class {' '.join(words)}; add one")

            def adjective(rng: Random) -> Drawn:
                one = self._phrases.balance.pick(rng, fitting, 4)
                return Drawn({"": one.masculine}, {"": one.en}, (one.key,))

            return adjective
        if kind == "infinitive":
            key = words[0] if words else "je"
            check_known(place, "pronoun", key, self._phrases.pronouns)
            return lambda rng: self._infinitive(rng, key)
        if kind == "name":
            gender = words[0] if words else ""
            check_known(place, "gender", gender, ("", "m", "f"))
            return lambda rng: _drawn(self._phrases.name(rng, gender or pick(rng, "mf")))  # type: ignore
        made = getattr(self, f"_{kind}", None)
        if callable(made):
            return lambda rng: made(rng)
        check_known(place, "kind of slot or class of phrases", kind, self._lexicon.phrases)
        phrases = self._lexicon.phrases[kind]

        def phrase(rng: Random) -> Drawn:
            if kind == "city" and rng.random() < 0.3:
                drawn = made_up_city(rng, self._lexicon.french_words)
            else:
                drawn = pick(rng, phrases)
            return Drawn(drawn.fr, drawn.en, (drawn.key,))

        return phrase

    def _infinitive(self, rng: Random, key: str) -> Drawn | None:
        clause = self._speaker.clauses.willed(rng, self._phrases.pronoun(rng, key))
        if clause is None:
            return None
        base, gerund = self._speaker.base(clause), self._speaker.gerund(clause)
        fr = self._speaker.infinitive(clause)
        # Whose infinitive it is a reflexive alone tells: de me calmer, for me to calm down.
        to = f"for {clause.subject.pronoun.en_object} to" if clause.use.reflexive else "to"
        en = {"": base, "gerund": gerund, "to": f"{to} {base}"}
        return Drawn({"": fr}, en, clause.words())

    def _person(self, rng: Random) -> Drawn | None:
        return _drawn(self._phrases.person(rng))

    def _person1(self, rng: Random) -> Drawn | None:
        phrase = self._phrases.person(rng)
        return None if phrase.plural else _drawn(phrase)

    def _kin(self, rng: Random) -> Drawn | None:
        return _drawn(self._phrases.person(rng, "kin"))

    def _kin1(self, rng: Random) -> Drawn | None:
        phrase = self._phrases.person(rng, "kin")
        return None if phrase.plural else _drawn(phrase)

    def _theirkin(self, rng: Random) -> Drawn | None:
        """Somebody else's relative: one doesn't ask others about one's own."""
        phrase = self._phrases.person(rng, "kin")
        mine = phrase.fr.startswith(("mon ", "ma ", "notre "))
        return None if phrase.plural or mine else _drawn(phrase)

    def _kins(self, rng: Random) -> Drawn | None:
        phrase = self._phrases.person(rng, "kin")
        return _drawn(phrase) if phrase.plural else None

    def _stressed(self, rng: Random) -> Drawn:
        key = self._phrases.addressed(pick(rng, ("je", "tu", "il", "elle", "nous", "ils")))
        pronoun = self._phrases.pronouns[key]
        en = {"": pronoun.en_object, "mine": _MINE[key]}
        return Drawn({"": pronoun.stressed}, en)

    def _someone(self, rng: Random) -> Drawn:
        """With whom one who is spoken to does something: moi, eux."""
        key = pick(rng, ("je", "il", "elle", "nous", "ils"))
        pronoun = self._phrases.pronouns[key]
        return Drawn({"": pronoun.stressed}, {"": pronoun.en_object})

    def _clock(self, rng: Random) -> Drawn:
        fr, en = draw_clock(rng)
        return Drawn({"": fr}, {"": en})

    def _number(self, rng: Random) -> Drawn:
        number = 2 + int(rng.random() ** 2 * 99)
        return Drawn({"": numbers.french_number(number)}, {"": numbers.english_number(number)})

    def _small(self, rng: Random) -> Drawn:
        number = 2 + int(rng.random() ** 2 * 8)
        if rng.random() < 0.3:
            return _same(str(number))
        return Drawn({"": numbers.french_number(number)}, {"": numbers.english_number(number)})

    def _weight(self, rng: Random) -> Drawn:
        number = 40 + int(rng.random() * 70)
        if rng.random() < 0.5:
            return _same(str(number))
        return Drawn({"": numbers.french_number(number)}, {"": numbers.english_number(number)})

    def _digits(self, rng: Random) -> Drawn:
        return _same(str(2 + int(rng.random() ** 2 * 998)))

    def _phone(self, rng: Random) -> Drawn:
        return _same(" ".join(f"{int(rng.random() * 100):02}" for _ in range(5)))

    def _year(self, rng: Random) -> Drawn:
        return _same(str(1930 + int(rng.random() * 100)))

    def _date(self, rng: Random) -> Drawn:
        month = pick(rng, self._lexicon.phrases["month"])
        day, digits = 1 + int(rng.random() * 30), rng.random() < 0.5
        fr, en = numbers.date(day, (month.fr[""], month.en[""]), digits=digits)
        return Drawn({"": fr}, {"": en}, (month.key,))

    def _price(self, rng: Random) -> Drawn:
        price = 2 + int(rng.random() ** 2 * 150)
        if rng.random() < 0.5:
            return _same(f"{price} euros")
        fr, en = numbers.french_number(price), numbers.english_number(price)
        cents = pick(rng, _CENTS) if price < 50 and rng.random() < 0.3 else 0
        after = numbers.french_number(cents) if cents else "", str(numbers.english_number(cents))
        return Drawn(
            {"": f"{fr} euros {after[0]}"}, {"": f"{en} euros {after[1] if cents else ''}"}
        )

    def _clause(self, rng: Random) -> Drawn | None:
        clause = self._speaker.clauses.draw(rng)
        if clause is None:
            return None
        fr, en = self._speaker.french(clause), self._speaker.english(clause)
        return Drawn({"": fr}, {"": en}, clause.words())


_CENTS = (10, 20, 25, 30, 40, 50, 50, 60, 75, 80, 90, 95)
_MINE = {"je": "mine", "tu": "yours", "il": "his", "elle": "hers", "nous": "ours"}
_MINE |= {"vous": "yours", "ils": "theirs"}


def _same(text: str) -> Drawn:
    return Drawn({"": text}, {"": text})


def _counted(phrase: NounPhrase | None, number: str) -> Drawn | None:
    """A noun in the number that the rule's verbs have; trousers are no singular in English."""
    wanted = {"sg": 2, "pl": 5}.get(number)
    if phrase is not None and wanted not in (None, phrase.en_person):
        return None
    return _drawn(phrase)


def _drawn(phrase: NounPhrase | None) -> Drawn | None:
    if phrase is None:
        return None
    en = {
        "": phrase.en,
        "genitive": genitive_of(phrase),
        "bare": phrase.en_bare or phrase.en,
        "asked": phrase.english("asked"),
        "negated": phrase.english("negated"),
    }
    quel = "quel" + "le" * (phrase.gender == "f") + "s" * phrase.plural
    return Drawn({"": phrase.fr, "bare": phrase.fr_bare, "quel": quel}, en, phrase.words)
