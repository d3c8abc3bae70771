"""What the contenders train on: the same sentences in every form."""

import json

import numpy as np
import pytest

from benchmarks.training import subject as training_subject
from benchmarks.training.subject import prepare, write_synthetic_ids, write_text
from benchmarks.training.work import FILE, TrainingWork
from transformer.files import write_sealed
from transformer.text.ids import load_ids


@pytest.fixture
def subject(tmp_path):
    write_synthetic_ids(tmp_path / "ids", 500, 3000)
    return prepare(tmp_path, tmp_path / "ids", "base", 512, "cpu", 1)


def test_synthetic_sentences_are_as_long_as_news(subject):
    train = subject.ids.train
    source, target = np.asarray(train.source_lengths), np.asarray(train.target_lengths)
    assert source.mean() == pytest.approx(27.3, rel=0.03)
    assert target.mean() == pytest.approx(25.8, rel=0.03)
    assert np.corrcoef(np.log(source), np.log(target))[0, 1] == pytest.approx(0.96, abs=0.02)


def test_synthetic_ids_have_end_tokens_and_no_other_special_ones(subject):
    train = subject.ids.train
    for index in range(100):
        *ids, end = train.target(index).tolist()
        assert end == 3
        assert min(ids) >= 4
        assert max(ids) < 500


def test_the_rth_word_comes_about_one_rth_as_often_as_the_first(subject):
    ranks = np.asarray(subject.ids.train.source_ids) - 3
    ranks = ranks[ranks > 0]  # not the end tokens
    for rank in (1, 3, 10, 100, 496):
        share = np.log(rank + 1) / np.log(497)
        assert np.mean(ranks <= rank) == pytest.approx(share, abs=0.01)


def test_the_same_seed_gives_the_same_files_whatever_is_drawn_at_once(tmp_path, monkeypatch):
    write_synthetic_ids(tmp_path / "whole", 500, 200)
    monkeypatch.setattr(training_subject, "CHUNK_TOKENS", 999)
    write_synthetic_ids(tmp_path / "parts", 500, 200)
    write_synthetic_ids(tmp_path / "other", 500, 200, seed=2)
    whole, parts, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("whole", "parts", "other")
    )
    assert whole == parts
    assert whole["train.source.bin"] != other["train.source.bin"]


def test_large_vocabularies_get_wide_ids(tmp_path):
    write_synthetic_ids(tmp_path / "ids", 100_000, 100)
    ids = load_ids(tmp_path / "ids")
    assert ids.train.source_ids.max() > 1 << 16


def test_the_shape_and_the_batch_are_those_asked_for(subject, tmp_path):
    assert (subject.model.d_model, subject.model.num_encoder_layers) == (512, 6)
    assert subject.config.batch_tokens == 512
    work = TrainingWork.load(tmp_path / FILE)
    assert work == subject.work
    assert work.model == subject.model.model_dump()


def test_the_text_is_the_ids_without_end_marks(subject):
    write_text(subject)
    for side in ("source", "target"):
        lines = (subject.work.text / f"train.{side}").read_text().split("\n")
        read = getattr(subject.ids.train, side)
        assert lines.pop() == ""
        assert len(lines) == len(subject.ids.train)
        for index in range(50):
            assert lines[index].split() == [f"t{id}" for id in read(index)[:-1]]


def test_two_vocabularies_are_refused(tmp_path):
    write_synthetic_ids(tmp_path / "ids", 50, 100)
    meta = tmp_path / "ids/meta.json"
    write_sealed(meta, json.loads(meta.read_text()) | {"joint": False})
    with pytest.raises(ValueError, match=r"one joint vocabulary \(vocab.joint\)"):
        prepare(tmp_path, tmp_path / "ids", "small", 128, "cpu", 1)
