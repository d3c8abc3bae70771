"""Params as if `params.yaml` were another, without touching that file."""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.flattening import tell_unknown_key
from pipeline.params import read_params
from pipeline.paths import PARAMS
from pipeline.schema import check_values

_NOTHING = object()


def change_params(changes: Sequence[str]) -> dict[str, Any]:
    """The params with changes.

    Args:
        changes: as `dvc exp run -S` takes them: `train.seed=2`. They are read by DVC's own code,
            which has no public name, since what is foretold has to be what it then runs.

    Raises:
        ValueError: a change is malformed or names an unknown key.
        ConfigError: the changed params are not valid.
    """
    from dvc.exceptions import InvalidArgumentError
    from dvc.utils.hydra import apply_overrides

    _check_keys(changes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PARAMS.name
        shutil.copyfile(PARAMS, path)
        try:
            apply_overrides(path, list(changes))
        except InvalidArgumentError as error:
            reason = " ".join(str(error.__cause__ or error).split())
            if section := re.search(r"append to your config use \+([\w.]+)=", reason):
                reason = f"a section that gets other keys takes a plus: -S '+{section[1]}={{...}}'"
            raise ValueError(f"-S {' '.join(changes)}: {reason}") from None
        values = read_params(path)
    check_values(values, f"{PARAMS} with {' '.join(changes)}")
    return values


def _check_keys(changes: Sequence[str]) -> None:
    # Hydra would advise `+key`, which adds one that no section knows.
    now = read_params()
    for change in changes:
        key = change.partition("=")[0].strip()
        here: Any = now
        for part in key.split("."):
            here = here.get(part) if isinstance(here, Mapping) and part in here else _NOTHING
        if here is _NOTHING and not key.startswith(("+", "~")):
            raise ValueError(f"-S {change}: {tell_unknown_key(key, now)}")
