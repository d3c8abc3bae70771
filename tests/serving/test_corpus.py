"""A file translated by shards: what one translator says of its lines, on any engine."""

from functools import partial

import pytest

from tests.compute.workers import translate_and_die_once
from transformer.serving import corpus
from transformer.serving.corpus import cut_lines, translate_shards
from transformer.serving.translator import Translator

LINES = ["un chat", "", "deux chien dort", " UN ", "trois", "un deux\r", "chat"]
OPTIONS = {"num_best": 2, "beam_size": 3}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPUTE_WORKERS", "1")
    monkeypatch.setattr(corpus, "SHARD_LINES", 3)
    path = tmp_path / "x.txt"
    path.write_text("\ufeff" + "\n".join(LINES), encoding="utf-8", newline="")
    return path


def test_lines_are_cut_into_shards(file):
    shards = cut_lines(file)
    assert [str(shard).split(", ")[1] for shard in shards] == [
        "lines 1 to 3",
        "lines 4 to 6",
        "lines 7 to 7",
    ]
    content = file.read_bytes()
    assert b"".join(content[shard.start : shard.end] for shard in shards) == content
    assert shards[1].start == content.index(b" UN")


def hold_against_one_by_one(file, folder):
    found = list(translate_shards(folder, cut_lines(file), OPTIONS, "float32"))
    texts = [line.removesuffix("\r") for line in LINES]
    translator = Translator(folder, "cpu", num_threads=1, precision="float32")
    assert [text for shard in found for text in shard.texts] == texts
    assert [answers for shard in found for answers in shard.answers] == [
        translator.translate([text], **OPTIONS)[0] for text in texts
    ]
    assert [(shard.first, shard.problem) for shard in found] == [(1, None), (4, None), (7, None)]


def test_shards_give_what_one_translator_does(file, make_translator):
    hold_against_one_by_one(file, make_translator())


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["2", "4"])
def test_so_do_processes_of_which_one_is_killed(
    file, make_translator, tmp_path, monkeypatch, workers
):
    monkeypatch.setenv("COMPUTE_WORKERS", workers)
    dies = partial(translate_and_die_once, tmp_path / "killed")
    monkeypatch.setattr(corpus, "translate_shard", dies)
    hold_against_one_by_one(file, make_translator())
    assert (tmp_path / "killed").exists()


@pytest.mark.parametrize(
    ("line", "problem", "num_before"),
    [
        (b"\xff", r"{}, line 5: not UTF-8 text (byte 1 is 0xff); convert it", 1),
        (b"chat " * 60, r"{}, line 5: it has 61 tokens, and this model holds", 1),
    ],
)
def test_a_text_that_cant_be_translated_ends_it_by_its_line(
    file, make_translator, line, problem, num_before
):
    content = file.read_bytes().replace(b"trois", line)
    file.write_bytes(content)
    *_, last = translate_shards(make_translator(), cut_lines(file), {}, "float32")
    assert len(last.texts) == len(last.answers) == num_before
    assert last.problem is not None
    assert last.problem.startswith(problem.format(file))
