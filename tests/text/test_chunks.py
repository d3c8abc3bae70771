"""Texts by their chunks: the pieces and ids of whole texts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.plain import fit_plainly
from tests.text.test_vocabulary import SPECS, TEXTS, TRICKY
from transformer.text import chunks
from transformer.text.chunks import ChunkEncoder
from transformer.text.normalize import normalize
from transformer.text.tokenizer import Tokenizer
from transformer.text.vocabulary import fit_tokenizer

MORE = [*TEXTS, "", "我们好, Tom!", "NASA d'Ada... Où ça ? 'L'été'", "a", "\u0301b ЯЩ ς"]
# As normalisation leaves them: spaces and capitals often, signs that the expressions look for.
TEXT = st.text(st.sampled_from(" " * 9 + TRICKY + "ABÀdl'n,我ς")).map(
    lambda text: normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Tokenizer]:
    return {kind: fit_tokenizer(spec, MORE) for kind, spec in SPECS.items()}


@pytest.mark.parametrize("kind", SPECS)
def test_counts_fit_what_texts_fit(fitted: dict[str, Tokenizer], kind: str) -> None:
    plain = json.loads(fit_plainly(SPECS[kind], MORE))
    found: dict[str, Any] = json.loads(fitted[kind].json)
    assert found == plain


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_chunks_encode_as_whole_texts(fitted: dict[str, Tokenizer], texts: list[str]) -> None:
    for tokenizer in fitted.values():
        encoder = ChunkEncoder(tokenizer, "=u4")
        ids = [memoryview(one).cast("I").tolist() for one in encoder.encode_batch(texts)]
        assert ids == tokenizer.encode_batch(texts)


def test_a_tokenizer_of_other_pieces_is_given_whole_texts(fitted: dict[str, Tokenizer]) -> None:
    value = json.loads(fitted["bpe"].json)
    value["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": r"\\w+ \\w+|."}
    other = Tokenizer(json.dumps(value))
    texts = ["an old man eats", "a b"]
    assert other.encode_batch(texts) != fitted["bpe"].encode_batch(texts)
    encoded = ChunkEncoder(other, "=u4").encode_batch(texts)
    assert [memoryview(one).cast("I").tolist() for one in encoded] == other.encode_batch(texts)


def test_what_is_forgotten_is_worked_out_again(
    fitted: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = ChunkEncoder(fitted["bpe"], "<u2").encode_batch(TEXTS)
    monkeypatch.setattr(chunks, "MAX_REMEMBERED", 3)
    encoder = ChunkEncoder(fitted["bpe"], "<u2")
    assert encoder.encode_batch(TEXTS) == wide
