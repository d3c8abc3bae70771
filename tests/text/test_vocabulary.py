"""Fitting tokenizers: faithful, repeatable, within their size."""

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from transformer.text.corpus import write_pairs
from transformer.text.normalize import normalize
from transformer.text.special_tokens import SPECIAL_TOKENS
from transformer.text.tokenizer import Tokenizer
from transformer.text.vocab_config import (
    BpeSpec,
    CharacterSpec,
    PretrainedSpec,
    TokenizerSpec,
    UnigramSpec,
    VocabConfig,
    WordSpec,
)
from transformer.text.vocabulary import fit_pair, fit_tokenizer, settle_unigram
from transformer.text.vocabulary_statistics import describe

BPE = BpeSpec(kind="bpe", size=500, min_frequency=2, mark_case=False)
UNIGRAM = UnigramSpec(kind="unigram", size=400, mark_case=False)
WORD = WordSpec(kind="word", boundary="sign", size=60, min_frequency=1)
CHARACTER = CharacterSpec(kind="character", size=99, min_frequency=1)
SPECS: dict[str, TokenizerSpec] = {
    "bpe": BPE,
    "unigram": UNIGRAM,
    "marked bpe": BPE.model_copy(update={"mark_case": True}),
    "marked unigram": UNIGRAM.model_copy(update={"mark_case": True}),
    "word": WORD,
    "character": CHARACTER,
}
SUBJECTS = ["L'homme", "Une femme", "Le petit garçon", "She", "The old man", "We"]
VERBS = ["mange", "n'a pas vu", "regarde", "eats", "didn't see", "watches"]
OBJECTS = ["l'eau.", "d'un ami !", "du pain, hier ?", "12 apples…", "the sea.", "it."]
TEXTS = [" ".join(words) for words in itertools.product(SUBJECTS, VERBS, OBJECTS)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Tokenizer]:
    return {kind: fit_tokenizer(spec, TEXTS) for kind, spec in SPECS.items()}


TRICKY = "aé '’.…!?<>/▁Ġ#\u0301\u200d\u00a0日本カーไ👩"
ODD = st.text(st.one_of(st.characters(), st.sampled_from(TRICKY)))


@given(ODD)
def test_normalised_text_comes_back_whole(fitted: dict[str, Tokenizer], text: str) -> None:
    text = normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
    for kind in ("bpe", "unigram"):
        ids = fitted[kind].encode(text)
        assert fitted[kind].unk_id not in ids
        assert fitted[kind].decode(ids) == text


@given(st.text(st.sampled_from("aé '.!<>/▁\u0301日カー")))
def test_known_words_and_characters_come_back_whole(text: str) -> None:
    text = normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
    for spec in (
        WordSpec(kind="word", boundary="sign", size=1000, min_frequency=1),
        CharacterSpec(kind="character", size=1000, min_frequency=1),
    ):
        tokenizer = fit_tokenizer(spec, [text])
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_characters_stand_alone_and_a_rare_one_is_unknown() -> None:
    spec = CharacterSpec(kind="character", size=99, min_frequency=2)
    tokenizer = fit_tokenizer(spec, ["我 爱 你我爱你", "她"])
    assert tokenizer.pieces(tokenizer.encode("我爱她 你")) == ["我", "爱", "<unk>", "▁", "你"]
    assert tokenizer.size == len(SPECIAL_TOKENS) + 4


def test_a_script_without_spaces_has_none_before_its_first_word() -> None:
    """So a piece of Chinese is one piece, wherever it stands."""
    spec = BpeSpec(kind="bpe", size=300, min_frequency=2, mark_case=False)
    tokenizer = fit_tokenizer(spec, ["我们好，我们好，", "我们好，"])
    assert tokenizer.pieces(tokenizer.encode("我们好，我们好")) == ["我们好", "，", "我们好"]
    mixed = "Tom说：“OK，我们好。”"
    assert tokenizer.decode(tokenizer.encode(mixed)) == mixed
    assert "我们好" in tokenizer.pieces(tokenizer.encode("Tom我们好"))


