"""What is made of each shard of texts, kept until all are done: a killed stage goes on there."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transformer.compute.shards import map_shards
from transformer.files import read_sealed, write_sealed
from transformer.serving.corpus import LineShard
from transformer.text.corpus import Pair


class Made(NamedTuple):
    """The pairs of a shard, and what it has none for."""

    pairs: list[Pair]
    num_texts: int
    num_untranslatable: int
    # Translations that reached the length limit.
    num_incomplete: int


def choose_folder(states: Path, facts: Mapping[str, Any]) -> Path:
    """Where what follows from these facts is kept."""
    return states / hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def map_kept_shards(
    function: Callable[[LineShard], Made], shards: Sequence[LineShard], folder: Path
) -> Iterator[Made]:
    """What a function makes of each shard, in order, as `map_shards` gives it.

    Each is kept in `folder` before it is given. What stands there from the first shard on is not
    made again; what is damaged is, and all behind it.
    """
    done = 0
    while done < len(shards) and (made := _read(folder / f"{done}.json")) is not None:
        yield made
        done += 1
    for made in map_shards(function, shards[done:]):
        folder.mkdir(parents=True, exist_ok=True)
        write_sealed(folder / f"{done}.json", made._asdict())
        yield made
        done += 1


def _read(path: Path) -> Made | None:
    try:
        values = read_sealed(path, "synthesize")
    except ValueError:
        return None
    return Made(**values | {"pairs": [(source, target) for source, target in values["pairs"]]})
