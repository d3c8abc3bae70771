"""Processes that train together do what one does."""

import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.distributed import HashStore

from transformer.training.distributed import Ranks, connected
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.state_store import StateStore
from transformer.training.trainer import Trainer

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("rank_worker.py")
# Adam blows up the rounding of tiny gradients, hence its epsilon.
OPTIMIZER = {"kind": "adamw", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-4, "weight_decay": 0.01}
PLAIN = {"dropout": 0.0}

# Changes to the config and to the model. Masks are drawn for each part of a batch, so that they
# are the same on two processes where these need not cut further than one does.
SAME_AS_ONE = {
    "dropout, two parts": ({"batch_tokens": 64, "gradient_accumulation": 2}, {}),
    "dropout, four parts": ({"batch_tokens": 32, "gradient_accumulation": 4}, {}),
    "one part, cut in two": ({}, PLAIN),
    "two parts": ({"batch_tokens": 64, "gradient_accumulation": 2}, PLAIN),
    "four parts": ({"batch_tokens": 32, "gradient_accumulation": 4}, PLAIN),
    "three parts, cut in four": ({"batch_tokens": 48, "gradient_accumulation": 3}, PLAIN),
    "batches of one or two sentences": ({"batch_tokens": 12, "max_grad_norm": None}, PLAIN),
    "averaged, stopping early": (
        {
            "batch_tokens": 64,
            "gradient_accumulation": 2,
            "learning_rate": 0.1,
            "max_steps": 60,
            "validate_every_steps": 2,
            "early_stopping_patience": 2,
            "average_checkpoints": 2,
        },
        PLAIN,
    ),
    "so many sentences, with the accuracy of epochs": (
        {
            "batch_tokens": None,
            "batch_sentences": 40,
            "gradient_accumulation": 2,
            "accuracy_steps": 3,
        },
        PLAIN,
    ),
    "bfloat16": (
        {"precision": "bfloat16", "batch_tokens": 64, "gradient_accumulation": 2},
        PLAIN,
    ),
}
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}
HALF_TOLERANCE = {"rtol": 2e-2, "atol": 2e-3}
SIX_PARTS = {"batch_tokens": 32, "gradient_accumulation": 6}
TWO_PARTS = {"batch_tokens": 64, "gradient_accumulation": 2, "average_checkpoints": 2}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def run_ranks(folder, jobs, num_ranks=2, machines=None):
    """Runs jobs in real processes: (the printed text, the exit codes).

    Each is told as little as a Kubernetes job tells its pods. `machines`: the names of theirs.
    """
    (folder / "jobs.json").write_text(json.dumps(jobs))
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": str(num_ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port(),
    }
    machines = machines or ["here"] * num_ranks
    processes = [
        subprocess.Popen(
            [sys.executable, WORKER, folder],
            env=environment | {"RANK": str(rank), "MACHINE": machines[rank]},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(num_ranks)
    ]
    printed = [process.communicate()[0] for process in processes]
    return "".join(printed), [process.returncode for process in processes]


@pytest.fixture(scope="module")
def make_job(train_config, model_config):
    """A job for both ranks: changes to the config and the model, and what the worker can do."""

    def make(name, changes=(), model_changes=(), **options):
        config = train_config(optimizer=OPTIMIZER, num_processes=2, **dict(changes))
        model = model_config.model_dump() | dict(model_changes)
        return {"name": name, "config": config.model_dump(), "model": model} | options

    return make


@pytest.fixture(scope="module")
def outcomes(make_job, tmp_path_factory):
    """What came of every job that ends well, by name, for each rank."""
    folder = tmp_path_factory.mktemp("ranks")
    jobs = [make_job(name, *changes) for name, changes in SAME_AS_ONE.items()]
    jobs += [
        make_job("whole", TWO_PARTS),
        make_job("stopped", TWO_PARTS, **{"from": "states"}, stop_rank=1, stop_after=5),
        make_job("resumed", TWO_PARTS, **{"from": "states"}),
        make_job("diverging", TWO_PARTS, fails=1, how="nan"),
        make_job("for one process", TWO_PARTS, **{"from": "two"}, stop_rank=0, stop_after=7),
    ]
    printed, codes = run_ranks(folder, jobs)
    assert codes == [0, 0], printed

    def read(name):
        return [pickle.loads((folder / f"{name}.{rank}.pkl").read_bytes()) for rank in (0, 1)]

    return {job["name"]: read(job["name"]) for job in jobs} | {"folder": folder}


def alone(config, model, ids, resume=None):
    """What comes of the same training in this process."""
    result = Trainer(config, model, ids, resume=resume).run()
    return {
        "weights": dict(result.model.named_parameters()),
        "train_rows": result.train_rows,
        "valid_rows": result.valid_rows,
        "summary": result.summary,
    }


def assert_same(two, one, rtol, atol):
    for kind in ("train_rows", "valid_rows"):
        assert [row.step for row in two[kind]] == [row.step for row in one[kind]]
        torch.testing.assert_close(
            torch.tensor(two[kind]), torch.tensor(one[kind]), rtol=rtol, atol=atol
        )
    for name, value in two["weights"].items():
        torch.testing.assert_close(value, one["weights"][name].detach(), rtol=rtol, atol=atol)


def assert_equal(first, second):
    for kind in ("train_rows", "valid_rows", "summary"):
        assert first[kind] == second[kind]
    for name, value in first["weights"].items():
        assert torch.equal(value, second["weights"][name])


@pytest.mark.parametrize("name", SAME_AS_ONE)
def test_two_processes_give_the_curve_and_weights_of_one(
    name, outcomes, train_config, model_config, copy_ids
):
    changes, model_changes = SAME_AS_ONE[name]
    config = train_config(optimizer=OPTIMIZER, **changes)
    one = alone(config, model_config.model_copy(update=model_changes), copy_ids)
    is_half = changes.get("precision") == "bfloat16"
    assert_same(outcomes[name][0], one, **(HALF_TOLERANCE if is_half else TOLERANCE))
    if "accuracy_steps" in changes:
        shares = [
            summary["train_accuracy"] for summary in (outcomes[name][0]["summary"], one["summary"])
        ]
        assert shares[0] == pytest.approx(shares[1], abs=2e-3)
    if "early_stopping_patience" in changes:
        assert one["summary"]["steps"] < changes["max_steps"]


@pytest.mark.parametrize("name", [*SAME_AS_ONE, "whole", "resumed"])
def test_both_ranks_hold_the_same_bits(name, outcomes):
    assert_equal(*outcomes[name])


def test_half_the_batch_with_twice_the_accumulation_is_the_same_on_two_processes(outcomes):
    assert_same(outcomes["four parts"][0], outcomes["two parts"][0], **TOLERANCE)


def test_every_sentence_of_a_step_is_on_one_rank(outcomes, copy_ids):
    def sentences(seen, step):
        return [
            tuple(id for id in row if id != copy_ids.meta.source.pad_id)
            for at, rows in seen
            for row in rows
            if at == step
        ]

    first, second = (outcome["seen"] for outcome in outcomes["whole"])
    resumed = [outcome["seen"] for outcome in outcomes["resumed"]]
    for step in range(12):
        assert sentences(first, step)
        assert sentences(second, step)
        if step >= 5:
            assert sentences(resumed[0], step) == sentences(first, step)
            assert sentences(resumed[1], step) == sentences(second, step)


def test_a_rank_without_a_sentence_takes_part(outcomes):
    steps = [
        {step for step, _ in outcome["seen"]}
        for outcome in outcomes["batches of one or two sentences"]
    ]
    assert steps[0] == set(range(12))
    assert set() < steps[1] < steps[0]


def test_all_stop_at_the_step_at_which_one_is_asked_to(outcomes):
    assert [outcome["stopped_at"] for outcome in outcomes["stopped"]] == [5, 5]


def test_two_processes_that_were_stopped_end_as_if_they_ran_through(outcomes):
    assert [outcome["started_at"] for outcome in outcomes["resumed"]] == [5, 5]
    assert_equal(outcomes["resumed"][0], outcomes["whole"][0])


@pytest.mark.slow
def test_three_processes_that_were_stopped_end_as_if_they_ran_through(make_job, tmp_path):
    """From three on, the order of a sum depends on where in its buffer a gradient lies."""
    jobs = [
        make_job("whole", SIX_PARTS),
        make_job("stopped", SIX_PARTS, **{"from": "states"}, stop_rank=2, stop_after=5),
        make_job("resumed", SIX_PARTS, **{"from": "states"}),
    ]
    printed, codes = run_ranks(tmp_path, jobs, 3, ["one", "other", "one"])
    assert codes == [0, 0, 0], printed

    def read(name):
        return [pickle.loads((tmp_path / f"{name}.{rank}.pkl").read_bytes()) for rank in range(3)]

    assert [outcome["stopped_at"] for outcome in read("stopped")] == [5, 5, 5]
    for whole, resumed in zip(read("whole"), read("resumed"), strict=True):
        assert resumed["started_at"] == 5
        assert_equal(resumed, whole)
    # They count those of their machine by its name.
    assert [outcome["local"] for outcome in read("whole")] == [(0, 2), (0, 1), (1, 2)]


def test_one_process_goes_on_where_two_were_stopped(outcomes, train_config, model_config, copy_ids):
    config = train_config(optimizer=OPTIMIZER, **TWO_PARTS)
    saved = StateStore(outcomes["folder"] / "two").load().saved
    assert saved.step == 7
    one = alone(config, model_config, copy_ids, Resume(lambda: saved))
    assert_same(outcomes["whole"][0], one, **TOLERANCE)


def test_two_processes_go_on_where_one_was_stopped(
    outcomes, train_config, model_config, copy_ids, make_job, tmp_path
):
    config = train_config(optimizer=OPTIMIZER, **TWO_PARTS)
    calls = iter(range(100))
    store = StateStore(tmp_path / "states")
    resume = Resume(save=store.save, is_stop_requested=lambda: next(calls) == 6)
    with pytest.raises(TrainingStopped):
        Trainer(config, model_config, copy_ids, resume=resume).run()
    printed, codes = run_ranks(tmp_path, [make_job("on", TWO_PARTS, **{"from": "states"})])
    assert codes == [0, 0], printed
    on = pickle.loads((tmp_path / "on.1.pkl").read_bytes())
    assert on["started_at"] == 6
    assert_same(on, outcomes["whole"][0], **TOLERANCE)


def test_a_loss_that_is_not_finite_on_one_rank_ends_all_with_the_same_word(outcomes):
    first, second = (outcome["error"] for outcome in outcomes["diverging"])
    assert first == second
    assert "not finite at step 3" in first


def test_a_rank_that_fails_brings_the_others_down_and_tells_it_once(make_job, tmp_path):
    printed, codes = run_ranks(tmp_path, [make_job("full", TWO_PARTS, fails=1, how="memory")])
    assert codes == [1, 1]
    (line,) = printed.strip().split("\n")
    assert line.startswith("rank 1: ValueError: out of memory at step 3, batch of ")
    assert "lower train.batch_tokens = 64" in line


@pytest.fixture
def gpus(monkeypatch):
    """Stands in for CUDA: GPUs by what tells one from all others; the device that was set."""
    cuda = SimpleNamespace(visible=["a"], device=None)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(cuda.visible))
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: setattr(cuda, "device", index))
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda index: SimpleNamespace(uuid=cuda.visible[index]),
    )
    return cuda


