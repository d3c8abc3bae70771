"""Token ids on disk: what was written is read, in flat memory."""

import itertools
import json
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from transformer.files import check_sha256, write_sealed
from transformer.text import corpus, shards
from transformer.text import ids as ids_module
from transformer.text.corpus import Pair, part_path, write_pairs
from transformer.text.ids import IdsMeta, SplitCounts, hash_files, load_ids
from transformer.text.tokenizer import Tokenizer, TokenizerPair
from transformer.text.tokenizing import write_corpus_ids
from transformer.text.vocab_config import BpeSpec, WordSpec
from transformer.text.vocabulary import fit_tokenizer

TRAIN = [("un chat", "a cat"), ("un chien noir", "a black dog"), ("oui", "yes of course sir")]
VALID = [("un chat noir et blanc", "a black cat"), ("", "no")]


def test_means_are_those_of_the_pairs_that_are_kept() -> None:
    counts = SplitCounts(4, 1, 30, 18, 9, 7)
    assert counts.as_metrics() | {"pairs": 4} == counts._asdict() | {
        "mean_source_tokens": 7.5,
        "mean_target_tokens": 4.5,
    }
    assert SplitCounts(0, 1, 0, 0, 0, 0).as_metrics()["mean_source_tokens"] == 0


def write_ids(
    folder: Path,
    train: Iterable[Pair],
    valid: Iterable[Pair],
    tokenizers: TokenizerPair,
    max_tokens: int,
) -> IdsMeta:
    """Tokenizes pairs that the stage `clean` might have written."""
    with TemporaryDirectory() as clean:
        for part, pairs in (("train", train), ("valid", valid)):
            write_pairs(part_path(Path(clean), part), pairs)
        return write_corpus_ids(Path(clean), folder, tokenizers, max_tokens)


@pytest.fixture(scope="module")
def pair() -> TokenizerPair:
    spec = WordSpec(kind="word", boundary="sign", size=100, min_frequency=1)
    sources, targets = zip(*TRAIN, *VALID, strict=True)
    return TokenizerPair(fit_tokenizer(spec, sources), fit_tokenizer(spec, targets))


def test_every_sentence_comes_back_with_its_end_mark(tmp_path: Path, pair: TokenizerPair) -> None:
    meta = write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    ids = load_ids(tmp_path)
    assert ids.meta == meta
    for split, pairs in ((ids.train, TRAIN), (ids.valid, VALID)):
        assert len(split) == len(pairs)
        for index, (source, target) in enumerate(pairs):
            assert split.source(index).tolist() == [*pair.source.encode(source), 3]
            assert split.target(index).tolist() == [*pair.target.encode(target), 3]
    assert ids.valid.source_lengths[:].tolist() == [6, 1]
    assert ids.train.target_lengths[:].tolist() == [3, 4, 5]
    assert (ids.train.target_lengths.sum(), ids.train.target_lengths.max()) == (12, 5)
    assert ids.train.source_lengths[:].dtype == np.int64


def test_too_long_training_pairs_are_dropped_with_a_count(
    tmp_path: Path, pair: TokenizerPair
) -> None:
    meta = write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=4)  # end token included
    ids = load_ids(tmp_path)
    assert (len(ids.train), len(ids.valid)) == (2, 2)
    assert (meta.counts["train"].dropped_too_long, meta.counts["valid"].dropped_too_long) == (1, 0)
    assert (meta.counts["train"].longest_source, meta.counts["valid"].longest_source) == (4, 6)


