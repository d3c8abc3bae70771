"""Inline casing: one spelling for a word in any case, and every text comes back."""

import json
import re
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.casing import ALL_CAPITALS, CAPITAL, mark_case, restore_case
from transformer.text.normalize import normalize
from transformer.text.tokenizer import Tokenizer
from transformer.text.vocab_config import BpeSpec, PretrainedSpec, TokenizerSpec, UnigramSpec
from transformer.text.vocabulary import fit_tokenizer

BPE = BpeSpec(kind="bpe", size=400, min_frequency=1, mark_case=True)
SPECS: dict[str, TokenizerSpec] = {
    "bpe": BPE,
    "unigram": UnigramSpec(kind="unigram", size=300, mark_case=True),
}
TEXTS = [
    "Je m'appelle Ngozi.",
    "My name is Ngozi, and NASA is in Houston.",
    "L'École d'Amina, «Elle» (Paris) ?",
    "MY NAME IS MCDONALD",
] * 3
CASED = [
    letter
    for letter in map(chr, range(sys.maxunicode + 1))
    if letter.lower() != letter or letter.upper() != letter
]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Tokenizer]:
    return {kind: fit_tokenizer(spec, TEXTS) for kind, spec in SPECS.items()}


def readable(text: str) -> str:
    return mark_case(text).replace(CAPITAL, "↑").replace(ALL_CAPITALS, "⇑")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("", ""),
        ("je", "je"),
        ("Je", "↑ je"),
        ("à Paris", "à↑ paris"),
        ("la NASA, l'ONU", "la⇑ nasa, l'⇑onu"),
        ("A B", "↑ a↑ b"),
        ("«Élan»", "«↑élan»"),
        ("McDonald", "↑ mc↑donald"),
        ("HTMLPage ABc", "⇑ html↑page↑ a↑bc"),
        ("ΟΔΟΣ", "⇑ οδοσ"),
        ("İzmir STRAẞE ǅ", "İzmir⇑ straẞ↑e ǅ"),
    ],
)
def test_what_is_written(text: str, marked: str) -> None:
    assert readable(text) == marked
    assert restore_case(mark_case(text)) == text


def test_every_letter_with_a_case_comes_back() -> None:
    assert len(CASED) > 2000
    for letter in CASED:
        for text in (letter, letter * 2, f"a{letter}", f"{letter}a", f"A{letter}", f"b {letter}Bc"):
            assert restore_case(mark_case(text)) == text


def test_every_python_marks_the_same_letters() -> None:
    """A letter more or less would change the ids that a vocabulary gives."""
    marked = "".join(letter for letter in CASED if mark_case(letter) != letter)
    assert sha256(marked.encode()).hexdigest()[:12] == "3fcb6626c41c"  # 655 letters


@given(st.text(st.one_of(st.characters(), st.sampled_from("aAéÉ '’.ßẞİıſςΣσᾳᾼDžK"))))
def test_normalised_text_comes_back_whole(fitted: dict[str, Tokenizer], text: str) -> None:
    text = normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
    for tokenizer in fitted.values():
        ids = tokenizer.encode(text)
        assert tokenizer.unk_id not in ids
        assert tokenizer.encode_batch([text, text]) == [ids, ids]
        assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize(
    "text",
    [
        "Ngozi",
        "NGOZI",
        "My name is Ngozi.",
        "L'École d'Amina, «Elle» (Paris) ?",
        "NASA is in Houston",
        "Zork, 12 Ünbekannt!",
    ],
)
def test_a_word_has_the_same_pieces_in_any_case(
    fitted: dict[str, Tokenizer], kind: str, text: str
) -> None:
    tokenizer = fitted[kind]
    pieces = tokenizer.pieces(tokenizer.encode(text))
    bare = [piece for piece in pieces if piece not in ("↑", "⇑")]
    assert bare == tokenizer.pieces(tokenizer.encode(text.lower()))
    assert len(bare) < len(pieces)


@pytest.mark.parametrize("kind", SPECS)
def test_the_first_word_is_the_same_as_inside(fitted: dict[str, Tokenizer], kind: str) -> None:
    name = fitted[kind].encode("Ngozi")
    assert fitted[kind].encode("my Ngozi")[-len(name) :] == name
    assert "".join(fitted[kind].pieces(name)) == "↑▁ngozi"


@pytest.mark.parametrize("kind", SPECS)
def test_a_mark_is_merged_with_nothing(fitted: dict[str, Tokenizer], kind: str) -> None:
    vocabulary = json.loads(fitted[kind].json)["model"]["vocab"]
    pieces = list(vocabulary) if kind == "bpe" else [piece for piece, _ in vocabulary]
    # As vocabularies of bytes write U+000E and U+000F.
    assert sorted(piece for piece in pieces if re.search("[\u010e\u010f]", piece)) == [
        "\u010e",
        "\u010f",
    ]
    assert not [piece for piece in pieces if re.search("[A-Z]..", piece)]


def test_marks_are_no_part_of_normalised_text() -> None:
    text = f"a{CAPITAL}b {ALL_CAPITALS}c"
    assert (
        normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False) == "ab c"
    )


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        (CAPITAL, ""),
        (f"a {CAPITAL}", "a "),
        (f"{CAPITAL}{ALL_CAPITALS} ab{CAPITAL}.", "AB."),
        (f"{CAPITAL} 12{ALL_CAPITALS} 日本", "12 日本"),
    ],
)
def test_a_mark_before_no_letter_goes(marked: str, text: str) -> None:
    """A model may put marks anywhere."""
    assert restore_case(marked) == text


def test_the_file_alone_tells_that_capitals_are_marked(
    tmp_path: Path, fitted: dict[str, Tokenizer]
) -> None:
    path = tmp_path / "tokenizer.json"
    fitted["bpe"].save(path)
    ids = fitted["bpe"].encode(TEXTS[1])
    pretrained = PretrainedSpec(kind="pretrained", name=str(path), revision=None)
    for tokenizer in (Tokenizer.load(path), fit_tokenizer(pretrained, [])):
        assert tokenizer.encode(TEXTS[1]) == ids
        assert tokenizer.decode(ids) == TEXTS[1]


def test_nothing_is_unknown(fitted: dict[str, Tokenizer]) -> None:
    assert fitted["bpe"].unknown_spans("Ngozi 日本 NASA") == []


def test_without_the_option_capitals_are_letters() -> None:
    tokenizer = fit_tokenizer(BPE.model_copy(update={"mark_case": False}), TEXTS)
    assert tokenizer.pieces(tokenizer.encode("Ngozi")) == ["▁Ngozi"]
