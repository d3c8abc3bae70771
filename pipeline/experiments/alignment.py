"""Tables of plain text."""

from collections.abc import Iterable, Sequence


def align(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines with columns below each other, two spaces apart."""
    rows = list(rows)
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row[:-1]):  # what ends a line has all the room
            widths[column] = max(widths.get(column, 0), len(cell))
    return [
        "  ".join(f"{cell:<{widths.get(column, 0)}}" for column, cell in enumerate(row)).rstrip()
        for row in rows
    ]
