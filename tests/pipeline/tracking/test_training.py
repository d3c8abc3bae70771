"""What a training tells MLflow while it runs, and when it ends."""

import math
from pathlib import Path

import pytest

from pipeline.recipes import make_params
from pipeline.tracking.training import TrackingReporter, track_training
from transformer.files import write_sealed
from transformer.monitoring.throughput import Speed
from transformer.training.interruption import TrainingStopped
from transformer.training.reporting import TrainRow, ValidRow


def speed(tokens_per_second: float) -> Speed:
    return Speed(tokens_per_second, 1.0, 0.25, None, 2**30, 0.0)


def train(reporter: TrackingReporter, *steps: int) -> None:
    reporter.on_start(40, 9, 0)
    for step in steps:
        reporter.on_log(TrainRow(step, step / 4, 0.1, 1.0), speed(100.0))
        if step % 30 == 0:
            reporter.on_validation(ValidRow(step, 1.0, 2.7, 0.5))
    reporter.on_end()


def test_a_training_is_one_run_with_curves_data_and_machine(project):
    with track_training() as reporter:
        train(reporter, 10, 20, 30)
        reporter.log_outcome("h1")
    (run,) = project.runs()
    assert run.info.status == "FINISHED"
    run_id = run.info.run_id
    assert project.history(run_id, "train_loss") == [(10, 2.5), (20, 5.0), (30, 7.5)]
    speeds = project.history(run_id, "workload.tokens_per_second")
    assert speeds == [(10, 100), (20, 100), (30, 100)]
    assert project.history(run_id, "accuracy") == [(30, 0.5)]
    assert 0 < run.data.metrics["workload.system_memory_usage_percentage"] < 100
    assert math.isfinite(run.data.metrics["workload.cpu_utilization_percentage"])
    tags = run.data.tags
    assert (tags["model_hash"], tags["corpus"], tags["num_steps"]) == ("h1", "toy", "40")
    assert tags["corpus.sha256.train"] == "1" * 64
    assert tags["device"].startswith(("cpu: ", "cuda: "))
    assert tags["version.mlflow"]
    data = {one.dataset.name: one.dataset.digest for one in run.inputs.dataset_inputs}
    assert data.keys() == {"toy", "toy ids"}
    assert {len(digest) for digest in data.values()} == {36}
    assert project.artifacts(run_id) == {"data", "train"}
    assert "data/rejects" in project.artifacts(run_id, "data")


def test_steps_that_a_run_has_are_not_logged_again(project, tmp_path):
    def stop() -> None:
        with track_training(tmp_path) as reporter:
            train(reporter, 10, 20)
            raise TrainingStopped(20, 40)

    with pytest.raises(TrainingStopped):
        stop()
    assert project.runs()[0].info.status == "KILLED"
    with track_training(tmp_path) as reporter:
        train(reporter, 20, 30)
    (run,) = project.runs()
    assert run.info.status == "FINISHED"
    steps = [step for step, _ in project.history(run.info.run_id, "train_loss")]
    assert steps == [10, 20, 30]


def test_steps_that_were_lost_with_the_process_come_from_the_curves(project):
    with track_training() as reporter:
        train(reporter, 10, 30)
        reporter.log_outcome("h1")
    (run,) = project.runs()
    history = project.history(run.info.run_id, "train_loss")
    assert sorted(history) == [(10, 2.5), (20, 5.0), (30, 7.5)]


@pytest.mark.parametrize("start", ["null", "pretrained"])
def test_pretraining_is_told_where_training_begins_with_it(project, make_pretrain, start):
    changes = [make_pretrain(seed=2), f"train.initialize_from={start}"]
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    manifest = {"kind": "masked", "summary": {"steps": 7, "valid_perplexity": 9.5}}
    Path("models/pretrained").mkdir(parents=True)
    write_sealed(Path("models/pretrained/manifest.json"), manifest)
    with track_training() as reporter:
        train(reporter, 10)
    (run,) = project.runs()
    told = (
        run.data.tags.get("pretraining"),
        run.data.params.get("pretrain.train.seed"),
        run.data.metrics.get("pretrain.valid_perplexity"),
        "pretraining" in project.artifacts(run.info.run_id),
    )
    assert told == (("masked", "2", 9.5, True) if start == "pretrained" else (None,) * 3 + (False,))


@pytest.mark.parametrize(
    "manifest",
    [{}, {"kind": "masked", "summary": 7}, {"kind": "masked", "summary": {"a": 10**400}}],
)
def test_a_forged_manifest_of_pretraining_is_told(project, make_pretrain, manifest):
    changes = [make_pretrain(seed=2), "train.initialize_from=pretrained"]
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    Path("models/pretrained").mkdir(parents=True)
    write_sealed(Path("models/pretrained/manifest.json"), manifest)
    with (
        pytest.raises(ValueError, match=r"manifest\.json is damaged .* `pretrain` again"),
        track_training() as reporter,
    ):
        train(reporter, 10)


def refuse() -> None:
    with track_training():
        raise ValueError("a setting that doesn't fit")


def test_a_training_refused_before_its_first_step_leaves_no_run(place):
    with pytest.raises(ValueError, match="a setting"):
        refuse()
    assert place.runs() == []


def fail() -> None:
    with track_training() as reporter:
        train(reporter, 10)
        raise ValueError("diverged")


def test_a_training_that_fails_leaves_a_failed_run(project):
    with pytest.raises(ValueError, match="diverged"):
        fail()
    (run,) = project.runs()
    assert run.info.status == "FAILED"
    assert project.history(run.info.run_id, "train_loss") == [(10, 2.5)]


def test_ids_without_a_corpus_beside_them_are_tracked_too(place):
    with track_training() as reporter:
        train(reporter, 10)
    (run,) = place.runs()
    assert place.client().get_experiment(run.info.experiment_id).name == "training"


def test_what_could_not_be_measured_is_left_out(place):
    with track_training() as reporter:
        reporter.on_start(40, 9, 0)
        reporter.on_log(TrainRow(10, 1.0, 0.1, 1.0), speed(1.0))
    metrics = place.runs()[0].data.metrics
    assert metrics["workload.padding_share"] == 0.25
    assert "workload.mfu" not in metrics
