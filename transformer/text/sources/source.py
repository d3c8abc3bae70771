"""The form that every kind of corpus is brought into."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from transformer.text.corpus import Row


@dataclass(frozen=True)
class Source:
    """An opened corpus.

    `parts` has `train`, and `valid` and `test` where the corpus brings them. Each value starts
    a new reading of the part, in order, every time it is called; it raises `ValueError` with file
    and line for text that can't be used.
    """

    parts: Mapping[str, Callable[[], Iterator[Row]]]
    # Path, URL or id, as the params give it.
    origin: str
    # The Hub's commit; the revision of the params where the Hub did not say which that is.
    revision: str | None
    # Of each file that was read, by name; empty where the text comes from no single file.
    sha256: Mapping[str, str]
    # Whether the rows tell where each pair came from.
    has_origins: bool = False
    # Those that this one joins, by name.
    members: Mapping[str, "Source"] = field(default_factory=dict)
