"""DVC's own digests of files and folders, also where DVC is not installed."""

import hashlib
import json
from pathlib import Path


def dvc_digest(path: Path) -> str:
    """What `dvc.lock` calls `md5`: of a file its MD5, of a folder that of its sorted listing.

    Raises:
        FileNotFoundError: there is nothing at `path`.
    """
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest()
    listing = [
        {"md5": dvc_digest(file), "relpath": file.relative_to(path).as_posix()}
        for file in path.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts  # as .dvcignore has it
    ]
    listing.sort(key=lambda entry: entry["relpath"])
    return f"{hashlib.md5(json.dumps(listing, sort_keys=True).encode()).hexdigest()}.dir"


def content_hash(paths: list[Path]) -> str:
    """One hash over the contents of files and folders, and their names."""
    facts = [(path.name, dvc_digest(path)) for path in paths]
    return hashlib.md5(json.dumps(facts).encode()).hexdigest()
