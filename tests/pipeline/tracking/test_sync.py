"""`sync` brings MLflow level with what lies here, and again changes nothing."""

import json
import math
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from pipeline.experiments.mlflow_runs import read_run
from pipeline.params import read_params
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.registry import translator_hash
from pipeline.tracking.runs import begin_run
from pipeline.tracking.training import track_training
from transformer.files import sha256_file
from transformer.model.checkpoint import model_hash
from transformer.serving.card import load_card

OUTS = {
    "train": ["models/checkpoint", "reports/train.json"],
    "evaluate": ["reports/evaluate.json", "reports/attention"],
    "export": ["models/translator", "reports/export.json"],
}
PARAMS = {"train": ["model", "train"], "evaluate": ["search"], "export": ["export"]}


@pytest.fixture
def synced(project):
    """The project with a checkpoint."""
    folder = Path("models/checkpoint")
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return project


def write_lock() -> None:
    """As `dvc repro` leaves it."""
    params = read_params()
    stages = {
        name: {
            "outs": [{"path": path, "md5": dvc_digest(Path(path))} for path in outs],
            "params": {"params.yaml": {section: params[section] for section in PARAMS[name]}},
        }
        for name, outs in OUTS.items()
    }
    YAML().dump({"schema": "2.0", "stages": stages}, Path("dvc.lock"))


def sync() -> tuple[int, str]:
    from pipeline.__main__ import app

    done = CliRunner().invoke(app, ["sync"])
    return done.exit_code, done.output + (str(done.exception) if done.exception else "")


def everything(project) -> list:
    """All that MLflow has, but for times."""
    return [
        (
            run.info.run_id,
            run.info.status,
            run.info.end_time,
            run.data.params,
            run.data.tags,
            {name: project.history(run.info.run_id, name) for name in run.data.metrics},
            len(run.inputs.dataset_inputs),
        )
        for run in project.runs() + project.runs(parents=False)
    ] + [
        [version.version for version in project.client().search_model_versions()],
        [one.to_dictionary() for one in models(project)],
    ]


def models(project) -> list:
    """The models that MLflow has, by name."""
    found = project.client().search_experiments()
    experiments = [experiment.experiment_id for experiment in found]
    return sorted(
        project.client().search_logged_models(experiments), key=lambda one: (one.name, one.model_id)
    )


def test_what_the_stages_left_makes_a_whole_run(synced):
    write_lock()
    status, output = sync()
    assert status == 0
    assert f"level with dvc.lock {sha256_file(Path('dvc.lock'))[:12]}" in output
    assert "translator, version 1" in output
    (run,) = synced.runs()
    run_id = run.info.run_id
    assert (run.info.run_name, run.info.status) == ("phrasebook, learning_rate 0.002", "FINISHED")
    assert run.data.tags["model_hash"] == model_hash(Path("models/checkpoint"))
    assert len(synced.history(run_id, "train_loss")) == 3
    assert {one.dataset.name for one in run.inputs.dataset_inputs} == {"toy", "toy ids"}
    assert synced.artifacts(run_id) == {"curves", "data", "train"}
    (child,) = synced.runs(parents=False)
    assert child.info.run_name == "40.51 phrasebook, learning_rate 0.002, beam 4"
    # Rounded; all of the report is among the artefacts.
    scores = {"bleu": 40.51, "bleu_low": 39.0, "bleu_high": 42.0}
    assert child.data.metrics == scores | {"float32_bleu": 40.51}
    assert child.data.tags["dvc_lock"] == sha256_file(Path("dvc.lock"))
    assert child.data.tags["signature.bleu"].startswith("nrefs:1")
    assert [one.dataset.name for one in child.inputs.dataset_inputs] == ["toy test"]
    assert {"attention", "evaluate", "export"} <= synced.artifacts(child.info.run_id)
    assert synced.artifacts(child.info.run_id, "attention") == {"attention/00000-un-chat-dort.png"}


