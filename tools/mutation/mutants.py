"""What is changed: places in the code, drawn at random by a seed, and a change at each."""

import ast
import difflib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

# Arguments by which right code does the same whatever they are.
CHECKS = {("zip", "strict"), ("dataclass", "slots")}


class Mutant(NamedTuple):
    """One change, and which lines the statement has that it is in."""

    module: str
    line: int
    operator: str
    occurrence: int
    first_line: int
    last_line: int
    is_in_function: bool
    source: str
    change: list[str]

    @property
    def name(self) -> str:
        """What tells it from all others."""
        return f"{self.module}:{self.line} {self.operator.removeprefix('core/')} {self.occurrence}"


def list_places(module: str, source: str) -> list[list[tuple[int, str, int]]]:
    """The (line, operator, occurrence) of the changes that are possible, by place."""
    places = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        operator = get_operator(name)
        if operator.arguments():
            continue
        positions = [place for node in nodes for place in operator().mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            places[start, end].append((start[0], name, occurrence))
    return [places[place] for place in sorted(places)]


def draw_mutants(folder: Path, subjects: Sequence[str], seed: int) -> Iterator[Mutant]:
    """All mutants of the modules in `subjects`, at most one for each place, in random order."""
    sources = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for subject in subjects
        for file in sorted((folder / subject).rglob("*.py"))
    }
    places = [(name, place) for name in sources for place in list_places(name, sources[name])]
    chance = random.Random(seed)
    chance.shuffle(places)
    for module, changes in places:
        chance.shuffle(changes)
        for line, operator, occurrence in changes:
            source = sources[module]
            mutated = mutate_code(source, get_operator(operator)(), occurrence)
            if not is_change(source, mutated):
                continue
            lines, is_in_function = statement_around(ast.parse(source), line)
            compared = difflib.unified_diff(source.splitlines(), mutated.splitlines(), n=0)
            change = [text.rstrip() for text in compared][3:]
            place = module, line, operator, occurrence, lines[0], lines[-1]
            yield Mutant(*place, is_in_function, mutated, change)
            break


def is_change(source: str, mutated: str) -> bool:
    """Whether what is run differs: no Python at all doesn't, nor does what only checks."""
    try:
        return _dump_what_acts(source) != _dump_what_acts(mutated)
    except SyntaxError:
        return False


@lru_cache(maxsize=64)
def _dump_what_acts(source: str) -> str:
    """The syntax tree, each `X | Y` of a type hint as X, without `CHECKS`."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            node.keywords = [one for one in node.keywords if (name, one.arg) not in CHECKS]
        for field in ("annotation", "returns"):
            hint = getattr(node, field, None)
            while isinstance(hint, ast.BinOp):
                hint = hint.left
            if hint is not None:
                setattr(node, field, hint)
    return ast.dump(tree)


def statement_around(tree: ast.Module, line: int) -> tuple[range, bool]:
    """The lines of the innermost statement at a line, without its body; if a function has it."""
    found, is_in_function = range(line, line + 1), False
    for node in ast.walk(tree):  # from the outside in
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        body = getattr(node, "body", None)
        if not body:
            found = range(node.lineno, (node.end_lineno or 0) + 1)
        elif line < body[0].lineno:
            found = range(node.lineno, body[0].lineno)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_in_function = True
    return found, is_in_function
