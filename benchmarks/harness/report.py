"""Pages of figures: tables in Markdown, verdicts on targets, every measurement as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.rounds import Ratio
from transformer.files import atomic_write

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Verdict:
    """One line: what was asked for, what was found."""

    text: str
    found: str
    target: str
    is_met: bool | None  # None: not measured

    @property
    def word(self) -> str:
        """met, missed or not measured."""
        return "not measured" if self.is_met is None else "met" if self.is_met else "missed"


def judge(
    text: str,
    found: float | Ratio | None,
    bound: float,
    form: str = "{:.2f}",
    is_most: bool = False,
) -> Verdict:
    """Whether a figure meets its target.

    Args:
        text: what the figure is.
        found: None if it was not measured; of a ratio its value counts, its range is told.
        bound: the least that meets the target.
        form: how figure and bound are written.
        is_most: whether the bound is instead the most that meets it.
    """
    value = found.value if isinstance(found, Ratio) else found
    target = f"at {'most' if is_most else 'least'} {form.format(bound)}"
    if value is None:
        return Verdict(text, "–", target, None)
    told = form.format(value)
    if isinstance(found, Ratio):
        told += f" (rounds {form.format(found.low)} to {form.format(found.high)})"
    return Verdict(text, told, target, value <= bound if is_most else value >= bound)


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, num_text_columns: int
) -> str:
    """Rows of text as a Markdown table; columns of numbers, the later ones, stand to the right."""
    rule = ["---"] * num_text_columns + ["--:"] * (len(header) - num_text_columns)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """A row per target."""
    rows = [[one.text, one.found, one.target, one.word] for one in verdicts]
    return markdown_table(["figure", "found", "target", ""], rows, num_text_columns=4)


def write_page(
    title: str, command: str, parts: Sequence[str], verdicts: Sequence[Verdict] | None = None
) -> str:
    """A page of Markdown: what wrote it, its parts, the targets if there are such."""
    opening = f"Written by `python -m benchmarks.{command}`; [benchmarks.md](../benchmarks.md) "
    whole = [f"# {title}", f"{opening}tells what is measured and how.", *parts]
    if verdicts is not None:
        whole += ["## Targets", verdict_table(verdicts)]
    return "\n\n".join(whole) + "\n"


def write_record(values: Mapping[str, Any], name: str, rows: Sequence[Any]) -> str:
    """JSON with one value a line, the rows last: hundreds of them can be read and compared."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    listed = ",\n".join(map(json.dumps, rows))
    return "{\n" + ",\n".join([*lines, f"{json.dumps(name)}: [\n{listed}\n]"]) + "\n}\n"


def save_page(output: Path | None, page: str, record: str) -> None:
    """Writes page and record, where they are asked for; the JSON has the page's name."""
    if output is None:
        return
    for path, text in ((output, page), (output.with_suffix(".json"), record)):
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