GPU = torch.device("cuda")


@pytest.mark.parametrize("num_gpus", [1, 8])
def test_a_single_process_takes_the_first_gpu(gpus, num_gpus):
    gpus.visible = list("abcdefgh"[:num_gpus])
    assert Ranks().device(GPU) == torch.device("cuda", 0)
    assert gpus.device == 0


def test_a_rank_takes_the_gpu_of_its_number_on_its_machine(gpus):
    gpus.visible = ["a", "b", "c"]
    assert Ranks(5, 6, 2, 3).device(GPU) == torch.device("cuda", 2)
    assert gpus.device == 2


def test_ranks_that_see_one_gpu_each_take_it(gpus):
    store = HashStore()
    for rank, gpu in enumerate(("a", "b")):
        gpus.visible = [gpu]
        ranks = Ranks(rank, 2, rank, 2, store)
        assert ranks.device(GPU) == ranks.device(GPU) == torch.device("cuda", 0)


def test_two_ranks_on_the_only_gpu_are_refused(gpus):
    store = HashStore()
    Ranks(0, 2, 0, 2, store).device(GPU)
    with pytest.raises(ValueError, match=r"2 processes train on this machine, but it has 1 GPU"):
        Ranks(1, 2, 1, 2, store).device(GPU)


def test_a_machine_with_too_few_gpus_is_refused(gpus):
    gpus.visible = ["a", "b"]
    ranks = Ranks(1, 4, 1, 4)
    with pytest.raises(ValueError, match=r"4 processes train on this machine, but it has 2 GPUs"):
        ranks.device(GPU)
    assert ranks.device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("num_sentences", [1, 2, 5, 64])
