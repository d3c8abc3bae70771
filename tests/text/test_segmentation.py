import json
import math
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from transformer.text.segmentation import bpe_dropout, unigram_sampling
from transformer.text.vocab_config import BpeSpec, UnigramSpec, WordSpec
from transformer.text.vocabulary import fit_tokenizer

TEXTS = [f"{a} {b} où l'été, déjà 日本 {a}{b}" for a in ("voir", "savoir") for b in ("lu", "relu")]


@pytest.fixture(scope="module")
def bpe():
    spec = BpeSpec(kind="bpe", size=400, min_frequency=1, mark_case=True)
    return fit_tokenizer(spec, TEXTS * 5)


@pytest.fixture(scope="module")
def unigram():
    draw, syllables = Random(1), ("re", "lu", "sa", "voir", "dis", "er")
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(300)]
    return fit_tokenizer(
        UnigramSpec(kind="unigram", size=300, mark_case=False), [*TEXTS, " ".join(words)]
    )


def words_of(tokenizer):
    """Each word of the texts, in the vocabulary's characters, with its usual pieces."""
    for text in TEXTS:
        ids = tokenizer.encode(text)
        tokens = [tokenizer.token(id) for id in ids]
        starts = [place for place, token in enumerate(tokens) if token.startswith("Ġ")]
        for begin, end in pairwise([*starts, len(ids)]):
            yield "".join(tokens[begin:end]), ids[begin:end]


def test_without_dropout_the_pieces_are_the_usual_ones(bpe):
    segment = bpe_dropout(bpe, 0.0)
    for word, usual in words_of(bpe):
        assert segment(word, Random(0)) == usual


def test_dropout_gives_other_pieces_of_the_same_word(bpe):
    segment = bpe_dropout(bpe, 0.5)
    for word, usual in words_of(bpe):
        drawn = {tuple(segment(word, Random(seed))) for seed in range(20)}
        assert all(bpe.decode(ids) == bpe.decode(usual) for ids in drawn)
        assert len(drawn) > 1 or len(usual) == len(word)
        assert segment(word, Random(3)) == segment(word, Random(3))


def test_what_is_dropped_is_a_merge_of_characters_never_of_their_bytes(bpe):
    segment = bpe_dropout(bpe, 0.999)
    [word] = {word for word, _ in words_of(bpe) if "tÃ©" in word}
    assert bpe.pieces(segment(word, Random(0))) == ["▁", "l", "'", "é", "t", "é", ","]


def test_unigram_pieces_come_as_often_as_their_probabilities_say(unigram):
    alpha, number = 0.5, 4000
    segment = unigram_sampling(unigram, alpha)
    scores = dict(unigram_scores(unigram))

    def all_of(word):
        if not word:
            yield ()
        for end in range(1, len(word) + 1):
            if word[:end] in scores:
                yield from ((word[:end], *rest) for rest in all_of(word[end:]))

    ways = list(all_of("Ġrevoir"))
    weights = [math.exp(alpha * sum(scores[piece] for piece in way)) for way in ways]
    draw = Random(1)
    seen = Counter(
        tuple(unigram.token(id) for id in segment("Ġrevoir", draw)) for _ in range(number)
    )
    assert len(ways) > 3
    for way, weight in zip(ways, weights, strict=True):
        share = weight / sum(weights)
        assert abs(seen[way] / number - share) < 5 * math.sqrt(share * (1 - share) / number) + 1e-9


def unigram_scores(tokenizer):
    return json.loads(tokenizer.json)["model"]["vocab"]


def test_a_large_exponent_takes_the_usual_pieces(unigram):
    segment = unigram_sampling(unigram, 100.0)
    for word, usual in words_of(unigram):
        assert segment(word, Random(0)) == usual


def test_a_vocabulary_of_another_kind_is_refused(bpe, unigram):
    with pytest.raises(ValueError, match="'unigram_sampling' needs a vocabulary of the kind Uni"):
        unigram_sampling(bpe, 0.1)
    with pytest.raises(ValueError, match="this one is of the kind Unigram; set train"):
        bpe_dropout(unigram, 0.1)
    words = WordSpec(kind="word", boundary="space", size=50, min_frequency=1)
    with pytest.raises(ValueError, match="of the kind WordLevel"):
        bpe_dropout(fit_tokenizer(words, TEXTS), 0.1)
