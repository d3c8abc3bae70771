"""Batches of so many sentences, drawn at random whatever their lengths."""

import numpy as np

from transformer.text.pairs import SomeLengths
from transformer.training.batching import BatchPlan, EpochBatches, shuffle
from transformer.training.config import TrainConfig


class SentencePlan:
    """Which sentences make up which batch, in every epoch: runs of a random order.

    As tutorials draw them. Long sentences meet short ones, so that more of a batch is padding
    than in a `BatchPlan`; every batch is as good a sample of the text as another.
    """

    def __init__(
        self,
        source_lengths: SomeLengths,
        target_lengths: SomeLengths,
        num_sentences: int,
        seed: int,
    ) -> None:
        """Plans batches of `num_sentences`; the last one of an epoch holds what is left.

        Args:
            source_lengths: int64 [number of pairs].
            target_lengths: likewise.
            num_sentences: in a batch.
            seed: of the shuffles.
        """
        self._lengths = source_lengths, target_lengths
        self._seed = seed
        num_pairs = len(source_lengths)
        self._bounds = np.append(np.arange(0, num_pairs, num_sentences), num_pairs)
        longest = max(int(lengths.max()) for lengths in self._lengths)
        # Slots on the longer side of the largest batch that might be drawn.
        self.batch_tokens = num_sentences * longest

    @property
    def num_batches(self) -> int:
        """Batches an epoch."""
        return len(self._bounds) - 1

    def epoch(self, epoch: int) -> EpochBatches:
        """The batches of one epoch, counted from 0, in their order; any can be asked for."""
        generator = np.random.default_rng([self._seed, epoch])
        sentences = shuffle(len(self._lengths[0]), generator)
        return EpochBatches(sentences, self._bounds, np.arange(self.num_batches))

    def padding_share(self) -> float:
        """The share of slots of the first epoch that hold no real token; others differ a little."""
        batches = list(self.epoch(0))
        slots = sum(
            len(batch) * int(lengths[batch].max()) for lengths in self._lengths for batch in batches
        )
        return 1 - int(sum(lengths.sum() for lengths in self._lengths)) / slots


Plan = BatchPlan | SentencePlan


def make_plan(
    config: TrainConfig, source_lengths: SomeLengths, target_lengths: SomeLengths
) -> Plan:
    """The plan of the optimizer steps: by tokens or by sentences, as the config asks."""
    lengths, num_parts = (source_lengths, target_lengths), config.gradient_accumulation
    if config.batch_sentences is not None:
        return SentencePlan(*lengths, config.batch_sentences * num_parts, config.seed)
    assert config.batch_tokens is not None, "the config holds one of the two"
    return BatchPlan(*lengths, config.batch_tokens * num_parts, config.seed)
