"""DVC's view of the project as if `params.yaml` were another, without touching that file."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.params import read_params
from pipeline.paths import PARAMS
from pipeline.schema import check_values
from pipeline.tracking.flattening import flatten


@contextmanager
def changed_params(changes: Sequence[str]) -> Iterator[Path]:
    """A temporary params file with the changes, outside the workspace; removed at the end.

    Args:
        changes: as `dvc exp run -S` takes them, and read by the same code: `train.seed=2`.

    Raises:
        ValueError: a change is malformed or names an unknown key.
        ConfigError: the changed params are not valid.
    """
    from dvc.exceptions import InvalidArgumentError
    from dvc.utils.hydra import apply_overrides

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PARAMS.name
        shutil.copyfile(PARAMS, path)
        try:
            apply_overrides(path, list(changes))
        except InvalidArgumentError as error:
            reason = " ".join(str(error.__cause__ or error).split())
            raise ValueError(f"-S {' '.join(changes)}: {reason}") from None
        check_values(read_params(path), f"{PARAMS} with {' '.join(changes)}")
        yield path


def list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The flat params that differ, each with its old and new value; None where there is none."""
    before, after = flatten(old), flatten(new)
    return {
        key: (before.get(key), after.get(key))
        for key in dict.fromkeys([*before, *after])
        if (key in before, before.get(key)) != (key in after, after.get(key))
    }


@contextmanager
def open_project(params: Path) -> Iterator[Any]:
    """DVC's repository of the working folder, with the contents of `params` as its params.yaml."""
    from dvc.fs import LocalFileSystem
    from dvc.repo import Repo

    with Repo() as repo:
        replaced = Path(repo.root_dir) / PARAMS

        class Overlaid(LocalFileSystem):  # type: ignore[misc]
            def open(self, path: str, *arguments: Any, **options: Any) -> Any:
                here = params if Path(path).absolute() == replaced else path
                return super().open(str(here), *arguments, **options)

        repo.fs = Overlaid(url=repo.root_dir)
        yield repo
