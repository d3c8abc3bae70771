"""Dividing a corpus into parts that share no sentence.

Pairs that share a source sentence or a target sentence, directly or through other pairs, form a
group (a connected component), which goes to one part as a whole. Sentences count as the same when
they agree after the strictest normalisation, so no setting of `clean` can bring a leak back.

A group goes to the training part when it does not fit into what room the others have left. So a
giant one, as large and repetitive corpora grow ("Thanks!" meets "Thank you!" meets ...), is trained
on, and the other parts hold what the smaller groups say.

Where the pairs of a document, or of a family of them, have to stay together too, whole families are
held out, without the pairs that share a sentence with the training part: nothing of a held-out
family is trained on.

Groups need the whole corpus in memory, 100 bytes a pair, and in a very large one nearly all pairs
hang together. There held-out pairs are drawn by the hash of their source, and training pairs that
share a sentence with one are left out.
"""

from array import array
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from transformer.text.corpus import Pair
from transformer.text.hashing import hash_sentence
from transformer.text.normalize import normalize

TRAIN = 0
# What `draw_parts` says of a pair that goes to no part.
LEFT_OUT = 255
# Beyond it grouping would take more than two gigabytes.
MAX_GROUPED_PAIRS = 20_000_000


class TooManyPairsError(Exception):
    """The corpus has more than `MAX_GROUPED_PAIRS`."""


def assign_parts(
    pairs: Iterable[Pair], sizes: Sequence[int], seed: int, names: Sequence[str]
) -> NDArray[np.uint8]:
    """Says which part each pair belongs to.

    Pairs are visited in a seeded random order; the group of each goes to the first part that has
    room for the whole of it, else to the training part. Memory: 16 bytes a pair while reading,
    about 100 while grouping; the text is not kept.

    Args:
        pairs: the corpus, read once.
        sizes: how many pairs each new part has; they are met exactly.
        seed: of the random order.
        names: of the new parts, for messages.

    Returns:
        uint8 [N]: 0 for training, i + 1 for the part of `sizes[i]`.

    Raises:
        ValueError: the corpus has too few pairs, or its groups don't add up to the sizes.
        TooManyPairsError: take `draw_parts`.
    """
    groups = group_pairs(pairs)
    num_pairs = len(groups)
    wanted = " + ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))
    if num_pairs <= sum(sizes):
        raise ValueError(
            f"{num_pairs} pairs can't give {wanted} and leave some for training; "
            "lower corpus.split's sizes or take more text"
        )
    group_sizes = np.bincount(groups)
    part_of_group = np.full(len(group_sizes), TRAIN, dtype=np.uint8)
    room = list(sizes)
    seen = np.zeros(len(group_sizes), dtype=bool)
    for pair in np.random.default_rng(seed).permutation(num_pairs):
        group = groups[pair]
        if seen[group]:
            continue
        seen[group] = True
        size = int(group_sizes[group])
        part = next((i for i, free in enumerate(room) if size <= free), None)
        if part is not None:
            room[part] -= size
            part_of_group[group] = part + 1
            if not any(room):
                break
    if any(room):
        found = ", ".join(
            f"{name} {size - free} of {size}"
            for name, size, free in zip(names, sizes, room, strict=True)
        )
        raise ValueError(
            f"the corpus can't be split without a sentence in two parts: {found} pairs were "
            f"found. Its {num_pairs} pairs form {len(group_sizes)} groups that share sentences; "
            f"the largest holds {group_sizes.max()}. Lower corpus.split's sizes, or name files of "
            "your own for these parts"
        )
    parts: NDArray[np.uint8] = part_of_group[groups]
    if not (parts == TRAIN).any():
        raise ValueError(
            f"{wanted} take all {num_pairs} pairs and leave none for training; "
            "lower corpus.split's sizes"
        )
    return parts


def assign_by_origin(
    pairs: Iterable[Pair],
    families: NDArray[np.int64],
    sizes: Sequence[int],
    seed: int,
    names: Sequence[str],
) -> NDArray[np.uint8]:
    """Says which part each pair belongs to, so that no family is in two.

    Families are visited in a seeded random order; one that is larger than the parts that have room
    goes to the training part. Of each group of pairs that share sentences, and are of that family
    alone, the first is held out; what else the family has is left out.

    Args:
        pairs: the corpus, read once.
        families: int64 [N], the number of each pair's family, from 0.
        sizes: how many pairs each new part has; they are met exactly.
        seed: of the random order.
        names: of the new parts, for messages.

    Returns:
        uint8 [N]: 0 for training, i + 1 for the part of `sizes[i]`, or `LEFT_OUT`.

    Raises:
        ValueError: the corpus has too few pairs or families, or more than `MAX_GROUPED_PAIRS`.
    """
    try:
        groups = group_pairs(pairs)
    except TooManyPairsError:
        raise ValueError(
            f"corpus.split.origin_pattern goes with {MAX_GROUPED_PAIRS:,} pairs at most; set it to "
            "null, or name files of your own for valid and test"
        ) from None
    parts = np.full(len(groups), TRAIN, dtype=np.uint8)
    family_sizes = np.bincount(families)
    # The first pair of each group, where its family is that of the whole group.
    _, first = np.unique(groups, return_index=True)
    is_whole = np.ones(len(first), dtype=bool)
    is_whole[groups[families != families[first][groups]]] = False
    eligible = first[is_whole]
    eligible = eligible[np.argsort(families[eligible], kind="stable")]
    begins = np.searchsorted(families[eligible], np.arange(len(family_sizes) + 1))
    room = list(sizes)
    for family in np.random.default_rng(seed).permutation(len(family_sizes)):
        rows = eligible[begins[family] : begins[family + 1]]
        part = next(
            (i for i, free in enumerate(room) if free and family_sizes[family] <= sizes[i]), None
        )
        if part is not None and len(rows):
            parts[families == family] = LEFT_OUT
            parts[rows[: room[part]]] = part + 1
            room[part] -= min(len(rows), room[part])
    if any(room) or not (parts == TRAIN).any():
        found = ", ".join(
            f"{name} {size - free} of {size}"
            for name, size, free in zip(names, sizes, room, strict=True)
        )
        raise ValueError(
            f"the corpus can't be split by corpus.split.origin_pattern: {found} pairs were found. "
            f"It has {len(family_sizes)} families of at most {family_sizes.max()} pairs, which are "
            "held out only if they are smaller than the part; change its sizes, or the pattern"
        )
    return parts


