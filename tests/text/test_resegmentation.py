from dataclasses import replace

import numpy as np
import pytest

from tests.training.conftest import dataset
from transformer.text.ids import Ids, IdsMeta
from transformer.text.resegmentation import Resegmentation
from transformer.text.segmentation_config import BpeDropout
from transformer.text.tokenizer import TokenizerPair
from transformer.text.vocab_config import BpeSpec
from transformer.text.vocabulary import fit_tokenizer

DROPOUT = BpeDropout(kind="bpe_dropout", probability=0.4)
WORDS = ("bon", "bonjour", "jour", "été", "ajourner", "日本", "Bon", "le", "relire")


@pytest.fixture(scope="module")
def tokenizer():
    spec = BpeSpec(kind="bpe", size=320, min_frequency=1, mark_case=True)
    return fit_tokenizer(spec, [" ".join(WORDS)] * 3)


@pytest.fixture
def ids(tokenizer):
    generator = np.random.default_rng(1)
    texts = [" ".join(generator.choice(WORDS, n)) for n in generator.integers(1, 8, 120)]
    sentences = [[*tokenizer.encode(text), tokenizer.eos_id] for text in texts]
    longest = max(map(len, sentences))
    pair = TokenizerPair(tokenizer, tokenizer)
    special = tokenizer.special
    meta = IdsMeta(
        tokenizer.size, tokenizer.size, special, special, True, "<u2", longest, pair.sha256, {}, {}
    )
    return Ids(dataset(sentences, sentences), dataset(sentences[:9], sentences[:9]), meta)


@pytest.fixture
def resegment(ids, tokenizer):
    return Resegmentation(DROPOUT, ids, TokenizerPair(tokenizer, tokenizer), seed=1)


def sentences(pairs):
    return [[list(side(i)) for side in (pairs.source, pairs.target)] for i in range(len(pairs))]


def test_every_epoch_has_the_same_text_in_other_pieces(ids, resegment, tokenizer):
    usual, first, second = ids.train, resegment(0), resegment(1)
    assert len(first) == len(usual)
    assert sentences(first) != sentences(second) != sentences(usual)
    for before, *epochs in zip(*map(sentences, (usual, first, second)), strict=True):
        for after in epochs:
            assert [tokenizer.decode(one) for one in after] == [
                tokenizer.decode(one) for one in before
            ]
            assert all(one[-1] == tokenizer.eos_id for one in after)


def test_an_epoch_follows_from_its_number_and_the_seed(ids, resegment, tokenizer):
    pair = TokenizerPair(tokenizer, tokenizer)
    again = Resegmentation(DROPOUT, ids, pair, seed=1)
    other = Resegmentation(DROPOUT, ids, pair, seed=2)
    assert sentences(again(3)) == sentences(resegment(3)) != sentences(other(3))


def test_no_sentence_grows_beyond_the_longest(ids, tokenizer):
    always = DROPOUT.model_copy(update={"probability": 0.99})
    pairs = Resegmentation(always, ids, TokenizerPair(tokenizer, tokenizer), seed=1)(0)
    limit = ids.meta.max_tokens
    assert max(pairs.source_lengths.max(), pairs.target_lengths.max()) <= limit
    usual, drawn = sentences(ids.train), sentences(pairs)
    kept = [before == after for before, after in zip(usual, drawn, strict=True)]
    assert 0 < sum(kept) < len(kept)


def test_ids_of_another_tokenizer_are_refused(ids, tokenizer):
    other = replace(ids, meta=replace(ids.meta, tokenizer_sha256="other"))
    with pytest.raises(ValueError, match="models/tokenizer did not make data/ids"):
        Resegmentation(DROPOUT, other, TokenizerPair(tokenizer, tokenizer), seed=1)