@pytest.mark.parametrize("num_parts", [1, 2, 3, 8])
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_the_ranks_share_out_a_batch(num_sentences, num_parts, world_size):
    indices = np.arange(100, 100 + num_sentences)
    shares = [Ranks(rank, world_size).shard(indices, num_parts) for rank in range(world_size)]
    parts = dict(part for share in shares for part in share)
    assert sum(map(len, shares)) == len(parts)
    together = np.concatenate([parts[number] for number in sorted(parts)])
    assert together.tolist() == indices.tolist()
    sizes = [sum(len(part) for _, part in share) for share in shares]
    most = -(-num_parts // world_size)
    assert max(sizes) - min(sizes) <= most


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE"])
def test_a_variable_that_is_missing_is_named(name, monkeypatch):
    for each in ("RANK", "WORLD_SIZE"):
        monkeypatch.setenv(each, "0")
    monkeypatch.delenv(name)
    with pytest.raises(ValueError, match=f"environment variable {name} is ''"), connected():
        pass


def test_a_variable_that_is_no_number_is_named(monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "first")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="variable LOCAL_RANK is 'first'"), connected():
        pass


def test_ranks_that_are_not_told_where_they_meet_say_so(monkeypatch):
    for each in ("RANK", "WORLD_SIZE"):
        monkeypatch.setenv(each, "1")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(ValueError, match=r"rank 1 can't join .* MASTER_ADDR"), connected():
        pass