def test_the_report_counts_tokens(tmp_path: Path, pair: TokenizerPair) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, 100).write_report(tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["train"]["source_tokens"] == 3 + 4 + 2
    assert report["train"]["mean_target_tokens"] == 4.0
    assert report["valid"]["pairs"] == 2


def test_the_meta_holds_what_a_model_needs(tmp_path: Path, pair: TokenizerPair) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    meta = IdsMeta.read(tmp_path)
    assert (meta.source_vocab_size, meta.target_vocab_size) == (pair.source.size, pair.target.size)
    assert meta.source.pad_id == 0
    assert meta.target._asdict() == {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    assert meta.tokenizer_sha256 == pair.sha256
    assert (meta.joint, meta.max_tokens, meta.dtype) == (False, 100, "<u2")


def test_a_large_vocabulary_takes_wide_ids(tmp_path: Path, pair: TokenizerPair) -> None:
    wide = Tokenizer(pair.target.json)
    wide.size = (1 << 16) + 1
    write_ids(tmp_path, TRAIN, VALID, TokenizerPair(pair.source, wide), max_tokens=100)
    ids = load_ids(tmp_path)
    assert ids.meta.dtype == "<u4"
    assert ids.train.source(0).tolist() == [*pair.source.encode(TRAIN[0][0]), 3]


def test_twice_gives_the_same_bytes(tmp_path: Path, pair: TokenizerPair) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_ids(tmp_path / name, TRAIN, VALID, pair, max_tokens=4)
    paths = list((tmp_path / "a").iterdir())
    assert len(paths) == 9
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_memory_does_not_grow_with_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPUTE_WORKERS", "1")
    monkeypatch.setattr(corpus, "BATCH_PAIRS", 64)
    monkeypatch.setattr(shards, "SHARD_PAIRS", 64)
    joint = fit_tokenizer(
        BpeSpec(kind="bpe", size=300, min_frequency=1, mark_case=False), ["un chat"]
    )
    tokenizers = TokenizerPair(joint, joint)

    def pairs(count: int) -> Iterator[Pair]:
        return itertools.islice(
            (("un chat " * 9, f"a cat {n % 99}") for n in itertools.count()), count
        )

    peaks = []
    for count in (512, 512, 8192):  # the first also pays for what is loaded once
        tracemalloc.start()
        write_ids(tmp_path, pairs(count), VALID, tokenizers, max_tokens=100)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.3 * peaks[1]


def test_an_index_out_of_range_is_refused(tmp_path: Path, pair: TokenizerPair) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    for index in (-1, 2):
        with pytest.raises(IndexError, match=f"sentence {index} of 2"):
            load_ids(tmp_path).valid.source(index)


def test_nothing_left_is_told(tmp_path: Path, pair: TokenizerPair) -> None:
    with pytest.raises(ValueError, match=r"'train' has no pairs left: 3 were longer.*_tokens = 2"):
        write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=2)


def test_an_empty_validation_part_is_told(tmp_path: Path, pair: TokenizerPair) -> None:
    with pytest.raises(ValueError, match=r"'valid' has no pairs left"):
        write_ids(tmp_path, TRAIN, [], pair, max_tokens=100)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("meta.json", None, r"meta\.json: no such file; run the stage `tokenize`"),
        ("meta.json", b"{}", r"meta\.json has another form .*not sealed"),
        ("meta.json", b"[]", r"meta\.json has another form"),
        ("train.source.bin", None, r"train\.source\.bin: no such file; run the stage `tokenize`"),
        ("train.source.bin", b"\0\0", r"train\.source\.bin is damaged.*: its SHA-256 is 96a296d"),
        ("valid.target.offsets.bin", b"", r"valid\.target\.offsets\.bin is damaged"),
    ],
)
def test_damaged_files_are_told(
    tmp_path: Path, pair: TokenizerPair, name: str, content: bytes | None, message: str
) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_ids(tmp_path)


