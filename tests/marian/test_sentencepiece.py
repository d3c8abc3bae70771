"""SentencePiece models as tokenizers: the same pieces as `sentencepiece` itself."""

import unicodedata

import pytest
import sentencepiece

from tests.marian.conftest import make_sentences, train_spm
from transformer.marian.sentencepiece import read_model, to_tokenizer, write_model
from transformer.text.normalize import normalize

# Compatibility forms, odd spaces, marks, what no vocabulary has.
ODD = "ßéÅﬁ①～\u00a0\u200bＡ½ñ日本語😀ΐ…\tｶﾞẮ\u0958ộ>&"


def read_both(folder, **options):
    path = folder / "model.spm"
    path.write_bytes(train_spm(0, **({"size": 500, "count": 500} | options)))
    pieces = read_model(path)
    ids = {"</s>": 0, "<unk>": 1}
    for piece in [*pieces.scores][:-30]:  # some have no id, as in OPUS-MT
        ids[piece] = len(ids)
    ids |= {"▁foreign": len(ids), "<pad>": len(ids) + 1}
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return model, pieces, ids, to_tokenizer(pieces, ids, "vocab.json")


@pytest.mark.parametrize(
    "rule",
    [pytest.param("nmt_nfkc", marks=pytest.mark.slow), "nfkc", "nmt_nfkc_cf", "identity"],
)
def test_pieces_are_those_of_sentencepiece(rule, tmp_path):
    """In six scripts; of 10,000 sentences a few have two best paths, told apart by float32."""
    model, pieces, ids, tokenizer = read_both(tmp_path, normalization_rule_name=rule)
    count = 10_000 if rule == "nmt_nfkc" else 1000
    plain = make_sentences(2, count, ODD)
    if rule == "nmt_nfkc":  # as they stand and decomposed; the pipeline composes all text
        plain = [t if i % 4 else unicodedata.normalize("NFD", t) for i, t in enumerate(plain)]
    else:
        side = {"lowercase": False, "strip_punctuation": False, "fold_typography": False}
        plain = [normalize(text, **side) for text in plain]
    num_ties = num_unknown = 0
    for text, ours in zip(plain, tokenizer.encode_batch(plain), strict=True):
        cut = model.encode(text, out_type=str)
        theirs = [ids.get(piece, 1) if piece in pieces.scores else 1 for piece in cut]
        num_unknown += 1 in theirs
        if ours == theirs:
            continue
        num_ties += 1
        shown = tokenizer._fast.encode(text, add_special_tokens=False).tokens
        paths = [[piece for piece in path if piece in pieces.scores] for path in (shown, cut)]
        assert "".join(paths[0]) == "".join(paths[1]), text
        scores = [sum(pieces.scores[piece] for piece in path) for path in paths]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4), text
    assert num_ties <= count / 1000
    assert num_unknown > count / 10


def test_text_comes_back_as_from_sentencepiece(tmp_path):
    model, _, ids, tokenizer = read_both(tmp_path)
    whole = [text for text in make_sentences(4, 500) if 1 not in tokenizer.encode(text)]
    assert len(whole) > 100
    for text in whole:
        assert tokenizer.decode(tokenizer.encode(text)) == model.decode(model.encode(text))
    assert tokenizer.decode([ids["▁foreign"], ids["</s>"]]) == "foreign"


def test_bytes_stand_for_unknown_characters(tmp_path):
    model, _, ids, tokenizer = read_both(tmp_path, byte_fallback=True, size=900)
    for text in ("a 😀 b", "Ω"):
        assert tokenizer.encode(text) == [ids[p] for p in model.encode(text, out_type=str)]
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_tag_of_a_language_is_one_token(tmp_path):
    _, pieces, ids, _ = read_both(tmp_path)
    tokenizer = to_tokenizer(pieces, ids | {">>fra<<": len(ids)}, "vocab.json")
    tagged = tokenizer.encode(">>fra<< abc")
    assert tagged == [len(ids), *tokenizer.encode("abc")]


def test_a_written_model_cuts_alike(tmp_path):
    model, pieces, _, _ = read_both(tmp_path)
    write_model(tmp_path / "again.spm", pieces)
    again = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "again.spm"))
    for text in make_sentences(7, 500, ODD):
        assert again.encode(text, out_type=str) == model.encode(text, out_type=str)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model_type": "bpe"}, "not a unigram model"),
        ({"user_defined_symbols": ["<x>"]}, r"user-defined pieces such as \['<x>'\]"),
        ({"treat_whitespace_as_suffix": True}, "a space stands behind its word"),
        ({"remove_extra_whitespaces": False}, "spaces are kept as they are"),
    ],
)
def test_models_without_a_form_here_are_refused(options, message, tmp_path):
    (tmp_path / "model.spm").write_bytes(train_spm(0, 500, 500, **options))
    with pytest.raises(ValueError, match=message):
        read_model(tmp_path / "model.spm")
