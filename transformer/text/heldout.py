"""The test part, as it is translated, beside the references that it is scored against."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.text.corpus import part_path, read_pairs
from transformer.text.normalize import normalize
from transformer.text.tokenizer import Tokenizer

# Of the sample that stands for the test part: the same for every model.
SAMPLE_SEED = 1


@dataclass(frozen=True)
class Heldout:
    """Aligned lists, one entry for each test pair."""

    raw_sources: list[str]
    sources: list[str]  # normalised, as the model saw its training text
    references: list[str]  # raw
    # Normalised like the training text; None where that changes no more than odd spaces and
    # invisible characters, which are put right for everyone and so make no second score.
    normalized_references: list[str] | None
    # How many pairs the test part has, where these are a sample of them; None: these are all.
    sampled_from: int | None = None


def read_heldout(raw: Path, clean: Path, num_sentences: int | None = None) -> Heldout:
    """Reads the test part from the folders of the stages `download` and `clean`.

    Args:
        raw: what `download` wrote.
        clean: what `clean` wrote.
        num_sentences: at most so many of them, drawn by `SAMPLE_SEED`, in their order; None: all.

    Raises:
        ValueError: the two don't match row by row.
    """
    raw_path, clean_path = part_path(raw, "test"), part_path(clean, "test")
    as_came, pairs = list(read_pairs(raw_path)), list(read_pairs(clean_path))
    if len(pairs) != len(as_came):
        raise ValueError(
            f"{clean_path} has {len(pairs)} pairs, but {raw_path} has {len(as_came)}; "
            "they must match row by row: run the stage `clean` again"
        )
    rows, sampled_from = draw_rows(len(pairs), num_sentences)
    pairs = [pairs[row] for row in rows]
    references = [as_came[row][1] for row in rows]
    normalized = [target for _, target in pairs]
    plain = [
        normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
        for text in references
    ]
    return Heldout(
        [as_came[row][0] for row in rows],
        [source for source, _ in pairs],
        references,
        normalized if normalized != plain else None,
        sampled_from,
    )


def draw_rows(num_pairs: int, num_sentences: int | None) -> tuple[Sequence[int], int | None]:
    """The rows of a sample, in their order, and how many pairs it is of; all, and None, if it is.

    Args:
        num_pairs: that there are.
        num_sentences: as in `read_heldout`.
    """
    if num_sentences is None or num_sentences >= num_pairs:
        return range(num_pairs), None
    return sorted(random.Random(SAMPLE_SEED).sample(range(num_pairs), num_sentences)), num_pairs


def describe_size(num_sentences: int, sampled_from: int | None) -> str:
    """Such as `1000 sentences`, or `200 of 1000 sentences`."""
    return f"{num_sentences}{'' if sampled_from is None else f' of {sampled_from}'} sentences"


def mark_sample(figures: Mapping[str, float], sampled_from: int | None) -> dict[str, float]:
    """Figures under names of their own where they are a sample's: `quick_bleu`.

    So no table ranks them beside those of a whole test part.
    """
    return dict(figures) if sampled_from is None else {f"quick_{k}": v for k, v in figures.items()}


def encode_sources(
    tokenizer: Tokenizer, sources: Sequence[str], max_tokens: int
) -> tuple[list[list[int]], int]:
    """Ids with end token, at most `max_tokens` each, and how many sentences lost their end to that.

    An empty source has no ids: it is not translated, just as in serving.
    """
    encoded = tokenizer.encode_batch(sources)
    ids = [[*one[: max_tokens - 1], tokenizer.eos_id] if one else [] for one in encoded]
    return ids, sum(len(one) >= max_tokens for one in encoded)
