"""What a run measured stands in the model's MLflow run."""

import pytest

from benchmarks.decoding.contenders import Variant
from benchmarks.decoding.findings import Findings
from benchmarks.decoding.mlflow_log import list_speeds, log_findings
from benchmarks.decoding.project import Project
from benchmarks.decoding.sampling import Cell
from transformer.model.checkpoint import model_hash


@pytest.fixture
def findings(measured):
    variants = [Variant("onnx-int8", 1), Variant("onnx-int8", 2)]
    found = Findings([Cell(1, 1), Cell(8, 1)], variants)
    found.measurements = measured("onnx-int8", [90, 100, 110])
    found.measurements += measured("onnx-int8", [140, 150, 160], threads=2)
    return found


def test_each_contender_has_its_best_setting_where_it_was_measured(findings):
    assert list_speeds(findings) == {"benchmark.onnx-int8.batch_1.greedy.tokens_per_second": 150.0}


def test_they_join_the_run_of_the_model_if_there_is_one(findings, tmp_path, monkeypatch):
    from mlflow.tracking import MlflowClient

    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    checkpoint = tmp_path / "models/checkpoint"
    checkpoint.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (checkpoint / name).write_text("{}")
    project = Project(tmp_path)
    assert not log_findings(findings, project, "# Page")

    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    experiment = client.create_experiment("toy", artifact_location=(tmp_path / "files").as_uri())
    run = client.create_run(experiment, tags={"model_hash": model_hash(checkpoint)})
    for _ in range(2):
        log_findings(findings, project, "# Page")
    (name,) = list_speeds(findings)
    history = client.get_metric_history(run.info.run_id, name)
    assert [one.value for one in history] == [150.0]
    assert [file.path for file in client.list_artifacts(run.info.run_id, "benchmark")] == [
        "benchmark/decoding.md"
    ]
