"""Recipes: a YAML document with a `summary` and a `base`, then one with the differences.

The root has no base and holds every value. A mapping is merged key by key, but for one whose
`kind` differs: that is replaced whole.
"""

import hashlib
import io
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError as YAMLError

from pipeline.flattening import tell_unknown_key

HEADER = "# Recipe: "
SEAL = "# Unedited: "


def list_recipes() -> list[tuple[str, str]]:
    """(name, one-line summary) of every recipe, by name."""
    return [(name, _read(name)[0]["summary"]) for name in _names()]


def load_recipe(name: str) -> dict[str, Any]:
    """The values of a recipe, its base's included. Raises ValueError if there is none."""
    values: dict[str, Any] = _plain(_resolve(name))
    return values


def recipe_name(path: Path) -> str | None:
    """The recipe that a params file was written from; None if it doesn't say, or it is unknown."""
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    name = first.removeprefix(HEADER).split(" ", 1)[0] if first.startswith(HEADER) else ""
    return name if name in _names() else None


def make_params(name: str, changes: list[str]) -> str:
    """The whole text of `params.yaml` for a recipe with `key.path=value` changes.

    Raises:
        ValueError: no such recipe, a change that is no KEY=VALUE, or one that names an unknown key.
        ConfigError: the outcome is not a valid params file.
    """
    from pipeline.schema import check_values

    params = _resolve(name)
    for change in changes:
        _apply_change(params, change)
    check_values(_plain(params), f"recipe {name}")
    stream = io.StringIO()
    _yaml().dump(params, stream)
    body = stream.getvalue()
    with_changes = "".join(f" --set {' '.join(change.split())}" for change in changes)
    return f"{HEADER}{name}{with_changes}\n{SEAL}{_seal(body)}\n{body}"


def write_params(path: Path, text: str, force: bool) -> None:
    """Writes a params file, but not over one that was edited since a recipe wrote it.

    Raises:
        ValueError: the file was edited by hand and `force` is not set.
    """
    from transformer.files import atomic_write

    if path.exists() and not force:
        old = path.read_text(encoding="utf-8")
        seal = next((line for line in old.split("\n") if line.startswith(SEAL)), None)
        body = old.split(f"{seal}\n", 1)[-1]
        if seal is None or seal != SEAL + _seal(body):
            raise ValueError(
                f"{path} was edited by hand since a recipe wrote it; "
                "keep a copy and pass --force to overwrite it"
            )
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _names() -> list[str]:
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def _read(name: str) -> tuple[Any, Any]:
    if name not in _names():
        raise ValueError(f"no recipe {name!r}; there are: {', '.join(_names())}")
    text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    about, differences = _yaml().load_all(text)
    return about, differences


def _resolve(name: str) -> Any:
    about, differences = _read(name)
    if about["base"] is None:
        return differences
    params = _resolve(about["base"])
    _merge(params, differences)
    return params


def _merge(base: Any, differences: Any) -> None:
    for key, value in differences.items():
        here = base.get(key)
        is_same_kind = isinstance(here, Mapping) and isinstance(value, Mapping)
        if is_same_kind and here.get("kind") == value.get("kind", here.get("kind")):
            _merge(here, value)
        else:
            base[key] = value


def _apply_change(params: Any, change: str) -> None:
    path, separator, text = change.partition("=")
    if not separator:
        raise ValueError(f"--set {change!r}: expected KEY=VALUE, such as train.learning_rate=1e-3")
    *parents, last = path.strip().split(".")
    here = params
    for part in parents:
        here = here.get(part) if isinstance(here, Mapping) else None
    if not isinstance(here, Mapping) or last not in here:
        unknown = tell_unknown_key(path.strip(), _plain(params))
        raise ValueError(f"--set {change!r}: {unknown}")
    try:
        value = _yaml().load(text)
    except YAMLError as error:
        raise ValueError(
            f"--set {change!r}: the value is not YAML ({error.problem}); inside [] or {{}} quote "
            "what holds such signs itself, as in train: 'train[:1000]'"
        ) from None
    _merge(here, {last: value})


def _yaml() -> Any:
    yaml = YAML()
    yaml.width = 100
    yaml.representer.add_representer(type(None), _represent_null)
    return yaml


def _represent_null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for plain_type in (bool, int, float, str):
        if isinstance(value, plain_type):
            return plain_type(value)
    return value


def _seal(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]
