"""Translations that were asked for before."""

from array import array
from collections import OrderedDict
from typing import Any

from transformer.search.options import SearchOptions
from transformer.serving.translator import Translation


class Cache:
    """The translations of pieces, the least recently used of which give way to new ones.

    Args:
        max_entries: 0 for none.
    """

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[Any, list[Translation]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @staticmethod
    def key(version: str, options: SearchOptions, ids: list[int]) -> Any:
        """What a translation depends on: the translator, the options, the text as it sees it."""
        return version, options, array("I", ids).tobytes()

    def get(self, key: Any) -> list[Translation] | None:
        """What is remembered."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Any, translations: list[Translation]) -> None:
        """Remembers, and forgets what is too much."""
        self._entries[key] = translations
        self._entries.move_to_end(key)
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)
