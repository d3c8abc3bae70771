"""Read the phrasebook's tables: cells between `|`, a header row first, `#` starts a comment."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written, so that every complaint can point there."""

    file: str
    line: int

    def error(self, message: str) -> ValueError:
        """A ValueError that names file and line; `message` says what to do."""
        return ValueError(f"{self.file}, line {self.line}: {message}")

    def number(self, what: str, text: str) -> float:
        """`text` as a number; raises ValueError here when it is none."""
        try:
            return float(text)
        except ValueError:
            raise self.error(f"{what} '{text}' is not a number; write for example 2") from None


@dataclass(frozen=True, slots=True)
class Row:
    """One table row: cells by column name, and where it stands."""

    place: Place
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def words(self, column: str) -> tuple[str, ...]:
        """The cell's words, split at commas and spaces."""
        return tuple(self.cells[column].replace(",", " ").split())

    def number(self, column: str) -> float:
        """The cell as a number; raises ValueError at the row's place."""
        return self.place.number(column, self.cells[column])


def read_lines(path: Path) -> Iterator[tuple[Place, str]]:
    """Yield every line that holds more than a comment, stripped on the right.

    Raises ValueError when the file is missing or is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; the phrasebook needs it") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from None
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#", 1)[0].rstrip()
        if content:
            yield Place(path.name, number), content


def read_table(path: Path, columns: tuple[str, ...]) -> list[Row]:
    """Read a table whose header must be `columns`; a `?` marks a last cell that may be left off.

    Raises ValueError naming file and line for a wrong header or a row with a wrong cell count.
    """
    names = tuple(column.rstrip("?") for column in columns)
    required = sum(not column.endswith("?") for column in columns)
    rows: list[Row] = []
    header_seen = False
    for place, line in read_lines(path):
        cells = [cell.strip() for cell in line.split("|")]
        if not header_seen:
            if tuple(cells) != columns:
                missing = [column for column in columns if column not in cells]
                hint = f" (missing column: {', '.join(missing)})" if missing else ""
                raise place.error(f"the header must be '{' | '.join(columns)}'{hint}")
            header_seen = True
            continue
        if not required <= len(cells) <= len(names):
            raise place.error(
                f"{len(cells)} cells where the header has {len(names)} columns "
                f"({' | '.join(columns)}); add or remove a '|'"
            )
        cells += [""] * (len(names) - len(cells))
        rows.append(Row(place, dict(zip(names, cells, strict=True))))
    if not header_seen:
        raise ValueError(f"{path.name}, line 1: empty; start with '{' | '.join(columns)}'")
    return rows
