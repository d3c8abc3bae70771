"""What of a project is translated, by whom."""

from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.decoding.contenders import DEFAULTS, NAMES, Commands, file_bytes, list_variants
from benchmarks.decoding.project import (
    ALL,
    few,
    graph_file,
    length_batches,
    plan_name,
    plan_work,
    spread,
)
from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.rounds import Variant
from transformer.search.options import SearchConfig

SEARCH = SearchConfig(
    beam_size=4, length_penalty=0.8, patience=2.0, max_length_factor=2.0, max_length_extra=1
)


def make_subject(ids):
    info = SimpleNamespace(target=(0, 1, 2, 3))
    return SimpleNamespace(source_pad=0, ids=ids, options=SEARCH.options(9), info=info)


def test_empty_sentences_are_left_to_nobody():
    work = plan_work(make_subject([[5, 3], [], [6, 7, 8, 9, 3]]), 10, [1])
    assert work.plans.pop(ALL) == [[2, 0]]
    assert {name: sorted(plan) for name, plan in work.plans.items()} == {
        "1": [[0], [2]],
        "1 few": [[0], [2]],
    }
    assert work.max_lengths == [5, 1, 9]
    assert (work.options["length_penalty"], work.options["patience"]) == (0.8, 2.0)


def test_all_batch_sizes_hold_the_same_sentences():
    work = plan_work(make_subject([[4] * (1 + index % 7) for index in range(100)]), 40, [1, 8, 32])
    samples = [sorted(chain(*work.plans[plan_name(size)])) for size in (1, 8, 32)]
    assert samples[0] == samples[1] == samples[2]
    assert len(samples[0]) == 40
    slow = work.plans[plan_name(8, is_slow=True)]
    assert all(batch in work.plans["8"] for batch in slow)


def test_graphs_by_precision():
    assert graph_file(Path("t"), "float32") == Path("t/models/translator/translator.onnx")
    assert graph_file(Path("t"), "int8").name == "translator.int8.onnx"
    assert graph_file(Path("t"), "float16").name == "translator.float16.onnx"


@pytest.mark.parametrize("who", ["onnx-float32", "onnx-float16"])
def test_a_graph_that_the_folder_lacks_is_not_offered(tmp_path, who):
    commands = Commands(tmp_path, make_subject([]), tmp_path, "cuda")
    name = graph_file(Path(), who.removeprefix("onnx-")).name
    with pytest.raises(UnavailableError, match=f"{name} is not among the exported translator's"):
        commands.model_path(who)
    graph = graph_file(tmp_path, who.removeprefix("onnx-"))
    graph.parent.mkdir(parents=True)
    graph.touch()
    assert commands.model_path(who) == graph


def test_each_device_has_its_contenders():
    assert "onnx-float16" not in DEFAULTS["cpu"]
    assert not {"onnx-int8", "ctranslate2-int8"} & set(DEFAULTS["cuda"])
    assert set(DEFAULTS["cpu"]) | set(DEFAULTS["cuda"]) == set(NAMES)


def test_ctranslate2_gets_every_setting_that_may_be_its_best():
    settings = [variant.setting for variant in list_variants(["ctranslate2-int8"], [1, 2])]
    assert settings == ["1", "2", "2, active wait", "2 x 1"]
    assert [variant.setting for variant in list_variants(["onnx-int8"], [1, 2])] == [
        "1",
        "2",
        "2 x 1",
    ]
    assert [variant.setting for variant in list_variants(["tutorial"], [2])] == ["2"]
    assert Variant("ctranslate2-int8", 2, is_active_wait=True).environment == {
        "OMP_WAIT_POLICY": "ACTIVE"
    }


def test_size_of_a_folder_is_that_of_its_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"12345")
    (tmp_path / "c").write_bytes(b"123")
    assert file_bytes(tmp_path) == 8
    assert file_bytes(tmp_path / "c") == 3


def test_spread_takes_even_distances():
    assert spread(range(100), 4) == [12, 37, 62, 87]
    assert spread("abc", 1) == ["b"]


def test_spread_of_too_few_takes_all():
    assert spread([1, 2, 3], 10) == [1, 2, 3]


def test_batches_hold_each_sentence_once_and_the_longest_first():
    lengths = [3, 9, 4, 9, 1]
    assert length_batches([4, 3, 2, 1, 0], lengths, 2) == [[1, 3], [2, 0], [4]]


def test_few_keeps_whole_batches_over_all_lengths():
    batches = [[index] for index in range(200)]
    chosen = few(batches)
    assert len(chosen) == 40
    assert chosen[0] == [2]
    assert chosen[-1] == [197]
    assert few(batches[:7]) == [[1], [3], [5]]
    assert few(batches[:2]) == [[0], [1]]
