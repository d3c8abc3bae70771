"""Where in a translation the tags and signs of its source belong, by alignment."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from transformer.text.alignment import Alignment
from transformer.text.markup.segment import Node, Parts

# Words on each side of a sign that say where it belongs.
_NUM_NEAR = 6


class _Placed:
    """A node with the target words [begin, end) that it holds."""

    def __init__(self, node: Node, begin: int, end: int, children: list["_Placed"]) -> None:
        self.node, self.begin, self.end, self.children = node, begin, end, children


def place_nodes(
    nodes: Sequence[Node],
    target: str,
    alignment: Alignment,
    ends: Sequence[tuple[int, int]],
    write: Callable[[str], Parts],
) -> Parts:
    """The target text with every node of the source in it once, nested as it was.

    A tag holds the run of target words that agrees best with the source words that it held: +1
    for a word linked to one of them, -1 for one linked to others only. A word without a link goes
    with its whole sentence. What holds no word stands where the words around it went.

    Args:
        nodes: in the order of the source, by its characters.
        target: the translation.
        alignment: between the words of both.
        ends: of each sentence, one past its last word in the source and in the target.
        write: makes text a part of the document.
    """
    placer = _Placer(alignment, target, ends)
    placed = placer.place(nodes, (0, len(alignment.source)), (0, len(alignment.target)))
    return _write(placed, target, alignment, write)


class _Placer:
    def __init__(self, alignment: Alignment, target: str, ends: Sequence[tuple[int, int]]) -> None:
        self._source = alignment.source
        self._is_word = [target[begin].isalnum() for begin, _ in alignment.target]
        self._to_target: dict[int, list[int]] = defaultdict(list)
        self._to_source: dict[int, list[int]] = defaultdict(list)
        for of_source, of_target in alignment.links:
            self._to_target[of_source].append(of_target)
            self._to_source[of_target].append(of_source)
        # Of each target word the sentence that it is in, by source and by target words.
        self._sentence = [
            (begins, of_ends)
            for begins, of_ends in zip([(0, 0), *ends], ends, strict=False)
            for _ in range(begins[1], of_ends[1])
        ]
        self._ends = [end for _, end in self._source]
        self._begins = [begin for begin, _ in self._source]

    def place(
        self, nodes: Sequence[Node], source: tuple[int, int], target: tuple[int, int]
    ) -> list[_Placed]:
        """Places nodes that stand beside each other in [begin, end) of source and target words."""
        placed: list[_Placed] = []
        taken: dict[int, int] = {}  # by target word, which node holds it
        later: list[tuple[int, Node]] = []
        for order, node in enumerate(nodes):
            words = self._words(node)
            run = target if words == source else self._best_run(words, target, taken)
            if words[0] >= words[1] or run is None or (words == source and taken):
                later.append((order, node))
                continue
            taken |= dict.fromkeys(range(*run), order)
            placed.append(_Placed(node, *run, self.place(node.children, words, run)))
        orders = {id(node): order for order, node in enumerate(nodes)}
        for _, node in later:
            gap = self._best_gap(node, target, taken)
            children = self.place(node.children, (0, 0), (gap, gap))
            placed.append(_Placed(node, gap, gap, children))
        # Of two that begin at one word, one is empty: it stands in front.
        placed.sort(key=lambda item: (item.begin, item.end, orders[id(item.node)]))
        return placed

    def _words(self, node: Node) -> tuple[int, int]:
        begin = bisect_right(self._ends, node.begin)
        return begin, max(begin, bisect_left(self._begins, node.end))

    def _best_run(
        self, words: tuple[int, int], target: tuple[int, int], taken: Mapping[int, int]
    ) -> tuple[int, int] | None:
        inside = range(*words)
        linked = [
            place
            for word in inside
            for place in self._to_target.get(word, ())
            if target[0] <= place < target[1] and place not in taken
        ]
        if not linked:
            return None
        # Sentences that it holds as a whole, and their words without a link.
        first, last = (self._sentence[place] for place in (min(linked), max(linked)))
        begin = first[0][1] if self._is_whole(min(linked), words) else min(linked)
        end = last[1][1] if self._is_whole(max(linked), words) else max(linked) + 1
        best, best_score, score = None, 0.0, 0.0
        for place in range(max(begin, target[0]), min(end, target[1])):
            sources = self._to_source.get(place, ())
            if place in taken:
                begin, score = place + 1, 0.0
                continue
            is_inside = any(source in inside for source in sources)
            if is_inside or (not sources and self._is_whole(place, words)):
                score += 1
            elif sources:
                score -= 1
            else:
                score -= 0.01
            if score <= 0:
                begin, score = place + 1, 0.0
            elif score > best_score:
                best, best_score = (begin, place + 1), score
        if best is None:
            return None
        return self._widen(best, words, target, taken)

    def _widen(
        self,
        run: tuple[int, int],
        words: tuple[int, int],
        target: tuple[int, int],
        taken: Mapping[int, int],
    ) -> tuple[int, int]:
        # Pronouns and articles that the source has no word for stand before what they belong to;
        # behind it is what goes on until a sign.
        def is_loose(place: int) -> bool:
            return place not in self._to_source and place not in taken

        begin, end = run
        begins, ends = self._sentence[begin][0], self._sentence[end - 1][1]
        is_next = words[0] - 1 in self._to_target or words[0] == begins[0]
        if is_next and self._is_word[begin]:
            while begin > max(target[0], begins[1]) and is_loose(begin - 1):
                begin -= 1
        wider, limit = end, min(target[1], ends[1])
        while wider < limit and is_loose(wider) and self._is_word[wider]:
            wider += 1
        is_sign = wider == limit or not self._is_word[wider]
        return begin, wider if is_sign and self._is_linked(words[1]) else end

    def _is_linked(self, word: int) -> bool:
        return word >= len(self._source) or word in self._to_target

    def _is_whole(self, place: int, words: tuple[int, int]) -> bool:
        begins, ends = self._sentence[place]
        return words[0] <= begins[0] and ends[0] <= words[1]

    def _best_gap(self, node: Node, target: tuple[int, int], taken: Mapping[int, int]) -> int:
        place = bisect_left(self._begins, node.begin)
        near = [  # side, target word, weight
            (side, to, 1 / (1 + distance))
            for side, first in ((-1, place - 1), (1, place))
            for distance in range(_NUM_NEAR)
            for to in self._to_target.get(first + side * distance, ())
        ]
        edge = target[1] if place >= len(self._source) else target[0]
        if place >= len(self._source) or place == 0 or not near:
            return max(target[0], min(edge, target[1]))
        gaps = {gap for _, to, _ in near for gap in (to, to + 1)}
        free = [gap for gap in sorted(gaps) if target[0] <= gap <= target[1]]
        free = [gap for gap in free if gap not in taken or taken[gap] != taken.get(gap - 1)]
        if not free:
            return max(target[0], min(edge, target[1]))

        def score(gap: int) -> float:
            return sum(weight if (to < gap) == (side < 0) else -weight for side, to, weight in near)

        return max(free, key=score)


def _write(
    placed: Sequence[_Placed], target: str, alignment: Alignment, write: Callable[[str], Parts]
) -> Parts:
    # Between two words stand closing tags, what is empty, opening tags; the white space between
    # the words goes behind the first and before the last.
    words = alignment.target
    before: dict[int, list[tuple[str, Node]]] = defaultdict(list)

    def walk(items: Sequence[_Placed]) -> None:
        for item in items:
            if item.begin == item.end and not item.children and not item.node.close:
                before[item.begin].append(("empty", item.node))
                continue
            before[item.begin].append(("open", item.node))
            walk(item.children)
            before[item.end].append(("close", item.node))

    walk(placed)
    parts: list[str | int] = []
    position = 0
    for index in range(len(words) + 1):
        begin, end = words[index] if index < len(words) else (len(target), len(target))
        gap = target[position:begin]
        is_word = target[begin : begin + 1].isalnum()
        parts += _join(before.get(index, []), gap, write, index, len(words), is_word)
        parts += write(target[begin:end])
        position = end
    return tuple(parts)


def _join(
    events: Sequence[tuple[str, Node]],
    gap: str,
    write: Callable[[str], Parts],
    index: int,
    num_words: int,
    is_word: bool,
) -> list[str | int]:
    parts: list[str | int] = []
    opened: set[int] = set()
    is_gap_due, is_space, is_space_due = True, False, False

    def put_gap() -> None:
        nonlocal is_gap_due, is_space, is_space_due
        if is_gap_due:
            parts.extend(write(gap))
            is_space = is_space or bool(gap)
        if is_space_due and not is_space:
            parts.extend(write(" "))
            is_space = True
        is_gap_due = is_space_due = False

    for kind, node in events:
        if kind == "close":
            if id(node) in opened and index:
                put_gap()
            parts += node.close
        elif kind == "open":
            opened.add(id(node))
            if index:
                put_gap()
            parts += node.open
        else:
            before, after = node.spaces
            if (before and index) or is_space_due:
                is_space_due = True
                put_gap()
            parts += node.open
            is_space = False
            is_space_due = after or (is_word and bool(gap) and not is_gap_due)
    is_space_due = is_space_due and index < num_words
    put_gap()
    return parts
