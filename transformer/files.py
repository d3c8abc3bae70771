"""Files that appear whole or not at all."""

import csv
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Among the entries of a sealed file: the SHA-256 of all others.
SEAL = "seal"


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, renamed to it on success and removed on failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yields an empty temporary folder beside `path`, which takes `path`'s place on success.

    On failure it is removed, and what stood at `path` stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    temporary.chmod(0o755)
    try:
        yield temporary
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
            path.replace(old / path.name)
            temporary.replace(path)
            shutil.rmtree(old)
        else:
            temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Writes JSON that is the same for the same value: sorted keys, two spaces, a last newline."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Writes a table: UTF-8, lines end in LF."""
    with (
        atomic_write(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def read_json(path: Path) -> Any:
    """Reads what `write_json` wrote. Raises ValueError, naming the file, if it is not JSON."""
    if path.exists() and not path.is_file():  # a pipe or a device would be read for ever
        raise ValueError(f"{path} is not JSON: it is no file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise ValueError(f"{path} is not JSON: {error}") from error


def seal(values: Mapping[str, Any], name: str = SEAL) -> dict[str, Any]:
    """The values, and under `name` the SHA-256 of all others, in place of a stale one."""
    rest = {key: value for key, value in values.items() if key != name}
    text = json.dumps(rest, sort_keys=True)
    return rest | {name: hashlib.sha256(text.encode()).hexdigest()}


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Writes a JSON object by `write_json`, sealed."""
    write_json(path, seal(values))


def read_sealed(path: Path, stage: str) -> dict[str, Any]:
    """Reads what `write_sealed` wrote, without the seal.

    Args:
        path: the file.
        stage: which one wrote it.

    Raises:
        ValueError: it is not there, no JSON object, has no seal, or was changed since.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; run the stage `{stage}` to make {path.parent}")
    values = read_json(path)
    if not isinstance(values, dict) or SEAL not in values:
        raise ValueError(
            f"{path} has another form than this version writes (it is not sealed); "
            f"run the stage `{stage}` again"
        )
    found = values.pop(SEAL)
    if found != seal(values)[SEAL]:
        raise ValueError(
            f"{path} is damaged, or was edited: its seal does not fit; run the stage `{stage}` "
            f"again, or `dvc checkout --force {path.parent}`"
        )
    return values


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        ValueError: it is a pipe, say, which would be read for ever.
        OSError: it is not there, or can't be read.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str, stage: str) -> None:
    """Holds a file against the SHA-256 that `stage` noted when it wrote it.

    Raises:
        ValueError: it is not there, or its bytes are others.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; run the stage `{stage}` to make {path.parent}")
    found = sha256_file(path)
    if found != expected:
        raise ValueError(
            f"{path} is damaged, or was edited: its SHA-256 is {found}, but the stage `{stage}` "
            f"wrote {expected}; run `{stage}` again, or `dvc checkout --force {path.parent}`"
        )
