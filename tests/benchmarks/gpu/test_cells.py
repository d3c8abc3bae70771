import time

import pytest
import torch

from benchmarks.gpu.cells import Cell, UnfinishedError, run_cells
from transformer.files import read_json

FACTS = {"device": "one"}


@pytest.fixture
def run(tmp_path, make_setting):
    def call(cells, facts=FACTS, **changes):
        told = []
        left = run_cells(tmp_path / "part.json", cells, facts, make_setting(**changes), told.append)
        values = read_json(tmp_path / "part.json")["cells"]
        for value in values.values():
            value.pop("took_seconds", None)
        return left, values, told

    return call


def count(calls, name, seconds=1.0):
    def measure():
        calls.append(name)
        return {"value": len(calls)}

    return Cell(name, measure, seconds)


def test_what_is_measured_is_kept_and_not_measured_again(run):
    calls = []
    assert run([count(calls, "a")])[:2] == (0, {"a": {"value": 1}})
    left, values, told = run([count(calls, "a"), count(calls, "b")])
    assert (left, values, told) == (0, {"a": {"value": 1}, "b": {"value": 2}}, ["b"])
    assert calls == ["a", "b"]


def test_a_cell_that_time_does_not_do_for_is_left_for_the_next_call(run):
    calls = []
    cells = [count(calls, "a"), count(calls, "b", seconds=50.0), count(calls, "c")]
    left, values, told = run(cells, deadline=time.monotonic() + 10)
    assert left == 2
    assert list(values) == ["a"]
    assert told[-1] == "no time left for b"
    assert run(cells)[0] == 0
    assert calls == ["a", "b", "c"]


def test_what_fails_leaves_its_error_and_the_others_go_on(run, capsys):
    def fail():
        raise RuntimeError("out of luck")

    calls = []
    cells = [Cell("bad", fail, 1.0), count(calls, "good")]
    for _ in range(2):
        left, values, _ = run(cells)
        assert left == 0
        assert values["bad"] == {"error": "RuntimeError: out of luck"}
    assert calls == ["good"]
    assert "out of luck" in capsys.readouterr().err


def test_a_cell_that_ends_the_process_is_tried_twice(run):
    def die():
        raise KeyboardInterrupt

    calls = []
    cells = [Cell("deadly", die, 1.0), count(calls, "next")]
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(cells)
    left, values, _ = run(cells)
    assert left == 0
    assert values["deadly"] == {"error": "the process ended 2 times while it was measured"}
    assert calls == ["next"]


def test_a_cell_that_is_not_through_goes_on_as_often_as_needed(run):
    calls = []

    def train():
        calls.append("train")
        if len(calls) < 5:
            raise UnfinishedError("more to do")
        return {"value": 7}

    cells = [Cell("train", train, 1.0), count([], "after")]
    for _ in range(4):
        left, values, told = run(cells)
        assert left == 2
        assert "after" not in values
        assert told[-1] == "train: more to do"
    assert run(cells)[:2] == (0, {"train": {"value": 7}, "after": {"value": 1}})


def test_after_a_fault_that_a_gpu_does_not_recover_from_another_process_goes_on(run, monkeypatch):
    is_lost = True

    def synchronize(device):
        if is_lost:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def fail():
        raise RuntimeError("a kernel's fault")

    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    cells = [Cell("bad", fail, 1.0), count([], "next"), count([], "last")]
    left, values, told = run(cells, device=torch.device("cuda", 0))
    assert left == 2
    assert values == {"bad": {"error": "RuntimeError: a kernel's fault"}}
    assert told[-1] == "bad: the GPU no longer answers this process"
    is_lost = False
    left, values, _ = run([*cells, Cell("worse", fail, 1.0)], device=torch.device("cuda", 0))
    assert left == 0
    assert list(values) == ["bad", "last", "next", "worse"]


def test_results_of_two_machines_are_not_mixed(run):
    run([count([], "a")])
    with pytest.raises(ValueError, match=r"has results of .*'one'.* but this is .*'other'.*output"):
        run([count([], "b")], facts={"device": "other"})