@pytest.mark.parametrize("kind", SPECS)
def test_training_text_comes_back_whole(fitted: dict[str, Tokenizer], kind: str) -> None:
    for text in TEXTS:
        assert fitted[kind].decode(fitted[kind].encode(text)) == text


def test_words_signs_and_digits_are_told_apart() -> None:
    text = "« L'homme d'à côté n'a pas dit « aujourd'hui » : 12 x... don't! »"
    tokenizer = fit_tokenizer(
        WordSpec(kind="word", boundary="sign", size=1000, min_frequency=1), [text]
    )
    assert tokenizer.pieces(tokenizer.encode(text)) == [
        "▁«",
        "▁L'",
        "homme",
        "▁d'à",
        "▁côté",
        "▁n'a",
        "▁pas",
        "▁dit",
        "▁«",
        "▁aujourd'",
        "hui",
        "▁»",
        "▁:",
        "▁1",
        "2",
        "▁x",
        "...",
        "▁don't",
        "!",
        "▁»",
    ]


def test_words_may_end_at_spaces_alone() -> None:
    text = "l'homme a 12 ans, dit-il"
    spec = WordSpec(kind="word", boundary="space", size=99, min_frequency=1)
    tokenizer = fit_tokenizer(spec, [text])
    pieces = ["▁l'homme", "▁a", "▁12", "▁ans,", "▁dit-il"]
    assert tokenizer.pieces(tokenizer.encode(text)) == pieces
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_rarest_words_are_unknown_beyond_the_size() -> None:
    spec = WordSpec(kind="word", boundary="sign", size=len(SPECIAL_TOKENS) + 1, min_frequency=1)
    tokenizer = fit_tokenizer(spec, ["often often rare"])
    assert tokenizer.size == spec.size
    assert tokenizer.decode(tokenizer.encode("often rare often")) == "often <unk> often"


def test_words_below_the_minimum_are_unknown() -> None:
    tokenizer = fit_tokenizer(
        WordSpec(kind="word", boundary="sign", size=99, min_frequency=2), ["often often rare"]
    )
    assert tokenizer.size == len(SPECIAL_TOKENS) + 1


def test_pairs_below_the_minimum_are_not_merged() -> None:
    sizes = [
        fit_tokenizer(
            BpeSpec(kind="bpe", size=500, min_frequency=frequency, mark_case=False), ["abc"] * 3
        ).size
        for frequency in (3, 4)
    ]
    assert sizes[0] > sizes[1] == 256 + len(SPECIAL_TOKENS)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "marked bpe", "marked unigram"])
def test_the_size_is_kept_to(fitted: dict[str, Tokenizer], kind: str) -> None:
    assert 256 + len(SPECIAL_TOKENS) < fitted[kind].size <= SPECS[kind].size  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", SPECS)
