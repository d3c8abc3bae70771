"""Files of text without translations, by their names in one folder."""

from pathlib import Path, PurePath


def check_name(name: str | None) -> str | None:
    """The name of such a file, or None.

    A stage depends on the folder, so that an edited file is seen.

    Raises:
        ValueError: it is no name of a file inside the folder.
    """
    if name is not None and (not name or PurePath(name).is_absolute() or ".." in name.split("/")):
        raise ValueError(
            f"{name!r}: give the name of a file in data/monolingual, and put or link it there"
        )
    return name


def find_file(folder: Path, name: str, key: str, otherwise: str = "") -> Path:
    """Where the file lies that the params' `key` names. Raises ValueError if it is not there."""
    if not (folder / name).is_file():
        raise ValueError(
            f"{key} = {name!r}: there is no such file in {folder}; put or link it there{otherwise}"
        )
    return folder / name