def test_figures_of_another_search_stand_in_a_run_of_their_own(synced):
    write_lock()
    sync()
    report, params = Path("reports/evaluate.json"), Path("params.yaml")
    report.write_text(report.read_text().replace("40.5062", "38.0"))
    params.write_text(params.read_text().replace("beam_size: 4", "beam_size: 1"))
    write_lock()
    lock = YAML(typ="safe").load(Path("dvc.lock"))
    lock["stages"]["export"]["deps"] = [{"path": "models/checkpoint", "md5": "0" * 32}]
    YAML().dump(lock, Path("dvc.lock"))
    assert "export is left out" in sync()[1]
    found = {
        run.data.params["search.beam_size"]: (
            run.data.metrics["bleu"],
            "float32_bleu" in run.data.metrics,
        )
        for run in synced.runs(parents=False)
    }
    assert found == {"4": (40.51, True), "1": (38.0, False)}


def test_a_precision_that_was_left_out_since_has_no_figure(synced):
    report = Path("reports/export.json")
    with_int8 = {"onnx_bleu": 40.5062, "int8_bleu": 39.0, "bleu_signature": "s"}
    report.write_text(json.dumps(with_int8))
    sync()
    (run,) = synced.runs(parents=False)
    assert run.data.metrics["int8_bleu"] == 39.0
    report.write_text(json.dumps({"onnx_bleu": 40.5062, "bleu_signature": "s"}))
    for _ in range(2):
        sync()
        (run,) = synced.runs(parents=False)
        assert math.isnan(run.data.metrics["int8_bleu"])
        # Of the registered model, of the precision's, and none.
        assert len(synced.history(run.info.run_id, "int8_bleu")) == 3


def test_again_it_changes_nothing(synced):
    write_lock()
    sync()
    before = everything(synced)
    assert sync()[0] == 0
    assert everything(synced) == before


def test_it_completes_a_run_whose_tracker_went_away(synced):
    """Stopped between train's tag and the end: the run is open, and lacks what came after."""
    run = begin_run()
    run.tags({"model_hash": model_hash(Path("models/checkpoint"))})
    run.log({"train_loss": 2.5}, 10)
    run.flush()
    write_lock()
    assert sync()[0] == 0
    (found,) = synced.runs()
    assert (found.info.run_id, found.info.status) == (run.run_id, "FINISHED")
    assert synced.history(run.run_id, "train_loss") == [(10, 2.5), (20, 5.0), (30, 7.5)]


def test_results_that_came_back_replace_the_figures(synced):
    """As when DVC restores an earlier search's results from its run cache."""
    write_lock()
    sync()
    report = Path("reports/evaluate.json")
    first = report.read_text()
    for text in (first.replace("40.5062", "41.5"), first):
        report.write_text(text)
        write_lock()
        assert sync()[0] == 0
    (run,) = synced.runs(parents=False)
    assert run.info.run_name.startswith("40.51 ")
    assert synced.history(run.info.run_id, "bleu") == [(0, 40.51), (0, 41.5), (0, 40.51)]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda: Path("models/checkpoint/config.json").write_text("[]"),
            "models/checkpoint is not",
        ),
        (lambda: Path("reports/train.json").unlink(), "reports/train.json is missing"),
        (
            lambda: Path("params.yaml").write_text(
                Path("params.yaml").read_text().replace("max_epochs: 1", "max_epochs: 9")
            ),
            "params.yaml has another train than dvc.lock",
        ),
    ],
)
def test_a_model_that_is_not_that_of_the_lock_is_refused(synced, edit, message):
    write_lock()
    edit()
    status, output = sync()
    assert status == 1
    assert message in output
    assert "dvc repro" in output
    assert "git checkout COMMIT -- dvc.lock params.yaml reports" in output
    assert synced.runs() == []


def test_a_later_stage_that_is_not_level_is_left_out_and_told(synced):
    write_lock()
    Path("reports/evaluate.json").write_text('{"bleu": 99.0, "signatures": {}}')
    status, output = sync()
    assert status == 0
    assert "evaluate is left out: reports/evaluate.json is not the one of dvc.lock" in output
    (run,) = synced.runs(parents=False)
    assert run.data.metrics == {"float32_bleu": 40.51}
    assert run.info.run_name == "phrasebook, learning_rate 0.002, beam 4"
    assert "dvc_lock" not in run.data.tags


