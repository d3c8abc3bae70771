"""Read the sentence patterns: slots, and pairs of French and English templates over them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from transformer.text.phrasebook import english, french
from transformer.text.phrasebook.directives import Context, EnglishCompiler, FrenchCompiler, Say
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.slots import Filling, Slot, SlotMaker
from transformer.text.phrasebook.tables import Place, read_lines

_DIRECTIVE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Derivation:
    """One sentence pair, the pattern that made it, and the content words in it."""

    source: str
    target: str
    pattern: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """One French and one English line over the slots that they use."""

    pattern: str
    name: str
    weight: float
    place: Place
    slots: tuple[Slot, ...]
    source: tuple[Say, ...]
    target: tuple[Say, ...]

    def fill(self, rng: Random, counts: dict[str, int]) -> Filling | None:
        """Draw what fills the slots; None when the words drawn do not go together.

        `counts` says how often each word was used before; rare words are preferred.
        """
        filling = Filling(counts)
        for slot in self.slots:
            value = slot.draw(rng, filling)
            if value is None:
                return None
            filling.values[slot.name] = value
        return filling

    def say(self, filling: Filling) -> Derivation:
        """The sentence pair that this filling makes."""
        return Derivation(
            french.finish("".join([say(filling) for say in self.source])),
            english.finish("".join([say(filling) for say in self.target])),
            self.pattern,
            tuple(filling.keys),
        )


@dataclass
class _Block:
    """The pattern that is being read."""

    name: str
    weight: float
    slots: dict[str, Slot]
    templates: int = 0


def load_patterns(folder: Path, lexicon: Lexicon) -> list[Template]:
    """Read `folder/patterns/*.txt` in the order of their names.

    Raises ValueError naming file and line, and what to do, for anything malformed.
    """
    maker = SlotMaker(lexicon, folder)
    compile_fr = FrenchCompiler(lexicon).compile
    compile_en = EnglishCompiler(lexicon).compile
    templates: list[Template] = []
    names: set[str] = set()
    paths = sorted((folder / "patterns").glob("*.txt"), key=lambda path: path.name)
    if not paths:
        raise ValueError(f"{folder / 'patterns'}: no pattern files; the phrasebook needs some")
    for path in paths:
        block: _Block | None = None
        pending: tuple[Place, str] | None = None
        for place, line in read_lines(path):
            keyword, _, rest = line.strip().partition(" ")
            rest = rest.strip()
            if pending is not None and keyword != "en":
                raise pending[0].error("this 'fr' line must be followed by its 'en' line")
            if keyword == "pattern":
                if not rest or rest in names:
                    raise place.error(f"pattern name '{rest}' is empty or taken; choose another")
                names.add(rest)
                block = _Block(rest, 1.0, {})
            elif block is None:
                raise place.error("write 'pattern NAME' before slots and templates")
            elif keyword == "weight":
                block.weight = _number(place, rest)
            elif keyword == "fr":
                pending = (place, rest)
            elif keyword == "en":
                if pending is None:
                    raise place.error("an 'en' line must follow an 'fr' line")
                block.templates += 1
                templates.append(
                    _template(block, lexicon, compile_fr, compile_en, pending, (place, rest))
                )
                pending = None
            elif rest.startswith("="):
                block.slots[keyword] = maker.make(place, keyword, rest[1:].split(), block.slots)
            else:
                raise place.error(
                    f"'{keyword}' begins no line; use pattern, weight, fr, en, or 'SLOT = KIND …'"
                )
        if pending is not None:
            raise pending[0].error("this 'fr' line must be followed by its 'en' line")
    return templates


Compile = Callable[[list[str], Context], Say]


def _template(
    block: _Block,
    lexicon: Lexicon,
    compile_fr: Compile,
    compile_en: Compile,
    source: tuple[Place, str],
    target: tuple[Place, str],
) -> Template:
    used: set[str] = set()
    compiled: list[tuple[Say, ...]] = []
    for (place, text), compiler in ((source, compile_fr), (target, compile_en)):
        context = Context(place, block.slots, lexicon)
        compiled.append(tuple(_pieces(text, compiler, context)))
        used |= context.used
    waiting = list(used)
    while waiting:
        needs = set(block.slots[waiting.pop()].needs) - used
        used |= needs
        waiting += needs
    slots = tuple(slot for name, slot in block.slots.items() if name in used)
    name = f"{block.name}/{block.templates}"
    return Template(block.name, name, block.weight, source[0], slots, compiled[0], compiled[1])


def _pieces(text: str, compiler: Compile, context: Context) -> list[Say]:
    pieces: list[Say] = []
    for index, part in enumerate(_DIRECTIVE.split(text)):
        if index % 2 == 0:
            if "{" in part or "}" in part:
                raise context.place.error(f"unbalanced braces in '{text}'")
            if part:
                pieces.append(_literal(part))
        elif not part.split():
            raise context.place.error("empty braces; name a slot, as in {s v pres}")
        else:
            pieces.append(compiler(part.split(), context))
    return pieces


def _literal(text: str) -> Say:
    return lambda filling: text


def _number(place: Place, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise place.error(
            f"weight '{text}' is not a number; write for example 'weight 2'"
        ) from None
