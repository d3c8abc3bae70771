"""Tokenizers: special tokens, files, pairs."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, processors

from transformer.text.special_tokens import SPECIAL_TOKENS
from transformer.text.tokenizer import Tokenizer, TokenizerPair
from transformer.text.vocab_config import BpeSpec, WordSpec
from transformer.text.vocabulary import fit_tokenizer

TEXTS = ["Va !", "Je m'en vais.", "Go.", "I am leaving.", "s pad unk"] * 3


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return fit_tokenizer(BpeSpec(kind="bpe", size=300, min_frequency=1, mark_case=False), TEXTS)


@pytest.fixture(scope="module")
def word() -> Tokenizer:
    return fit_tokenizer(WordSpec(kind="word", boundary="sign", size=30, min_frequency=1), TEXTS)


def bert(words: dict[str, int] | None = None, **changes: Any) -> str:
    """A small BERT-like tokenizer.json, which asks for marks, padding and cutting."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dog", "##s"]
    fast = tokenizers.Tokenizer(
        models.WordPiece(words or {name: id for id, name in enumerate(names)}, unk_token="[UNK]")
    )
    fast.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if words is None:
        fast.add_special_tokens(names[:4])
        fast.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        fast.enable_truncation(2)
        fast.enable_padding(length=9)
    return json.dumps(json.loads(fast.to_str()) | changes)


@pytest.mark.parametrize("kind", ["bpe", "word"])
def test_special_ids_are_the_same_in_every_tokenizer_of_ours(
    kind: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(kind)
    assert tuple(tokenizer.special) == (0, 1, 2, 3)
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2, 3)


@pytest.mark.parametrize("kind", ["bpe", "word"])
@pytest.mark.parametrize("name", SPECIAL_TOKENS)
def test_a_special_token_in_the_text_is_text(
    kind: str, name: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(kind)
    for text in (name, f"Go {name} leaving.", f"Go{name}{name}", f"{name}."):
        ids = tokenizer.encode(text)
        marks = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
        assert marks.isdisjoint(ids)
        assert tokenizer.encode_batch([text]) == [ids]
        if kind == "bpe":
            assert tokenizer.unk_id not in ids
            assert tokenizer.decode(ids) == text


def test_a_special_token_in_the_text_is_unknown_to_a_pretrained_word_list() -> None:
    tokenizer = Tokenizer(bert())
    assert tokenizer.encode("a [SEP] dog [PAD]") == [4, 1, 5, 1]


def test_no_text_is_cut_or_padded_whatever_the_file_asks_for() -> None:
    tokenizer = Tokenizer(bert())
    assert tokenizer.encode("a dogs a dogs a") == [4, 5, 6, 4, 5, 6, 4]
    assert tokenizer.encode_batch(["a", "a dogs"]) == [[4], [4, 5, 6]]
    assert tokenizer.size == 7
    assert tokenizer.special._asdict() == {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}


def test_the_size_covers_the_largest_id_of_a_vocabulary_with_gaps() -> None:
    words = {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "[UNK]": 5, "a": 90}
    assert Tokenizer(bert(words)).size == 91


def test_missing_special_tokens_are_all_listed() -> None:
    words = {"[UNK]": 0, "[PAD]": 1, "a": 2}
    with pytest.raises(
        ValueError,
        match=r"^t\.json: .*missing are bos \(tried <s>, \[BOS\], \[CLS\], <pad>\); eos \(",
    ):
        Tokenizer(bert(words), "t.json")


def test_marks_are_skipped_but_unknowns_show(word: Tokenizer) -> None:
    ids = [word.bos_id, *word.encode("Go far."), word.eos_id, word.pad_id]
    assert word.decode(ids) == "Go <unk>."
    assert word.decode([]) == ""


def test_one_by_one_is_the_batch(bpe: Tokenizer) -> None:
    texts = ["", "Va !", "Ça alors… 日本 👩\u200d👧"]
    assert bpe.encode_batch(texts) == [bpe.encode(text) for text in texts]
    assert bpe.encode("") == []


def test_pieces_are_readable(bpe: Tokenizer, word: Tokenizer) -> None:
    assert word.pieces([*word.encode("Je m'en vais."), word.eos_id]) == [
        "▁Je",
        "▁m'en",
        "▁vais",
        ".",
        "</s>",
    ]
    assert "".join(bpe.pieces(bpe.encode("Je vais."))) == "▁Je▁vais."


def test_a_tokenizer_is_saved_as_it_was_built(tmp_path: Path, bpe: Tokenizer) -> None:
    bpe.save(tmp_path / "t.json")
    loaded = Tokenizer.load(tmp_path / "t.json")
    assert loaded.json == bpe.json
    assert loaded.sha256 == bpe.sha256
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "t.json").read_bytes()


@pytest.mark.parametrize("joint", [True, False])
def test_a_pair_is_loaded_as_it_was_saved(
    tmp_path: Path, joint: bool, bpe: Tokenizer, word: Tokenizer
) -> None:
    pair = TokenizerPair(bpe, bpe if joint else word)
    pair.save(tmp_path)
    names = (
        ["meta.json", "tokenizer.json"] if joint else ["meta.json", "source.json", "target.json"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    loaded = TokenizerPair.load(tmp_path)
    assert loaded.is_joint == joint
    assert loaded.sha256 == pair.sha256
    assert loaded.target.encode("Je vais.") == pair.target.encode("Je vais.")
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["target"]["size"] == pair.target.size
    assert meta["sha256"] == pair.sha256


def test_the_hash_of_a_pair_tells_its_sides_apart(bpe: Tokenizer, word: Tokenizer) -> None:
    pairs = [TokenizerPair(bpe, bpe), TokenizerPair(bpe, word), TokenizerPair(word, bpe)]
    assert len({pair.sha256 for pair in pairs}) == 3


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"meta\.json: no such file; run the stage `vocab`"):
        TokenizerPair.load(tmp_path)


@pytest.mark.parametrize("name", ["source.json", "target.json"])
def test_a_tokenizer_that_was_edited_is_told(
    tmp_path: Path, bpe: Tokenizer, word: Tokenizer, name: str
) -> None:
    TokenizerPair(bpe, word).save(tmp_path)
    (tmp_path / name).write_text((tmp_path / name).read_text() + " ")
    with pytest.raises(ValueError, match=r"source\.json, target\.json in .*: damaged, or edited"):
        TokenizerPair.load(tmp_path)


@pytest.mark.parametrize("meta", ["[]", "{}", '{"joint": 1}'])
def test_a_meta_of_another_form_is_told(tmp_path: Path, bpe: Tokenizer, meta: str) -> None:
    TokenizerPair(bpe, bpe).save(tmp_path)
    (tmp_path / "meta.json").write_text(meta)
    with pytest.raises(ValueError, match=r"meta\.json: 'joint' must be true or false"):
        TokenizerPair.load(tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"t\.json: no such tokenizer file"):
        Tokenizer.load(tmp_path / "t.json")


@pytest.mark.parametrize("content", [b"{}", b"not json", b'\xff"'])
def test_another_file_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.json is not (UTF-8|a Hugging Face tokenizer)"):
        Tokenizer.load(tmp_path / "t.json")
