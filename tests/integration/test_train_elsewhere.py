"""Packed here, trained where DVC, MLflow and datasets are not installed, adopted here."""

import json
import os
import subprocess
import venv
from importlib import metadata
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow


def make_environment(folder: Path, requirements: list[str]) -> Path:
    """An environment of what the requirements need and no more, linked from this one.

    Returns its Python.
    """
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    todo, done = [Requirement(line) for line in requirements], set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        is_for_here = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if name in done or not is_for_here:
            continue
        done.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # such as CUDA's, which a CPU's torch does without
            continue
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(found.locate_file(top)))
        todo += [Requirement(line) for line in found.requires or ()]
    return folder / "bin" / "python"


def there(box: Path, *command: object) -> str:
    """Runs a command in a packed folder, with nothing of this project's but that."""
    kept = ("HOME", "PATH", "TMPDIR", "OMP_WAIT_POLICY")
    done = subprocess.run(
        [str(word) for word in command],
        cwd=box,
        env={name: os.environ[name] for name in kept if name in os.environ}
        | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def box(clone, tmp_path_factory):
    """A packed folder in which both stages have run, and the clone that it is of."""
    clone.make_tiny("train.device=cpu", "evaluate.device=cpu", "train.max_epochs=1")
    folder = tmp_path_factory.mktemp("elsewhere") / "box"
    refused = clone.pipeline("pack", str(folder), check=False)
    assert refused.returncode == 1
    assert "are to be run first, by `dvc repro tokenize pretrain`" in refused.stderr
    assert not folder.exists()
    clone.dvc("repro", "tokenize", "pretrain")
    assert "pip install -r requirements.txt" in clone.pipeline("pack", str(folder)).stdout

    requirements = (folder / "requirements.txt").read_text().splitlines()
    python = make_environment(folder.parent / "environment", requirements)
    for name in ("dvc", "mlflow", "datasets", "pandas", "onnxruntime"):
        there(folder, python, "-c", f"import importlib.util as u; assert not u.find_spec('{name}')")
    for stage in ("train", "evaluate"):
        printed = there(folder, python, "-m", "pipeline", stage)
        assert printed.count("mlflow is not installed") == 1
        assert "Warning" not in printed
    return folder


def results(clone) -> dict[str, bytes]:
    names = ["models/checkpoint/model.safetensors", "reports/train.json", "reports/evaluate.json"]
    return {name: (clone.folder / name).read_bytes() for name in ["dvc.lock", *names]}


def test_adopted_results_are_those_of_a_training_at_home(clone, box):
    told = clone.pipeline("adopt", str(box)).stdout
    assert "trained on cpu" in told
    adopted = results(clone)
    dry = clone.dvc("repro", "--dry").stdout
    assert [line for line in dry.splitlines() if line.startswith("Running")] == [
        "Running stage 'export':"
    ]

    (run,) = runs(clone)
    (evaluation,) = runs(clone, parent=run.info.run_id)
    scores = json.loads(clone.read("reports/metrics/evaluate.json"))
    assert evaluation.data.metrics["bleu"] == scores["bleu"]
    assert run.info.run_id in told
    assert {"valid_loss", "train_loss"} <= run.data.metrics.keys()
    assert run.data.tags["device"].startswith("cpu: ")
    assert run.data.tags["version.torch"]

    clone.pipeline("adopt", str(box))
    assert results(clone) == adopted
    assert len(runs(clone)) == 1

    clone.dvc("repro", "--force", "--single-item", "train", "evaluate")
    assert results(clone) == adopted


def test_other_params_at_home_are_refused(clone, box):
    clone.make_tiny("train.device=cpu", "evaluate.device=cpu", "train.seed=5")
    lock = clone.read("dvc.lock")
    refused = clone.pipeline("adopt", str(box), check=False)
    assert refused.returncode == 1
    assert "params.yaml: train.seed is 5 here, 1 there" in refused.stderr
    assert "params.yaml: train.max_epochs is 6 here, 1 there" in refused.stderr
    assert clone.read("dvc.lock") == lock


def runs(clone, parent: str | None = None) -> list:
    client = MlflowClient(f"sqlite:///{clone.folder}/mlruns/mlflow.db")
    found = client.search_runs([one.experiment_id for one in client.search_experiments()])
    return [run for run in found if run.data.tags.get("mlflow.parentRunId") == parent]
