"""A text taken apart: what is kept as it is, and what is translated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from transformer.text.markup.segment import Mark, Parts, Segment, make_segment, match_tags


@dataclass
class Document:
    """Its parts are text, and the numbers of segments."""

    parts: list[str | int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    def add(self, segment: Segment) -> int:
        """Takes a segment in, without a place among the parts; returns its number."""
        self.segments.append(segment)
        return len(self.segments) - 1

    def add_items(
        self,
        items: Sequence[str | Mark],
        raws: Sequence[Parts],
        escape: Callable[[str], str],
    ) -> None:
        """Adds text with marks, each of which has come as `raws` tells.

        A tag without its other half is kept where it stands, and parts what is around it.
        """
        matched = _match_whole(items)
        begin = 0
        for place, item in enumerate([*items, Mark("open", ())]):
            if isinstance(item, str) or item.kind not in ("open", "close") or place in matched:
                continue
            self._add_run(items[begin:place], raws[begin:place], escape)
            self.parts += item.raw
            begin = place + 1

    def _add_run(
        self, items: Sequence[str | Mark], raws: Sequence[Parts], escape: Callable[[str], str]
    ) -> None:
        # White space at the edges stays as it came.
        begin, end = 0, len(items)
        while begin < end and _is_space(items[begin]):
            begin += 1
        while end > begin and _is_space(items[end - 1]):
            end -= 1
        for raw in raws[:begin]:
            self.parts += raw
        if begin < end:
            whole = tuple(part for raw in raws[begin:end] for part in raw)
            self.parts.append(self.add(make_segment(items[begin:end], whole, escape)))
        for raw in raws[end:]:
            self.parts += raw

    def fill(self, translations: Sequence[Parts]) -> str:
        """The document with a translation in place of each segment."""
        return _fill(self.parts, translations)


def _fill(parts: Sequence[str | int], translations: Sequence[Parts]) -> str:
    # Only attributes stand in another segment's parts, and nothing in theirs.
    return "".join(
        part if isinstance(part, str) else _fill(translations[part], translations) for part in parts
    )


def _match_whole(items: Sequence[str | Mark]) -> set[int]:
    """Places of the tags that have their other half, and none without one between the two."""
    begins = {end: begin for begin, end in match_tags(items).items()}
    matched = {*begins, *begins.values()}
    last = -1  # of those without
    for place, item in enumerate(items):
        if isinstance(item, str) or item.kind not in ("open", "close"):
            continue
        if place not in matched:
            last = place
        elif place in begins and last > begins[place]:
            matched -= {place, begins[place]}
            last = place
    return matched


def _is_space(item: str | Mark) -> bool:
    return isinstance(item, str) and item.isspace()
