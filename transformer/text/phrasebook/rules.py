"""Read and apply the rules of data/phrasebook/rules.txt: pairs of lines with slots in them.

A slot is drawn once and said on both sides. `{noun CLASSES NUMBER DETERMINERS}`, `{kin}`,
`{person}`, `{name}`, `{clock}`, `{number}`, `{digits}`, `{date}`, `{price}`, `{infinitive PRONOUN}`
(what somebody does), `{clause}`, or a class of phrases.txt, places.txt, geography.txt. A label tells
two of the same kind apart: `{a:name} ... {b:name}`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.clauses import draw_clock, made_up_city
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import Weighted, genitive_of, pick
from transformer.text.phrasebook.sentences import Said, Sentences
from transformer.text.phrasebook.tables import Place, read_table

_SLOT = re.compile(r"\{([^{}]*)\}")
_MARK = re.compile(r" ?([.?!])$")
Drawn = tuple[str, str, tuple[str, ...]]
Draw = Callable[[Random], Drawn | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pair of lines over the same slots."""

    name: str
    source: tuple[str, ...]  # text and slot names, in turns
    target: tuple[str, ...]
    slots: dict[str, Draw]
    mark: str

    def apply(self, rng: Random) -> Said | None:
        """Draw what fills the slots; None where something does not go together."""
        fr, en, words = {}, {}, []
        for name, draw in self.slots.items():
            drawn = draw(rng)
            if drawn is None:
                return None
            fr[name], en[name], more = drawn
            words += more
        source = "".join(fr[part] if at % 2 else part for at, part in enumerate(self.source))
        target = "".join(en[part] if at % 2 else part for at, part in enumerate(self.target))
        return Said(source, target, self.mark, tuple(words), (f"rule {self.name}",))


def load_rules(folder: Path, lexicon: Lexicon, sentences: Sentences) -> Weighted[Rule]:
    """Read `rules.txt`; raises ValueError naming file and line, and what to do."""
    rules: list[tuple[Rule, float]] = []
    slots = _Slots(lexicon, sentences)
    for row in read_table(folder / "rules.txt", ("weight", "fr", "en")):
        fr, en = row["fr"], row["en"]
        marks = [_MARK.search(text) for text in (fr, en)]
        mark = marks[1][1] if marks[1] else ""
        if (marks[0][1] if marks[0] else "") != mark:
            raise row.place.error("both sides must end with the same mark")
        fr, en = _MARK.sub("", fr), _MARK.sub("", en)
        sides = []
        draws: dict[str, Draw] = {}
        for text in (fr, en):
            pieces = _SLOT.split(text)
            if any("{" in piece or "}" in piece for piece in pieces[::2]):
                raise row.place.error(f"unbalanced braces in '{text}'")
            for spec in pieces[1::2]:
                if spec not in draws:
                    draws[spec] = slots.make(row.place, spec)
            sides.append(tuple(pieces))
        used = [set(side[1::2]) for side in sides]
        if used[0] != used[1]:
            raise row.place.error(f"slot {sorted(used[0] ^ used[1])} stands on one side alone")
        name = re.sub(r"\{[^{}]*\}", "_", fr)
        rules.append((Rule(name, sides[0], sides[1], draws, mark), row.number("weight")))
    return Weighted(rules)


class _Slots:
    """Makes the functions that fill slots."""

    def __init__(self, lexicon: Lexicon, sentences: Sentences) -> None:
        self._lexicon = lexicon
        self._sentences = sentences
        self._phrases = sentences.phrases

    def make(self, place: Place, spec: str) -> Draw:
        """What fills `{spec}`; raises ValueError at `place`."""
        kind, *words = spec.split(":", 1)[-1].split()
        if kind == "noun":
            choice = self._lexicon.noun_choice(place, words)

            def noun(rng: Random) -> Drawn | None:
                phrase = self._phrases.chosen(rng, choice)
                return phrase and (phrase.fr, phrase.en, phrase.words)

            return noun
        if kind == "infinitive":
            key = words[0] if words else "je"

            def infinitive(rng: Random) -> Drawn | None:
                subject = self._phrases.pronoun(rng, key)
                return self._sentences.infinitive(rng, subject)

            return infinitive
        if kind == "name" and words:

            def name(rng: Random) -> Drawn:
                phrase = self._phrases.name(rng, "f" if words[0] == "f" else "m")
                return phrase.fr, phrase.en, phrase.words

            return name
        made = getattr(self, f"_{kind}", None)
        if made is not None:
            return lambda rng: made(rng)
        if kind not in self._lexicon.phrases:
            known = sorted(self._lexicon.phrases)
            raise place.error(f"unknown slot '{spec}'; use a kind of slot or one of: {known}")
        form = words[0] if words else ""

        def phrase(rng: Random) -> Drawn:
            if kind == "city" and rng.random() < 0.2:
                drawn = made_up_city(rng)
            else:
                drawn = pick(rng, self._lexicon.phrases[kind])
            fr = drawn.fr.get(form, drawn.fr[""])
            return fr, drawn.en.get(form, drawn.en[""]), (drawn.key,)

        return phrase

    def _name(self, rng: Random) -> Drawn:
        phrase = self._phrases.name(rng)
        return phrase.fr, phrase.en, phrase.words

    def _person(self, rng: Random) -> Drawn:
        phrase = self._phrases.person(rng)
        return phrase.fr, phrase.en, phrase.words

    def _kin(self, rng: Random) -> Drawn:
        phrase = self._phrases.person(rng, "kin")
        return phrase.fr, phrase.en, phrase.words

    def _kinname(self, rng: Random) -> Drawn | None:
        """A relative in the singular, whose English is a genitive: my brother's."""
        phrase = self._phrases.person(rng, "kin")
        return None if phrase.plural else (phrase.fr, genitive_of(phrase), phrase.words)

    def _clock(self, rng: Random) -> Drawn:
        return (*draw_clock(rng), ())

    def _number(self, rng: Random) -> Drawn:
        number = 2 + int(rng.random() ** 2 * 99)
        return numbers.french_number(number), numbers.english_number(number), ()

    def _digits(self, rng: Random) -> Drawn:
        number = str(2 + int(rng.random() ** 2 * 998))
        return number, number, ()

    def _phone(self, rng: Random) -> Drawn:
        number = " ".join(f"{int(rng.random() * 100):02}" for _ in range(5))
        return number, number, ()

    def _date(self, rng: Random) -> Drawn:
        month = pick(rng, self._lexicon.phrases["month"])
        fr, en = numbers.date(
            1 + int(rng.random() * 30), (month.fr[""], month.en[""]), digits=rng.random() < 0.5
        )
        return fr, en, (month.key,)

    def _year(self, rng: Random) -> Drawn:
        year = str(1930 + int(rng.random() * 100))
        return year, year, ()

    def _price(self, rng: Random) -> Drawn:
        price = 2 + int(rng.random() ** 2 * 150)
        if rng.random() < 0.5:
            return f"{price} euros", f"{price} euros", ()
        return f"{numbers.french_number(price)} euros", f"{numbers.english_number(price)} euros", ()

    def _clause(self, rng: Random) -> Drawn | None:
        clause = self._sentences.clauses.draw(rng)
        if clause is None:
            return None
        return self._sentences.french(clause), self._sentences.english(clause), clause.words()