def test_another_process_fits_the_same_bytes(fitted: dict[str, Tokenizer], kind: str) -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}, '.']\n"
        "import test_vocabulary as t\n"
        f"print(t.fit_tokenizer(t.SPECS[{kind!r}], t.TEXTS).sha256)"
    )
    for threads, seed in (("1", "1"), ("4", "2")):
        environment = os.environ | {"RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
        found = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == fitted[kind].sha256


def test_settling_does_not_depend_on_the_order_or_the_last_digits() -> None:
    special = [[name, 0.0] for name in SPECIAL_TOKENS]
    pieces: list[tuple[str, float]] = [("ab", -3.0), ("a", -5.0), ("cd", -9.5)]
    added = ["x", "y", "z"]
    shuffled = []
    for seed in range(5):
        order = random.Random(seed)
        order.shuffle(added)
        rows = [[piece, score + order.uniform(-1e-12, 1e-12)] for piece, score in pieces]
        rows += [[byte, -9.5 + 1e-4 * place] for place, byte in enumerate(added)]
        order.shuffle(rows)
        shuffled.append(settle_unigram(special + rows))
    assert all(rows == shuffled[0] for rows in shuffled)
    assert [row[0] for row in shuffled[0][4:]] == ["ab", "a", "cd", "x", "y", "z"]


def test_a_pretrained_file_is_taken_as_it_is(tmp_path: Path, fitted: dict[str, Tokenizer]) -> None:
    path = tmp_path / "mine.json"
    fitted["bpe"].save(path)
    spec = PretrainedSpec(kind="pretrained", name=str(path), revision=None)
    assert fit_tokenizer(spec, []).json == fitted["bpe"].json


def test_a_missing_pretrained_file_is_told() -> None:
    spec = PretrainedSpec(kind="pretrained", name="none.json", revision=None)
    with pytest.raises(ValueError, match=r"name = none\.json: no such tokenizer file"):
        fit_tokenizer(spec, [])


def test_a_pretrained_id_is_asked_for_at_its_revision(
    monkeypatch: pytest.MonkeyPatch, fitted: dict[str, Tokenizer]
) -> None:
    read = tokenizers.Tokenizer.from_str
    asked = []

    class Hub:
        from_str = staticmethod(read)

        @staticmethod
        def from_pretrained(name: str, revision: str) -> object:
            asked.append((name, revision))
            return read(fitted["word"].json)

    monkeypatch.setattr(tokenizers, "Tokenizer", Hub)
    for revision in ("v1", None):
        spec = PretrainedSpec(kind="pretrained", name="owner/name", revision=revision)
        assert fit_tokenizer(spec, []).json == fitted["word"].json
    assert asked == [("owner/name", "v1"), ("owner/name", "main")]


def test_without_a_network_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hub:
        @classmethod
        def from_pretrained(cls, name: str, revision: str) -> object:
            raise Exception("Name or service not known")  # as the library does

    monkeypatch.setattr(tokenizers, "Tokenizer", Hub)
    spec = PretrainedSpec(kind="pretrained", name="owner/name", revision=None)
    with pytest.raises(ValueError, match=r"'owner/name' at revision 'main' .*not known\. Without"):
        fit_tokenizer(spec, [])


def test_joint_is_fitted_on_both_sides_and_separate_on_its_own(tmp_path: Path) -> None:
    train = tmp_path / "train.parquet"
    write_pairs(train, [("chat", "cat"), ("chien", "dog")])
    both = fit_pair(VocabConfig(joint=WORD, source=None, target=None, max_sentences=None), train)
    apart = fit_pair(VocabConfig(joint=None, source=WORD, target=BPE, max_sentences=None), train)
    assert both.is_joint
    assert not apart.is_joint
    assert both.source.decode(both.source.encode("chat dog")) == "chat dog"
    assert apart.source.decode(apart.source.encode("chat dog")) == "chat <unk>"
    assert apart.target.decode(apart.target.encode("chat dog")) == "chat dog"


def test_statistics_count_by_hand() -> None:
    tokenizer = fit_tokenizer(
        WordSpec(kind="word", boundary="sign", size=99, min_frequency=1), ["a b. c"]
    )
    found = describe(tokenizer, ["a b. x.", "y z"])  # pieces: a, b, ., <unk>, .; <unk>, <unk>
    assert (found.words, found.pieces) == (5, 7)
    assert found.pieces_per_word == 1.4
    assert found.unknown_rate == round(3 / 7, 6)
    assert found.coverage == 0.4
    assert found.vocabulary_used == 0.5  # a, b, ., <unk> of eight


def test_statistics_of_nothing_are_zero(fitted: dict[str, Tokenizer]) -> None:
    found = describe(fitted["bpe"], [])
    assert (found.words, found.pieces_per_word, found.unknown_rate) == (0, 0, 0)
