"""The results of all parts on one page, which judges the targets."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu.speed import COMPARED_TOKENS
from transformer.files import atomic_write, read_json, write_json

# Parts in the order of the page, with what their figures are.
PARTS = {
    "check": "Whether training gives the losses of a CPU, and what the device can do.",
    "multi30k": "The recipe `multi30k-de-en`, one seed, trained to the end and scored on test2016.",
    "speed-base": "Training tokens a second, dropout 0.1, 2,000,000 synthetic pairs.",
    "speed-big": "As above, for the larger model.",
    "resume": "200 steps twice, and 100 + kill + 100; differences from the first training.",
    "loss": "Forward and backward, d 512, 25,600 tokens.",
    "attention": "Forward and backward, 8 heads of 64, bfloat16, microseconds a token.",
    "onnx": "Translating the test set; batch sizes 1, 32, 256.",
}
Parts = Mapping[str, Mapping[str, Any]]


class _Target(NamedTuple):
    what: str
    least: float
    find: Callable[[Parts], float | None]  # None: not measured


def _value(parts: Parts, part: str, cell: str, name: str) -> float | None:
    value = parts.get(part, {}).get("cells", {}).get(cell, {}).get(name)
    return None if value is None else float(value)


def _best_speed(parts: Parts, shape: str) -> float | None:
    cells = parts.get(f"speed-{shape}", {}).get("cells", {})
    speeds = [
        values["target_tokens_per_second"]
        for name, values in cells.items()
        if name.startswith(f"{COMPARED_TOKENS} ") and "target_tokens_per_second" in values
    ]
    return max(speeds, default=None)


_TARGETS = (
    _Target(
        "Multi30k de→en, cased BLEU on test2016, beam 5",
        40.0,
        lambda parts: _value(parts, "multi30k", "evaluate", "bleu"),
    ),
    _Target(
        "base, target tokens/s at 25,000 a batch, best form",
        800_000.0,
        lambda parts: _best_speed(parts, "base"),
    ),
    _Target(
        "big, target tokens/s at 25,000 a batch, best form",
        300_000.0,
        lambda parts: _best_speed(parts, "big"),
    ),
    _Target(
        "resume exact with train.deterministic, eager",
        1.0,
        lambda parts: _value(parts, "resume", "eager, deterministic", "is_resumed"),
    ),
    _Target(
        "resume exact with train.deterministic, compiled",
        1.0,
        lambda parts: _value(parts, "resume", "compiled, deterministic", "is_resumed"),
    ),
)


def write_report(results: Path, path: Path) -> str:
    """Writes all results as JSON, and the page beside it; returns the page.

    Args:
        results: the folder of the parts' files.
        path: of the JSON; the page has the ending .md.

    Raises:
        ValueError: there are no results.
    """
    parts = {name: read_json(results / f"{name}.json") for name in PARTS if _exists(results, name)}
    if not parts:
        raise ValueError(f"{results} has no results; `python -m benchmarks.gpu check` is the first")
    page = "\n".join(_lines(parts)) + "\n"
    write_json(path, parts)
    with atomic_write(path.with_suffix(".md")) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return page


def _exists(results: Path, name: str) -> bool:
    return (results / f"{name}.json").is_file()


def _lines(parts: Parts) -> Iterator[str]:
    facts = next(iter(parts.values()))["facts"]
    yield f"# Measured on {facts['device']}"
    yield ""
    yield ", ".join(f"{name} {value}" for name, value in facts.items()) + "."
    yield ""
    yield "| target | at least | found | |"
    yield "|---|--:|--:|---|"
    for target in _TARGETS:
        found = target.find(parts)
        verdict = "" if found is None else "met" if found >= target.least else "missed"
        yield f"| {target.what} | {_show(target.least)} | {_show(found)} | {verdict} |"
    for name, what in PARTS.items():
        if name not in parts:
            continue
        yield from ("", f"## {name}", "", what, "")
        yield from _table(parts[name]["cells"])
        yield from _kernels(parts[name]["cells"])


def _table(cells: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A row for each cell, a column for each single figure."""
    columns = dict.fromkeys(
        key
        for values in cells.values()
        for key, value in values.items()
        if not isinstance(value, list | dict) and key != "took_seconds"
    )
    yield f"| | {' | '.join(key.replace('_', ' ') for key in columns)} |"
    yield "|---|" + "--:|" * len(columns)
    for name, values in sorted(cells.items(), key=_natural):
        yield f"| {name} | {' | '.join(_show(values.get(key, '')) for key in columns)} |"


def _kernels(cells: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, values in sorted(cells.items(), key=_natural):
        for kernel, share, calls in values.get("kernels", []):
            yield f"- {name}: `{kernel}` {share:.1%}, {_show(calls)} calls a step"


def _natural(cell: tuple[str, Any]) -> list[tuple[int, str]]:
    # Numbers by their size.
    return [(int(word), "") if word.isdigit() else (-1, word) for word in cell[0].split()]


def _show(value: Any) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).replace("|", "/").replace("\n", " ")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
