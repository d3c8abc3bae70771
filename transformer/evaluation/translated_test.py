"""A test set, translated."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.evaluation.attention_maps import cross_attention
from transformer.model.transformer import Transformer
from transformer.search.corpus import decode_corpus
from transformer.search.options import SearchOptions
from transformer.text.heldout import Heldout, encode_sources
from transformer.text.tokenizer import TokenizerPair

# Sentences whose attention can be read in a picture, in source tokens without end token.
PICTURED_LENGTHS = range(3, 26)


@dataclass(frozen=True)
class TranslatedTest:
    """A test set with its translations; all sequences are aligned."""

    texts: Heldout
    # With end token; none for an empty sentence.
    source_ids: Sequence[Sequence[int]]
    # By the search that was asked for: with end token, unless it was cut; the texts; their
    # normalised log-probabilities.
    translation_ids: Sequence[Sequence[int]]
    translations: Sequence[str]
    scores: Sequence[float]
    # Sources that were too long for the model, and lost their end.
    num_truncated_sources: int
    # Translations that reached the longest length allowed before an end token.
    num_cut_translations: int

    @property
    def source_lengths(self) -> list[int]:
        """In tokens, without end token."""
        return [max(len(ids) - 1, 0) for ids in self.source_ids]


@dataclass(frozen=True)
class AttentionMap:
    """Attention while one sentence was translated."""

    # The sentence's row in the test set, from 0.
    row: int
    source_tokens: Sequence[str]
    target_tokens: Sequence[str]
    # A row per target token, a column per source token.
    weights: Sequence[Sequence[float]]


def translate_test(
    model: Transformer,
    tokenizers: TokenizerPair,
    test: Heldout,
    options: SearchOptions,
    batch_tokens: int,
) -> TranslatedTest:
    """Translates a test set.

    Args:
        model: in evaluation mode, on the device that is to translate.
        tokenizers: the model's.
        test: what is translated.
        options: of the search.
        batch_tokens: source positions in a batch, padding included.
    """
    target = tokenizers.target
    ids, num_truncated = encode_sources(tokenizers.source, test.sources, options.max_positions)
    decoded = decode_corpus(
        model,
        ids,
        options,
        batch_tokens=batch_tokens,
        source_pad=tokenizers.source.pad_id,
        special=target.special,
    )
    found = [best for (best,) in decoded]
    return TranslatedTest(
        texts=test,
        source_ids=ids,
        translation_ids=[best.ids for best in found],
        translations=[target.decode(best.ids) for best in found],
        scores=[best.score for best in found],
        num_truncated_sources=num_truncated,
        num_cut_translations=sum(
            bool(source) and best.ids[-1:] != [target.eos_id]
            for source, best in zip(ids, found, strict=True)
        ),
    )


def map_attention(
    model: Transformer, tokenizers: TokenizerPair, test: TranslatedTest, num_maps: int
) -> list[AttentionMap]:
    """What the last decoder layer looks at in the first sentences that a picture can show.

    Args:
        model: that translated them.
        tokenizers: the model's.
        test: the translations.
        num_maps: how many sentences, at most.
    """
    readable = [row for row, n in enumerate(test.source_lengths) if n in PICTURED_LENGTHS]
    maps = []
    for row in readable[:num_maps]:
        source, target = test.source_ids[row], test.translation_ids[row]
        weights = cross_attention(model, source, [tokenizers.target.bos_id, *target[:-1]])
        pieces = tokenizers.source.pieces(source), tokenizers.target.pieces(target)
        maps.append(AttentionMap(row, *pieces, weights[-1].tolist()))
    return maps
