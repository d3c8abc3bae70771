"""One rank of several: runs jobs, one after the other, and leaves what came of each.

Usage: python rank_worker.py FOLDER, with torchrun's variables in the environment, and MACHINE, the
name that this machine shall have. FOLDER holds jobs.json, a list of {"name", "config", "model"};
optional: "stop_rank" with "stop_after" (that rank asks for the end after so many steps), "fails" (a
rank, whose loss is spoilt at step 3) with "how" (nan or memory), "from" (the name of the states to
save to and go on from).
"""

import importlib.util
import json
import os
import pickle
import socket
import sys
from pathlib import Path

import torch

from transformer.model.config import ModelConfig
from transformer.model.weights import model_weights
from transformer.training.config import TrainConfig
from transformer.training.distributed import connected
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.problems import DivergedError
from transformer.training.state_store import StateStore
from transformer.training.trainer import Trainer


def run(job, ids, ranks, folder):
    seen = []
    calls = 0

    def is_stop_requested():
        nonlocal calls
        calls += 1
        return ranks.rank == job.get("stop_rank") and calls > job["stop_after"]

    resume = Resume(is_stop_requested=is_stop_requested)
    if "from" in job and ranks.is_first:
        store = StateStore(folder / job["from"])
        resume = Resume(lambda: store.load().saved, store.save, is_stop_requested)
    config = TrainConfig.model_validate(job["config"])
    trainer = Trainer(config, ModelConfig(**job["model"]), ids, resume=resume, ranks=ranks)
    loss = trainer._loss

    def watched_loss(batch):
        seen.append((trainer.state.step, batch.source.tolist()))
        if trainer.state.step == 2 and job.get("fails") == ranks.rank:
            if job["how"] == "memory":
                raise torch.OutOfMemoryError("CUDA out of memory")
            value, hidden = loss(batch)
            return value * float("nan"), hidden
        return loss(batch)

    trainer._loss = watched_loss
    local = (ranks.local_rank, ranks.local_world_size)
    outcome = {"started_at": trainer.state.step, "seen": seen, "local": local}
    try:
        result = trainer.run()
    except TrainingStopped as stopped:
        return outcome | {"stopped_at": stopped.step}
    except DivergedError as error:
        return outcome | {"error": str(error)}
    return outcome | {
        "weights": model_weights(result.model),
        "train_rows": result.train_rows,
        "valid_rows": result.valid_rows,
        "summary": result.summary,
    }


def main(folder):
    torch.set_num_threads(1)
    socket.gethostname = lambda: os.environ["MACHINE"]
    path = Path(__file__).with_name("conftest.py")
    spec = importlib.util.spec_from_file_location("training_conftest", path)
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    ids = conftest.make_copy_ids()
    with connected() as ranks:
        for job in json.loads((folder / "jobs.json").read_text()):
            try:
                outcome = run(job, ids, ranks, folder)
            except Exception as error:
                if ranks.is_first_to_fail():
                    print(f"rank {ranks.rank}: {type(error).__name__}: {error}")
                sys.exit(1)
            (folder / f"{job['name']}.{ranks.rank}.pkl").write_bytes(pickle.dumps(outcome))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
