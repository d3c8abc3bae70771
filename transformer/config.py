"""The base of every params section, and how its errors are told."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator
from typing_extensions import TypeForm

# What keys of params files from before are called now. A `kind` stands in the path that it decides.
RENAMED = {
    "corpus.licence": "license",
    "model.norm_divisor": "layer_norm_variant",
    "model.positions": "position_encoding",
    "pretrain.draws": "dupe_factor",
    "pretrain.mean_span": "mean_span_length",
    "pretrain.masked.share": "mask_probability",
    "pretrain.spans.share": "noise_density",
    "pretrain.train.clip_norm": "max_grad_norm",
    "pretrain.train.initialise_from": "initialize_from",
    "train.clip_norm": "max_grad_norm",
    "train.initialise_from": "initialize_from",
    "export.max_int8_bleu_loss": "max_bleu_loss",
}
# Values that were renamed with their keys.
RENAMED_VALUES = {"root": "standard", "deviation": "unbiased"}


# Characters of a value in a message.
_MAX_SHOWN = 200
# The smallest normal number and the largest one.
_FLOAT32_RANGE = 2.0**-126, (2 - 2.0**-23) * 2.0**127


class Section(BaseModel):
    """A frozen, strictly typed section of `params.yaml`.

    Its numbers are finite, its integers fit into 64 bits, its fractions into float32.
    Subclasses declare fields without defaults: `params.yaml` is the only home of values.
    A rule over several fields is a `model_validator(mode="after")` that raises `ValueError`
    and names the fields, their values and what is allowed.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=()
    )

    @field_validator("*")
    @classmethod
    def _is_held_by_tensors(cls, value: Any) -> Any:
        smallest, largest = _FLOAT32_RANGE
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and not -(2**63) <= number < 2**63:
                raise ValueError(f"{show(number)}: beyond 64 bits; at most {2**63 - 1}")
            if isinstance(number, float) and number and not smallest <= abs(number) <= largest:
                raise ValueError(
                    f"{number}: beyond float32; 0, or between {smallest} and {largest} in size"
                )
        return value


class ConfigError(ValueError):
    """Params that can't be used. The message lists every problem: path, value, what is allowed."""

    def __init__(self, problems: list[str], where: str = "params.yaml") -> None:
        self.problems = problems
        noun = "problem" if len(problems) == 1 else "problems"
        super().__init__(f"{where}: {len(problems)} {noun}\n  " + "\n  ".join(problems))


T = TypeVar("T")


def parse_section(section_type: TypeForm[T], name: str, values: Any) -> tuple[T | None, list[str]]:
    """Reads one section.

    Args:
        section_type: a `Section`, or a union of them told apart by a field such as `kind`.
        name: the section's key in `params.yaml`; it opens the path in each message.
        values: what the file holds under that key.

    Returns:
        The section, or None, and the problems found, one line each.
    """
    try:
        return TypeAdapter(section_type).validate_python(values), []
    except ValidationError as error:
        problems = [(_path(name, values, dict(one)), dict(one)) for one in error.errors()]
    renamed = {
        where: new
        for where, problem in problems
        if problem["type"] == "extra_forbidden" and (new := _find_renamed(name, where, problem))
    }
    return None, [
        _tell_renamed(where, problem["input"], renamed[where])
        if where in renamed
        else _tell(where, problem)
        for where, problem in problems
        # Where a key has its old name, that the new one is missing needs no line.
        if not (problem["type"] == "missing" and where in renamed.values())
    ]


def show(value: Any) -> str:
    """The value as Python writes it, without the middle of a long one."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "an integer of thousands of digits"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]}…{text[-20:]}"


def _path(name: str, values: Any, problem: Mapping[str, Any]) -> str:
    # A tagged union puts its tag into the path; the file has no such level, so it is left out.
    path, here = [name], values
    for part in problem["loc"]:
        if isinstance(here, Mapping) and part in here:
            here = here[part]
        elif not (problem["type"] == "missing" and part == problem["loc"][-1]):
            continue
        path.append(str(part))
    return ".".join(path)


def _find_renamed(name: str, where: str, problem: Mapping[str, Any]) -> str | None:
    # The path of what an unknown key is called now; None: nothing ever had that name.
    with_kind = ".".join([name, *map(str, problem["loc"])])
    new = RENAMED.get(where) or RENAMED.get(with_kind)
    return f"{where.rpartition('.')[0]}.{new}" if new else None


def _tell_renamed(where: str, value: Any, new: str) -> str:
    line = f"{where} = {show(value)}: renamed to {new}"
    is_renamed = isinstance(value, str) and value in RENAMED_VALUES
    return f"{line} = {RENAMED_VALUES[value]!r}" if is_renamed else line


def _tell(where: str, problem: Mapping[str, Any]) -> str:
    kind, message = problem["type"], problem["msg"]
    if kind == "missing":
        return f"{where}: missing; this key is required"
    if kind == "extra_forbidden":
        return f"{where} = {show(problem['input'])}: unknown key; correct or remove it"
    if kind == "union_tag_not_found":
        return f"{where}: missing key 'kind'"
    if kind == "union_tag_invalid":
        tag, allowed = problem["ctx"]["tag"], problem["ctx"]["expected_tags"]
        return f"{where}.kind = {show(tag)}: allowed are {allowed}"
    if kind == "value_error":
        return f"{where}: {message.removeprefix('Value error, ')}"
    return f"{where} = {show(problem['input'])}: {message[0].lower() + message[1:]}"