def test_a_translator_of_the_model_before_is_left_out(synced):
    """As after `dvc repro evaluate`: dvc.lock has the export still, of the checkpoint before."""
    write_lock()
    lock = YAML(typ="safe").load(Path("dvc.lock"))
    lock["stages"]["export"]["deps"] = [{"path": "models/checkpoint", "md5": "0" * 32}]
    YAML().dump(lock, Path("dvc.lock"))
    status, output = sync()
    assert status == 0
    assert "export is left out: it was made from another models/checkpoint" in output
    (run,) = synced.runs(parents=False)
    assert "float32_bleu" not in run.data.metrics


def test_a_quick_evaluation_is_ranked_beside_no_whole_one(synced):
    report = Path("reports/evaluate.json")
    values = json.loads(report.read_text())
    report.write_text(json.dumps(values | {"num_sentences": 4, "sampled_from": 900}))
    write_lock()
    assert sync()[0] == 0
    (run,) = synced.runs(parents=False)
    assert run.data.metrics["quick_bleu"] == 40.51
    assert "bleu" not in run.data.metrics
    assert run.data.tags["tested_on"] == "4 of 900 sentences"


def test_further_sets_stand_in_the_run_of_the_test_set(synced):
    assert sync()[0] == 0
    report = Path("reports/evaluate.json")
    values = json.loads(report.read_text())
    one = {"bleu": 31.256, "chrf": 50.0, "ter": 60.0, "quality": "comet", "comet": 0.8125}
    report.write_text(json.dumps(values | {"sets": {"typos": one | {"sha256": "c" * 64}}}))
    Path("reports/sets").mkdir()
    shutil.copyfile("reports/translations.csv", "reports/sets/typos.csv")
    write_lock()
    assert sync()[0] == 0
    (run,) = synced.runs(parents=False)
    figures = {"bleu": 31.26, "chrf": 50.0, "ter": 60.0, "comet": 0.8125}
    for name, value in figures.items():
        assert run.data.metrics[f"typos.{name}"] == value
    assert run.data.metrics["bleu"] == 40.51
    datasets = {one.dataset.name: one.dataset.digest for one in run.inputs.dataset_inputs}
    assert datasets["toy typos"] == "c" * 32
    assert "evaluate/sets/typos.csv" in synced.artifacts(run.info.run_id, "evaluate/sets")
    results = read_run(run.info.run_id)
    assert results.sets["typos"].translations == results.translations
    assert results.sets["typos"].figures == {name: one[name] for name in ("bleu", "chrf", "ter")}


def test_each_precision_is_a_model_with_its_figures_by_test_set(synced):
    for stage, typos in (("evaluate", {"bleu": 31.0, "chrf": 50.0, "ter": 60.0}),
                         ("export", {"onnx_bleu": 31.256, "int8_bleu": 30.0})):  # fmt: skip
        report = Path(f"reports/{stage}.json")
        sets = {"sets": {"typos": typos | {"sha256": "c" * 64}}}
        report.write_text(json.dumps(json.loads(report.read_text()) | {"int8_bleu": 40.0} | sets))
    Path("reports/sets").mkdir()
    Path("reports/sets/typos.csv").write_text("source\n")
    write_lock()
    assert sync()[0] == 0
    (run,) = synced.runs(parents=False)
    figures = {"float32_bleu": 40.51, "int8_bleu": 40.0}
    figures |= {"typos.float32_bleu": 31.26, "typos.int8_bleu": 30.0}
    assert figures.items() <= run.data.metrics.items()
    digests = {"": dvc_digest(Path("data/raw/test.parquet")), "typos": "c" * 32}
    found = {one.name: one for one in models(synced)}
    precisions = load_card(Path("models/translator")).graphs
    assert set(found) == {"translator"} | {f"translator-{one}" for one in precisions}
    outputs = {output.model_id for output in run.outputs.model_outputs}
    assert outputs == {one.model_id for one in found.values()}
    for precision in ("float32", "int8"):
        model = found[f"translator-{precision}"]
        assert (model.status, model.source_run_id) == ("READY", run.info.run_id)
        assert model.tags["precision"] == precision
        assert model.tags["translator_hash"] == translator_hash()
        assert model.params["train.learning_rate"] == "0.002"
        assert model.params["export.attention"] == "fused"
        metrics = {
            (one.key, one.value, one.dataset_name, one.dataset_digest) for one in model.metrics
        }
        name = f"{precision}_bleu"
        assert metrics == {
            (name, figures[name], "toy test", digests[""]),
            (f"typos.{name}", figures[f"typos.{name}"], "toy typos", digests["typos"]),
        }
        # Those are data that the run has read, with their origin.
        inputs = {(one.dataset.name, one.dataset.digest) for one in run.inputs.dataset_inputs}
        assert {one[2:] for one in metrics} <= inputs
    before = everything(synced)
    assert sync()[0] == 0
    assert everything(synced) == before


