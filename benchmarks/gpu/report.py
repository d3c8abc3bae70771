"""The results of all parts on one page, which judges the targets."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness.report import Verdict, judge, markdown_table, verdict_table
from transformer.files import atomic_write, read_json, write_json

# The parts in the order of the page, with what they measure.
PARTS = {
    "check": "Losses against a CPU's, bandwidth, peak, attention's kernels, one resume.",
    "multi30k": "The recipe `multi30k-de-en`, one seed, trained to the end and scored on test2016.",
    "speed-base": "Training tokens a second by batch and form, dropout 0.1, synthetic pairs.",
    "speed-big": "As for the base model.",
    "resume": "200 steps twice, and 100 + kill + 100; differences from the first training.",
    "loss": "The loss, ours and the compiler's, forward and backward, d 512, 25,600 tokens.",
    "attention": "Its kernels, forward and backward, 8 heads of 64, bfloat16, µs a token.",
    "onnx": "The exported graphs beside PyTorch: the test set; batch sizes 1, 32, 256.",
}
# What the targets of speed hang on.
COMPARED_TOKENS = 25_000
# What a target is held against: part, cell, figure, the least, and how it is written.
_TARGETS = {
    "Multi30k de→en, cased BLEU on test2016, beam 5": (
        ("multi30k", "evaluate", "bleu"),
        (40, "{:.4g}"),
    ),
    **{
        f"{shape}, target tokens/s at {COMPARED_TOKENS:,} a batch, best form": (
            (f"speed-{shape}", f"{COMPARED_TOKENS} ", "target_tokens_per_second"),
            (least, "{:,.0f}"),
        )
        for shape, least in (("base", 800_000), ("big", 300_000))
    },
    **{
        f"resume exact with train.deterministic, {form}": (
            ("resume", f"{form}, deterministic", "is_resumed"),
            (1, "{:.0f}"),
        )
        for form in ("eager", "compiled")
    },
}
Cells = Mapping[str, Mapping[str, Any]]


def write_report(results: Path, path: Path) -> str:
    """Writes all results as JSON, and the page beside it; returns the page.

    Args:
        results: the folder of the parts' files.
        path: of the JSON; the page has the ending .md.

    Raises:
        ValueError: there are no results.
    """
    files = {name: results / f"{name}.json" for name in PARTS}
    parts = {name: read_json(file) for name, file in files.items() if file.is_file()}
    if not parts:
        raise ValueError(f"{results} has no results; `python -m benchmarks.gpu check` is the first")
    facts = next(iter(parts.values()))["facts"]
    cells = {name: part["cells"] for name, part in parts.items()}
    lines = [
        f"# Measured on {facts['device']}",
        ", ".join(f"{name} {value}" for name, value in facts.items()) + ".",
        verdict_table(list(_judge(cells))),
    ]
    for name, of_part in cells.items():
        lines += [f"## {name}", PARTS[name], "\n".join(_describe(of_part))]
    page = "\n\n".join(lines) + "\n"
    write_json(path, parts)
    with atomic_write(path.with_suffix(".md")) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return page


def _judge(parts: Mapping[str, Cells]) -> Iterator[Verdict]:
    for text, ((part, start, figure), (least, form)) in _TARGETS.items():
        # The best of the cells whose names begin so.
        found = [
            float(values[figure])
            for name, values in parts.get(part, {}).items()
            if name.startswith(start) and figure in values
        ]
        yield judge(text, max(found, default=None), least, form)


def _describe(cells: Cells) -> Iterator[str]:
    """A row for each cell, a column for each single figure; then the kernels."""
    columns = dict.fromkeys(
        key
        for values in cells.values()
        for key, value in values.items()
        if not isinstance(value, list | dict) and key != "took_seconds"
    )
    rows = sorted(cells.items(), key=_natural)
    yield markdown_table(
        ["", *(key.replace("_", " ") for key in columns)],
        [[name, *(_show(values.get(key, "")) for key in columns)] for name, values in rows],
        num_text_columns=1,
    )
    for name, values in rows:
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
