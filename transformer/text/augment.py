"""Seeded noise on training sources: the forms in which people type."""

import struct
from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random

from transformer.text.clean_config import AugmentConfig
from transformer.text.corpus import Pair
from transformer.text.filters import Filter, judge
from transformer.text.noise import KINDS, add_noise
from transformer.text.normalize import normalize

# A number for each kind, and one more for the typo.
_DRAWS = struct.Struct(f"<{len(KINDS) + 1}Q")


class Augmenter:
    """Gives sources of training pairs noise, each kind of it by its share.

    The kinds are drawn independently of each other, by seed, line and sentence alone: neither
    order nor sharding of the pairs matters. Where several are drawn, one works on what the other
    left, so that of two cases the later one wins.

    Noise is put on the source as it came, whose capitals tell names, and normalised after that, so
    that training text holds nothing that normalisation takes from what is translated later. What
    makes no difference then, such as upper case where the source is lower-cased, is not counted.

    Filters judge what became of a pair, too. Where one objects, the pair stays clean: no noise
    makes an empty source, a copy of the target or, where `drop_leaks` holds, a source that stands
    in the validation or test part. Duplicates are judged on the clean text alone, so that noise
    does not decide which pairs are kept: a noisy source may equal another training source, as
    "ou" for "où" does when people type. The target is never touched.

    Args:
        config: the share of each kind.
        seed: of the draws.
        normalize_source: what is done to sources in the end.
        filters: those that hold for a single pair whatever came before it.
    """

    def __init__(
        self,
        config: AugmentConfig,
        seed: int,
        normalize_source: Callable[[str], str],
        filters: Sequence[Filter],
    ) -> None:
        self._seed = seed
        # A draw is a whole number below 2^64.
        self._limits = [int(getattr(config, kind) * 2**64) for kind in KINDS]
        self._normalize_source = normalize_source
        self._filters = filters

    def __call__(self, line: int, sentence: int, source: str, pair: Pair) -> tuple[Pair, int]:
        """One pair, with its noise if it has drawn any, and which kinds changed it.

        Args:
            line: of the raw training part.
            sentence: which of that line's, where it was cut into several.
            source: as it came.
            pair: the normalised pair, which the filters keep.

        Returns:
            The pair, and a number whose bit i stands for `KINDS[i]`; 0 where it is unchanged.
        """
        key = f"{self._seed} {line} {sentence}".encode()
        *draws, more = _DRAWS.unpack(blake2b(key, digest_size=_DRAWS.size).digest())
        drawn = [
            kind
            for kind, draw, limit in zip(KINDS, draws, self._limits, strict=True)
            if draw < limit
        ]
        if not drawn:
            return pair, 0
        text = normalize(source, lowercase=False, strip_punctuation=False, fold_typography=False)
        steps = [pair[0]]
        for kind in drawn:
            text = add_noise(kind, text, Random(more))
            steps.append(self._normalize_source(text))
        noisy = steps[-1], pair[1]
        if noisy == pair or judge(noisy, self._filters) is not None:
            return pair, 0
        changes = zip(drawn, steps, steps[1:], strict=False)
        return noisy, sum(1 << KINDS.index(k) for k, before, after in changes if before != after)
