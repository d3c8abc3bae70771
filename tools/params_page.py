"""Writes docs/params.md, a reference of every param, from the code: `python -m tools.params_page`.

What a param holds is its type in the section's config; what it is, the comment above it there.
"""

import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pipeline.schema import SECTIONS

PAGE = Path(__file__).parents[1] / "docs/params.md"
_INTRODUCTION = """# Every param

Written by `python -m tools.params_page` from the code that reads `params.yaml`. A recipe writes \
the whole file (`python -m pipeline recipe NAME`), with comments of its own; nothing has a default \
in code, and `python -m pipeline check` tells every problem at once.
"""
_BOUNDS = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}
_TYPES = {int: "integer", float: "number", str: "text", bool: "`true`, `false`", Path: "path"}


def write_page() -> str:
    """The page: a table for each section, each kind of one, and each section within it."""
    paths: dict[type[BaseModel], list[str]] = {}
    for name, section in SECTIONS.items():
        for path, one in _walk(name, section):
            paths.setdefault(one, []).append(path)
    order = list(SECTIONS)
    for found in paths.values():
        found.sort(key=len)
    # Where one section has another's type, as `pretrain.train`, it is told with that.
    told = sorted(paths, key=lambda one: order.index(re.split(r"\W", paths[one][0])[0]))
    parts = [_INTRODUCTION]
    for one in told:
        path, *others = paths[one]
        parts.append(f"## {path}\n\n{' '.join(inspect.cleandoc(one.__doc__ or '').split())}\n")
        if others:
            parts.append(f"The same: {', '.join(f'`{other}`' for other in others)}.\n")
        parts.append(f"{_table(one)}\n")
    return "\n".join(parts)


def _walk(path: str, kind: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    # A section and those within it; what has kinds is told kind by kind.
    for one in _sections(kind):
        field = one.model_fields.get("kind")
        here = f"{path} ({', '.join(get_args(field.annotation))})" if field else path
        yield here, one
        for name, inner in one.model_fields.items():
            yield from _walk(f"{here}.{name}", inner)


def _sections(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, FieldInfo):
        kind = kind.annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _sections(inner)


def _table(section: type[BaseModel]) -> str:
    rows = ["| param | holds | |", "|---|---|---|"]
    comments = _comments(section)
    for name, field in section.model_fields.items():
        holds = _describe(field.annotation, field.metadata)
        rows.append(f"| `{name}` | {holds} | {comments.get(name, '')} |".replace("  |", " |"))
    return "\n".join(rows)


def _describe(kind: Any, metadata: list[Any]) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _describe(inner[0], [*inner[1:], *metadata])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_describe(one, metadata) for one in inner))
    if kind is type(None):
        return "`null`"
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in inner)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a section, below"
    if inner:
        of = " to ".join(_describe(one, []) for one in inner if one is not Ellipsis)
        return _bound(f"{'list' if len(inner) == 1 else 'map'} of {of}", metadata)
    return _bound(_TYPES.get(kind, getattr(kind, "__name__", str(kind))), metadata)


def _bound(text: str, metadata: list[Any]) -> str:
    found = {
        key: getattr(part, key)
        for one in metadata
        for part in (one, *getattr(one, "metadata", ()))  # of a `Field` within a type
        for key in (*_BOUNDS, "min_length", "max_length", "pattern")
        if getattr(part, key, None) is not None
    }
    told = [form.format(f"{found[key]:,}") for key, form in _BOUNDS.items() if key in found]
    if found.get("min_length") == 1:
        told.append("that is not empty")
    if "max_length" in found:
        told.append(f"of at most {found['max_length']}")
    if "pattern" in found:
        told.append(f"like `{found['pattern']}`".replace("|", "\\|"))
    return f"{text} {' '.join(told)}".strip()


def _comments(section: type[BaseModel]) -> dict[str, str]:
    # The comment above each field, in the class that declares it.
    found: dict[str, str] = {}
    for one in reversed(section.__mro__):
        if not (issubclass(one, BaseModel) and one.__module__.startswith("transformer.")):
            continue
        above: list[str] = []
        for line in inspect.getsource(one).split("\n"):
            text = line.strip()
            if text.startswith("#"):
                above.append(text.removeprefix("#").strip())
                continue
            declared = re.match(r"    (\w+):", line)
            if declared:
                trailing = re.search(r"  # (.*)$", line)
                words = [*above, *([trailing[1]] if trailing else [])]
                if words:
                    found[declared[1]] = " ".join(words).replace("|", "\\|")
            above = []
    return found


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