def test_a_set_that_changed_is_another_dataset_of_the_same_model(synced):
    def put(bleu: float, sha256: str) -> None:
        report = Path("reports/export.json")
        sets = {"typos": {"onnx_bleu": bleu, "sha256": sha256}}
        report.write_text(json.dumps(json.loads(report.read_text()) | {"sets": sets}))
        write_lock()
        assert sync()[0] == 0

    put(31.0, "c" * 64)
    put(31.0, "d" * 64)
    (model,) = (one for one in models(synced) if one.name == "translator-float32")
    found = {(one.value, one.dataset_digest[0]) for one in model.metrics if "typos" in one.key}
    assert found == {(31.0, "c"), (31.0, "d")}


def test_without_dvc_the_files_alone_count(synced):
    Path("reports/evaluate.json").unlink()
    status, output = sync()
    assert status == 0
    assert "evaluate is left out: reports/evaluate.json is missing" in output
    (run,) = synced.runs(parents=False)
    assert run.data.metrics == {"float32_bleu": 40.51}


def test_a_translator_without_its_test_set_is_not_registered_and_that_is_told(synced):
    shutil.rmtree("data/raw")
    status, output = sync()
    assert status == 0
    assert "the translator is not registered: that takes data/raw" in output
    assert synced.client().search_model_versions() == []


def test_nothing_trained_is_refused_in_words(project):
    status, output = sync()
    assert status == 1
    assert "run the stage `train`" in output


def test_while_mlflow_is_out_of_reach_it_fails_and_says_so(synced, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    with pytest.warns(UserWarning, match="does not answer"):
        status, output = sync()
    assert status == 1
    assert "run `sync` again when it answers" in output


def train() -> None:
    with track_training() as reporter:
        reporter.on_start(30, 9, 0)
        reporter.on_end()
        reporter.log_outcome(model_hash(Path("models/checkpoint")))


def test_a_training_that_lost_its_tracker_keeps_its_run(synced, monkeypatch):
    def lose_tracker() -> None:
        with track_training() as reporter, monkeypatch.context() as patch:
            reporter.on_start(30, 9, 0)
            patch.setattr("mlflow.tracking.MlflowClient.log_batch", refuse)
            reporter.log_outcome(model_hash(Path("models/checkpoint")))

    def refuse(*_, **__) -> None:
        raise ConnectionError("gone")

    with pytest.warns(UserWarning, match="MLflow can't be written to"):
        lose_tracker()
    (open_run,) = synced.runs()
    assert open_run.info.status == "RUNNING"
    write_lock()
    assert sync()[0] == 0
    (run,) = synced.runs()
    assert (run.info.run_id, run.info.status) == (open_run.info.run_id, "FINISHED")
    (evaluation,) = synced.runs(parents=False)
    assert evaluation.data.metrics["bleu"] == 40.51


def test_a_training_without_a_tracker_is_caught_up_with(synced, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    with pytest.warns(UserWarning, match="does not answer"):
        train()
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    write_lock()
    assert sync()[0] == 0
    (run,) = synced.runs()
    assert len(synced.history(run.info.run_id, "train_loss")) == 3
    assert len(run.inputs.dataset_inputs) == 2