def draw_parts(
    read: Callable[[], Iterable[Pair]], sizes: Sequence[int], seed: int, names: Sequence[str]
) -> Iterator[int]:
    """Says which part each pair belongs to, in memory that doesn't grow with the corpus.

    Of the distinct sources, those with the least seeded hashes are drawn, each with the target of
    its first pair, as long as no other drawn pair has that target: no matter how often a sentence
    stands in the corpus, nor in which order.

    Args:
        read: reads the corpus, here twice.
        sizes: how many pairs each new part has; they are met exactly.
        seed: of the draw.
        names: of the new parts, for messages.

    Yields:
        For each pair 0 for training, i + 1 for the part of `sizes[i]`, `LEFT_OUT` where it shares
        a sentence with a pair of these parts.

    Raises:
        ValueError: the corpus has too few pairs.
    """
    total = sum(sizes)
    # Some share their target with one before them.
    room = 2 * total
    drawn: list[tuple[int, int, int, int]] = []  # rank, source, target, row; by rank
    ranks: set[int] = set()
    for row, pair in enumerate(read()):
        source, target = (hash_sentence(_strictest(side)) for side in pair)
        rank = hash_sentence(f"{seed} {source}")
        if rank not in ranks and (len(drawn) < room or rank < drawn[-1][0]):
            ranks.add(rank)
            insort(drawn, (rank, source, target, row))
            if len(drawn) > room:
                ranks.remove(drawn.pop()[0])
    sources, targets = set[int](), set[int]()
    part_of_row: dict[int, int] = {}
    parts = [part + 1 for part, size in enumerate(sizes) for _ in range(size)]
    for _, source, target, row in drawn:
        if target not in targets and len(part_of_row) < total:
            part_of_row[row] = parts[len(part_of_row)]
            sources.add(source)
            targets.add(target)
    if len(part_of_row) < total:
        wanted = " + ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))
        raise ValueError(
            f"the corpus can't give {wanted}: {len(part_of_row)} pairs were found that share no "
            "sentence; lower corpus.split's sizes"
        )
    for row, pair in enumerate(read()):
        if row in part_of_row:
            yield part_of_row[row]
        else:
            source, target = (hash_sentence(_strictest(side)) for side in pair)
            yield LEFT_OUT if source in sources or target in targets else TRAIN


def group_pairs(pairs: Iterable[Pair]) -> NDArray[np.int64]:
    """The number of each pair's group: int64 [N], from 0, in the order of first appearance.

    Raises:
        TooManyPairsError: there are more than `MAX_GROUPED_PAIRS`.
    """
    hashes = array("Q"), array("Q")
    for pair in pairs:
        if len(hashes[0]) == MAX_GROUPED_PAIRS:
            raise TooManyPairsError
        for side, sentence in zip(hashes, pair, strict=True):
            side.append(hash_sentence(_strictest(sentence)))
    source, target = (_number(side) for side in hashes)
    if not len(source):
        return source
    labels = _components(source, target + source.max() + 1)
    _, first, inverse = np.unique(labels[source], return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    grouped: NDArray[np.int64] = order[inverse]
    return grouped


def _strictest(sentence: str) -> str:
    # Text that is nothing but punctuation would all be the same; it is told apart as it stands.
    bare = normalize(sentence, lowercase=True, strip_punctuation=True, fold_typography=True)
    return bare or normalize(
        sentence, lowercase=False, strip_punctuation=False, fold_typography=True
    )


def _number(hashes: "array[int]") -> NDArray[np.int64]:
    # Sentences as numbers 0..n-1: int64 [N].
    inverse = np.unique(np.frombuffer(hashes, dtype=np.uint64), return_inverse=True)[1]
    return inverse.astype(np.int64)


def _components(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    # Nodes are sentences, edges are pairs: [E] each. Returns [nodes], the least node of each
    # node's component: union-find for all edges at once. Hook roots to lesser neighbours, then
    # shorten every path to its root, until nothing changes.
    root = np.arange(int(target.max()) + 1)
    while True:
        a, b = root[source], root[target]
        least = np.minimum(a, b)
        if np.array_equal(a, b):
            return root
        np.minimum.at(root, a, least)
        np.minimum.at(root, b, least)
        while not np.array_equal(shorter := root[root], root):
            root = shorter