def edit_meta(folder: Path, **changes: object) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    write_sealed(folder / "meta.json", meta | changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "<f4"}, r"meta\.dtype = '<f4'"),
        ({"source_vocab_size": 0}, r"meta\.source_vocab_size = 0"),
        ({"target_vocab_size": 10**30}, r"meta\.target_vocab_size = 10"),
        ({"target_vocab_size": 3}, r"meta\.target = \(0, 1, 2, 3\): not all within .* of 3"),
        ({"source_vocab_size": 10}, r"train\.source\.bin holds the id 10, but the .* ends at 9"),
        ({"sha256": {}}, r"train\.source\.bin is damaged.* wrote nothing of that name"),
        ({"counts": {"train": 3}}, r"meta\.counts\.train = 3"),
    ],
)
def test_a_meta_that_was_edited_is_told(
    tmp_path: Path, pair: TokenizerPair, change: dict[str, object], message: str
) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    edit_meta(tmp_path, **change)
    with pytest.raises(ValueError, match=message):
        load_ids(tmp_path)


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        (0, 1, r"train\.source\.offsets\.bin goes from 1 to 9, but .* holds the ids 0 to 9"),
        (3, 8, r"train\.source\.offsets\.bin goes from 0 to 8"),
        (1, -50, r"train\.source\.offsets\.bin: offset 1 is -50, which does not exceed .*, 0"),
        (2, 3, r"train\.source\.offsets\.bin: offset 2 is 3, which does not exceed .*, 3"),
    ],
)
def test_offsets_that_do_not_rise_from_0_to_the_end_are_told_whatever_their_hash(
    tmp_path: Path, pair: TokenizerPair, index: int, value: int, message: str
) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    path = tmp_path / "train.source.offsets.bin"
    offsets = np.fromfile(path, "<i8")
    offsets[index] = value
    offsets.tofile(path)
    edit_meta(tmp_path, sha256=hash_files(tmp_path))
    with pytest.raises(ValueError, match=message):
        load_ids(tmp_path)


def test_a_file_that_ends_within_a_number_is_told(tmp_path: Path, pair: TokenizerPair) -> None:
    write_ids(tmp_path, TRAIN, VALID, pair, max_tokens=100)
    with (tmp_path / "valid.source.offsets.bin").open("ab") as file:
        file.write(b"\0")
    edit_meta(tmp_path, sha256=hash_files(tmp_path))
    with pytest.raises(ValueError, match=r"offsets\.bin: .* no whole number of 8-byte integers"):
        load_ids(tmp_path)


def test_bytes_are_read_once_and_again_after_a_change(
    tmp_path: Path, pair: TokenizerPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, checked = tmp_path / "ids", tmp_path / "state" / "checked.json"
    folder.mkdir()
    write_ids(folder, TRAIN, VALID, pair, max_tokens=100)
    read: list[str] = []

    def check(path: Path, expected: str, stage: str) -> None:
        read.append(path.name)
        check_sha256(path, expected, stage)

    monkeypatch.setattr(ids_module, "check_sha256", check)
    load_ids(folder, checked)
    assert len(read) == 8
    load_ids(folder, checked)
    assert len(read) == 8
    path = folder / "valid.target.bin"
    path.write_bytes(path.read_bytes()[:-2] + b"\4\0")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"valid\.target\.bin is damaged"):
            load_ids(folder, checked)
    edit_meta(folder, sha256=hash_files(folder), source_vocab_size=7)
    with pytest.raises(ValueError, match=r"the id \d+, but the vocabulary"):
        load_ids(folder, checked)


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": 3}'])
def test_a_memory_that_is_damaged_is_none(
    tmp_path: Path, pair: TokenizerPair, content: str
) -> None:
    folder, checked = tmp_path / "ids", tmp_path / "checked.json"
    folder.mkdir()
    write_ids(folder, TRAIN, VALID, pair, max_tokens=100)
    checked.write_text(content)
    assert len(load_ids(folder, checked).train) == len(TRAIN)
    assert len(json.loads(checked.read_text())) == 8


def test_files_of_two_runs_are_told(tmp_path: Path, pair: TokenizerPair) -> None:
    for name, train in (("a", TRAIN), ("b", TRAIN[:1])):
        (tmp_path / name).mkdir()
        write_ids(tmp_path / name, train, VALID, pair, max_tokens=100)
    for name in ("train.source.bin", "train.source.offsets.bin"):
        (tmp_path / "b" / name).replace(tmp_path / "a" / name)
    edit_meta(tmp_path / "a", sha256=hash_files(tmp_path / "a"))
    with pytest.raises(ValueError, match=r"'train' has 1 source and 3 target sentences"):
        load_ids(tmp_path / "a")
