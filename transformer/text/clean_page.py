"""A page for people: what cleaning kept, what it rejected for which reason, and examples."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from transformer.files import atomic_write
from transformer.text.cleaning import CleanReport

_STYLE = """
:root { color-scheme: light dark; --bar: #3b7dd8; --lost: 214 96 60; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem;
  border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
th { font-weight: 600; overflow-wrap: normal; }
.wide td, td:first-child { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.bar { width: 40%; min-width: 8rem; }
.bar div { background: var(--bar); height: 1rem; min-width: 1px; }
.kept div { background: #4a9d5b; }
.few { color: #777; }
summary { cursor: pointer; padding: .3rem 0; }
"""


def write_page(path: Path, report: CleanReport, rejects: Path) -> None:
    """Writes a page of HTML that needs no other file, and no network.

    Args:
        path: of the page.
        report: all counts.
        rejects: the sample that `clean_corpus` wrote.
    """
    with rejects.open(encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    share = report.kept / report.candidates
    parts = [
        "<h1>What cleaning kept</h1>",
        f"<p>{report.kept:,} training pairs of {report.candidates:,} ({share:.1%}). "
        f"Validation ({report.valid:,}) and test ({report.test:,}) keep every pair.</p>",
        _reasons(report),
        *([_origins(report)] if report.origins else []),
        *([_scores(report)] if report.score_quantiles else []),
        "<h2>Rejected pairs</h2>",
        "<p>Examples as they came, drawn at random by <code>clean.seed</code>.</p>",
        *(_samples(name, samples) for name, count in report.rejected.items() if count),
    ]
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n<title>What cleaning kept</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _reasons(report: CleanReport) -> str:
    rows = [_bar("kept", "", report.kept, report.candidates, "bar kept")]
    for name, count in report.rejected.items():
        limit = report.limits.get(name)
        shown = "" if limit is None else f"{limit:g}"
        rows.append(_bar(name, shown, count, report.candidates, "bar"))
    return _table(["reason", "limit", "pairs", "share", ""], rows)


def _bar(name: str, limit: str, count: int, total: int, kind: str) -> str:
    width = 100 * count / total
    bar = f'<div style="width: {width:.2f}%"></div>' if count else ""
    cells = _cell(name) + _cell(limit, "number") + _cell(f"{count:,}", "number")
    cells += _cell(f"{count / total:.2%}", "number") + f'<td class="{kind}">{bar}</td>'
    return f"<tr{'' if count else ' class=few'}>{cells}</tr>"


def _origins(report: CleanReport) -> str:
    reasons = [name for name, count in report.rejected.items() if count]
    rows = []
    for name, found in report.origins.items():
        total = found.kept + sum(found.rejected.values())
        cells = _cell(name) + _cell(f"{total:,}", "number")
        cells += _cell(f"{found.kept / total:.1%}", "number")
        for reason in reasons:
            part = found.rejected[reason] / total
            shade = f' style="background: rgb(var(--lost) / {min(1, 2 * part):.2f})"'
            told = f"{found.rejected[reason]:,} pairs"
            cells += f'<td class="number" title="{told}"{shade if part else ""}>{part:.1%}</td>'
        rows.append(f"<tr>{cells}</tr>")
    table = _table(["origin", "pairs", "kept", *reasons], rows)
    return f'<h2>By origin</h2>\n<div class="wide">{table}</div>'


def _scores(report: CleanReport) -> str:
    shares = [f"{float(share):.0%}" for share in report.score_quantiles]
    cells = "".join(_cell(f"{score:g}") for score in report.score_quantiles.values())
    return (
        "<h2>Scores</h2>\n<p>So many of the scored pairs have the score below it, or less.</p>\n"
        + _table(shares, [f"<tr>{cells}</tr>"])
    )


def _samples(reason: str, samples: Sequence[dict[str, Any]]) -> str:
    found = [one for one in samples if one["reason"] == reason]
    names = ["line", *["origin"] * any("origin" in one for one in found), "source", "target"]
    rows = []
    for one in sorted(found, key=lambda one: (one.get("origin", ""), one["line"])):
        cells = (f'<td dir="auto">{escape(str(one[name]))}</td>' for name in names)
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<details open><summary><b>{reason}</b>: {len(found)}</summary>\n"
        f"{_table(names, rows)}</details>"
    )


def _table(header: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name).replace('_', '_<wbr>')}</th>" for name in header)
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def _cell(text: str, kind: str = "") -> str:
    return f"<td{f' class={kind}' if kind else ''}>{escape(text)}</td>"
