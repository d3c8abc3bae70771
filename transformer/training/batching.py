"""Batches of pairs of similar length, cut by a budget of tokens.

Shapes: B sentences of a batch, S source length, T target length, N real target tokens.
Lengths count end tokens. A slot is one position of a padded batch, real or not.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.text.pairs import Integers, PairDataset, SomeLengths, blocks


class Batch(NamedTuple):
    """Padded id matrices, ready for the model."""

    source: Tensor  # int64 [B, S]
    source_mask: Tensor | None  # bool [B, S], True at real tokens; None: all are real
    target: Tensor  # int64 [B, T], shifted right: starts with the start token
    labels: Tensor  # int64 [N], the real target tokens, row by row
    # int64 [N], where each label is asked for: in the decoder's [B * T], or the encoder's [B * S]
    label_positions: Tensor

    def to(self, device: torch.device) -> "Batch":
        """The batch on `device`; from pinned memory, without waiting, if that is a GPU."""
        if device.type == "cpu":
            return self
        return self.pinned()._map(lambda x: x.to(device, non_blocking=True))

    def pinned(self) -> "Batch":
        """The batch in memory that a GPU copies from by itself."""
        return self._map(lambda x: x if x.is_pinned() else x.pin_memory())

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        return Batch(*(None if x is None else change(x) for x in self))  # type: ignore[arg-type]


class BatchPlan:
    """Which sentences make up which batch, in every epoch.

    Sentences are sorted by source length, within it by target length (rising and falling in
    turn, so that neighbours stay alike), and cut wherever the next one would break the budget. A
    batch that is at least half full also ends where the source length changes: within one length
    no source padding, hence no mask, is needed. Each epoch shuffles, from (seed, epoch) alone,
    which of the sentences of equal lengths goes where, and the order of batches. The cuts depend
    on lengths alone, so every epoch has the same number of batches and of slots.

    A hundred million sentences take 2 to 4 bytes each here, 4 more in each epoch, and 4 more while
    an epoch is drawn: they are sorted by counting, in blocks.
    """

    def __init__(
        self, source_lengths: SomeLengths, target_lengths: SomeLengths, batch_tokens: int, seed: int
    ) -> None:
        """Plans batches with sentences x max(S, T) <= `batch_tokens`; a longer pair gets its own.

        Args:
            source_lengths: int64 [number of pairs].
            target_lengths: likewise.
            batch_tokens: slots on the longer side, at most.
            seed: of the shuffles.
        """
        self._seed = seed
        self.batch_tokens = batch_tokens
        # A cell is what sentences of equal lengths make up, numbered in the order of the sort.
        self._cells, self._lengths, counts = _number_cells(source_lengths, target_lengths)
        self._starts = np.cumsum(counts) - counts
        self._bounds = _cut(self._lengths, self._starts, len(self._cells), batch_tokens)

    @property
    def num_batches(self) -> int:
        """Batches an epoch."""
        return len(self._bounds) - 1

    def epoch(self, epoch: int) -> "EpochBatches":
        """The batches of one epoch, counted from 0, in their order; any can be asked for."""
        generator = np.random.default_rng([self._seed, epoch])
        sentences = self._sort(shuffle(len(self._cells), generator))
        return EpochBatches(sentences, self._bounds, generator.permutation(self.num_batches))

    def in_order(self) -> "EpochBatches":
        """All batches, not shuffled: for validation."""
        sentences = self._sort(_count(len(self._cells)))
        return EpochBatches(sentences, self._bounds, np.arange(self.num_batches))

    def padding_share(self) -> float:
        """The share of slots, source and target together, that hold no real token."""
        begins, ends = self._bounds[:-1], self._bounds[1:]
        first = np.searchsorted(self._starts, begins, side="right") - 1
        last = np.searchsorted(self._starts, ends, side="left") - 1
        runs = np.stack([first, last + 1], axis=1).ravel()  # of each batch, then up to the next
        counts = np.diff(np.append(self._starts, len(self._cells)))
        slots = tokens = 0
        for lengths in self._lengths:
            longest = np.maximum.reduceat(np.append(lengths, 0), runs)[::2]
            slots += int((longest * (ends - begins)).sum())
            tokens += int((lengths * counts).sum())
        return 1 - tokens / slots

    def _sort(self, sentences: NDArray[Any]) -> NDArray[Any]:
        # By cell, and within one as they came.
        found, ends = np.empty_like(sentences), self._starts.copy()
        for rows in blocks(len(sentences)):
            cells = self._cells[sentences[rows]]
            order = np.argsort(cells, kind="stable")
            counts = np.bincount(cells, minlength=len(ends))
            # Where a cell's next sentence goes, and how many of the block's stand before it there.
            shifts = ends - (np.cumsum(counts) - counts)
            found[shifts[cells[order]] + np.arange(len(order))] = sentences[rows][order]
            ends += counts
        return found


class EpochBatches:
    """A sequence of batches, each given as the indices of its sentences, int64 [B]."""

    def __init__(self, sentences: NDArray[Any], bounds: Integers, order: Integers) -> None:
        self._sentences, self._bounds, self._order = sentences, bounds, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: int) -> Integers:
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        batch = self._order[index]
        return self._sentences[self._bounds[batch] : self._bounds[batch + 1]].astype(np.int64)

    def __iter__(self) -> Iterator[Integers]:
        return (self[index] for index in range(len(self)))


def shuffle(length: int, generator: np.random.Generator) -> NDArray[Any]:
    """What `generator.permutation(length)` gives, in as few bytes as hold it."""
    numbers = _count(length)
    generator.shuffle(numbers)
    return numbers


def split_batch(indices: Integers, num_parts: int) -> list[Integers]:
    """Cuts a batch into at most `num_parts` runs of about the same number of sentences."""
    return [part for part in np.array_split(indices, num_parts) if len(part)]


def make_batch(
    pairs: PairDataset, indices: Integers, source_pad_id: int, target_pad_id: int, bos_id: int
) -> Batch:
    """Gathers sentences into padded matrices, on the CPU.

    Args:
        pairs: where the ids lie.
        indices: of the sentences, int64 [B].
        source_pad_id: fills up the source.
        target_pad_id: fills up the target.
        bos_id: the target's start token.
    """
    source, source_is_real, _ = _gather(
        pairs.source_ids, pairs.source_offsets, indices, source_pad_id
    )
    target, target_is_real, chosen = _gather(
        pairs.target_ids, pairs.target_offsets, indices, target_pad_id
    )
    shifted = np.empty_like(target)
    shifted[:, 0] = bos_id
    shifted[:, 1:] = target[:, :-1]
    positions = np.flatnonzero(target_is_real)
    if pairs.label_positions is not None:
        rows = positions // target.shape[1]
        positions = rows * source.shape[1] + pairs.label_positions[chosen]
    return Batch(
        source=torch.from_numpy(source),
        source_mask=None if source_is_real.all() else torch.from_numpy(source_is_real),
        target=torch.from_numpy(shifted),
        labels=torch.from_numpy(target[target_is_real]),
        label_positions=torch.from_numpy(positions),
    )


def _gather(
    ids: NDArray[Any], offsets: NDArray[Any], indices: Integers, pad_id: int
) -> tuple[Integers, NDArray[np.bool_], Integers]:
    """Padded sentences [B, L], where they are real [B, L], and the places in `ids` of what is."""
    starts, ends = np.asarray(offsets[indices]), np.asarray(offsets[indices + 1])
    lengths = ends - starts
    columns = np.arange(lengths.max())
    is_real = columns < lengths[:, None]  # [B, L]
    chosen = (starts[:, None] + columns)[is_real]
    padded = np.full(is_real.shape, pad_id, dtype=np.int64)
    padded[is_real] = ids[chosen]
    return padded, is_real, chosen


def _count(length: int) -> NDArray[Any]:
    return np.arange(length, dtype=np.uint32 if length <= 1 << 32 else np.int64)


def _number_cells(
    source_lengths: SomeLengths, target_lengths: SomeLengths
) -> tuple[NDArray[Any], tuple[Integers, Integers], Integers]:
    """Of each sentence its cell; of each cell the lengths on both sides, and how many it has."""
    width = 2 * int(target_lengths.max()) + 1

    def keys(rows: slice) -> Integers:
        source, target = source_lengths[rows], target_lengths[rows]
        return source * width + np.where(source % 2 == 0, target, -target)

    runs = list(blocks(len(source_lengths)))
    distinct = np.unique(np.concatenate([np.unique(keys(rows)) for rows in runs]))
    cells = np.empty(len(source_lengths), dtype=np.min_scalar_type(len(distinct)))
    counts = np.zeros(len(distinct), dtype=np.int64)
    for rows in runs:
        cells[rows] = np.searchsorted(distinct, keys(rows))
        counts += np.bincount(cells[rows], minlength=len(distinct))
    sources = (distinct + width // 2) // width
    return cells, (sources, np.abs(distinct - sources * width)), counts


def _cut(
    lengths: tuple[Integers, Integers], starts: Integers, num_sentences: int, batch_tokens: int
) -> Integers:
    """Where batches of sorted sentences begin, and the end: int64 [number of batches + 1].

    Sentences of equal lengths are taken in one stride, so this is fast for large corpora too.
    """
    bounds = [0]
    longest = source = 0
    ends = [*starts[1:].tolist(), num_sentences]
    for start, end, *both in zip(
        starts.tolist(), ends, *(x.tolist() for x in lengths), strict=True
    ):
        previous, source = source, both[0]
        length = max(both)
        size = start - bounds[-1]
        if size and source != previous and 2 * size * longest >= batch_tokens:
            bounds.append(start)
            longest = 0
        longest = max(longest, length)
        if (start + 1 - bounds[-1]) * longest > batch_tokens and start > bounds[-1]:
            bounds.append(start)
            longest = length
        room = max(1, batch_tokens // longest)
        while end - bounds[-1] > room:
            bounds.append(bounds[-1] + room)
            longest = length
            room = max(1, batch_tokens // longest)
    if bounds[-1] < num_sentences:
        bounds.append(num_sentences)
    return np.array(bounds, dtype=np.int64)
