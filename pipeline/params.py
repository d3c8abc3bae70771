"""`params.yaml`, read as YAML 1.2 into typed sections."""

from pathlib import Path
from typing import Any, TypeVar, overload

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent
from typing_extensions import TypeForm

from pipeline.paths import PARAMS
from transformer.config import ConfigError, parse_section

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


def read_params(path: Path = PARAMS) -> dict[str, Any]:
    """The file as plain values. YAML 1.2, so `1e-05` is a number and `off` is a word.

    Raises:
        ConfigError: the file is missing, is not YAML, or is no mapping of sections.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        problem = "a pipe or a device, which would be read for ever; put a file there"
        raise ConfigError([problem], str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        problem = "no such file; `python -m pipeline recipe phrasebook` writes one"
        raise ConfigError([problem], str(path)) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"not UTF-8: {error}"], str(path)) from None
    return parse_params(text, str(path))


def parse_params(text: str, where: str) -> dict[str, Any]:
    """What stands in a params file, as `read_params`; `where` names it in messages.

    Raises:
        ConfigError: it is not YAML, or no mapping of sections.
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        # A few lines of aliases of aliases stand for billions of values.
        if "*" in text and any(isinstance(event, AliasEvent) for event in yaml.parse(text)):
            problem = "aliases such as *name are not taken; write the values out"
            raise ConfigError([problem], where)
        values = yaml.load(text)
    except ConfigError:
        raise
    except (YAMLError, ValueError) as error:  # ValueError: a number of thousands of digits
        raise ConfigError([f"not YAML: {error}"], where) from None
    except RecursionError:
        raise ConfigError(["not YAML for a params file: too deep"], where) from None
    if not isinstance(values, dict):
        raise ConfigError(["expected sections such as `corpus:` at the top level"], where)
    return values


def load_section(name: str, section_type: TypeForm[A], path: Path = PARAMS) -> A:
    """One section of the params file, typed.

    Raises:
        ConfigError: every problem of the section at once.
    """
    return load_sections((name, section_type), path=path)[0]


@overload
def load_sections(a: tuple[str, TypeForm[A]], /, *, path: Path = PARAMS) -> tuple[A]: ...
@overload
def load_sections(
    a: tuple[str, TypeForm[A]], b: tuple[str, TypeForm[B]], /, *, path: Path = PARAMS
) -> tuple[A, B]: ...
@overload
def load_sections(
    a: tuple[str, TypeForm[A]],
    b: tuple[str, TypeForm[B]],
    c: tuple[str, TypeForm[C]],
    /,
    *,
    path: Path = PARAMS,
) -> tuple[A, B, C]: ...
def load_sections(*sections: tuple[str, Any], path: Path = PARAMS) -> tuple[Any, ...]:
    """Several sections of the params file, typed: (name, type) pairs in, sections out.

    Raises:
        ConfigError: every problem of these sections at once.
    """
    values = read_params(path)
    read, problems = [], []
    for name, section_type in sections:
        if name not in values:
            problems.append(f"{name}: this section is missing")
            continue
        section, wrong = parse_section(section_type, name, values[name])
        read.append(section)
        problems += wrong
    if problems:
        raise ConfigError(problems, str(path))
    return tuple(read)
