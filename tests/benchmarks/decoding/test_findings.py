"""The page, its targets, its JSON; the figures in the model's MLflow run."""

import json

import pytest

from benchmarks.decoding.findings import Cell, DecodingFindings, log_findings
from benchmarks.harness.rounds import Variant
from transformer.model.checkpoint import model_hash


def make_findings(measured):
    one, two = Variant("onnx-float32", 1), Variant("onnx-float32", 2)
    findings = DecodingFindings([one, two, Variant("onnx-int8", 1)], [Cell(1, 1), Cell(8, 1)])
    findings.measurements = measured("onnx-float32", [1000, 1234, 2000])
    findings.measurements += measured("onnx-float32", [900], threads=2)
    findings.loads = {one: [(0.5, 0.1), (0.25, 0.2), (1.0, 0.3)], two: [(0.5, 0.1)]}
    findings.file_bytes = {"onnx-float32": 3 * 2**19}
    findings.bleu = {("onnx-float32", 1): 37.256}
    findings.reasons = {"onnx-int8": "there is no such file"}
    return findings


def cells_of(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_best_setting_is_bold_and_what_is_the_contenders_own_stands_once(measured):
    header, _, first, second = cells_of(make_findings(measured).table())
    assert header[:4] == ["contender", "threads", "greedy, batch 1", "greedy, batch 8"]
    assert first == [
        "ours: ONNX float32", "1", "**1,234**", "–", "0.50", "0.20", "64", "1.50", "37.26", "–",
    ]  # fmt: skip
    assert second == ["", "2", "900", "–", "0.50", "0.10", "64", "", "", ""]


def test_report_tells_what_is_missing_and_every_target(measured):
    report = make_findings(measured).page()
    assert "- ours: ONNX int8: there is no such file" in report
    assert report.count("not measured |") == 3 * 2 + 3


def test_json_holds_every_measurement(measured):
    values = json.loads(make_findings(measured).record())
    assert len(values["measurements"]) == 4
    first = dict(zip(values["measurement_columns"], values["measurements"][0], strict=True))
    assert first["variant"] == "onnx-float32, 1 threads"
    assert first["num_tokens"] / first["seconds"] == 1000


CELL = Cell(1, 1)


def words(measurements=(), cells=(CELL,), **found):
    findings = DecodingFindings([], list(cells), measurements=list(measurements), **found)
    return {one.text: one.word for one in findings.verdicts()}


def test_int8_is_held_against_the_faster_of_ctranslate2s_precisions(measured):
    verdicts = words(
        measured("onnx-int8", [150])
        + measured("ctranslate2-int8", [80])
        + measured("ctranslate2-float32", [110])
    )
    assert verdicts["int8 / CTranslate2's best, greedy, batch 1"] == "missed"
    assert verdicts["fp32 / CTranslate2's best fp32, greedy, batch 1"] == "not measured"
    assert verdicts["int8 / the tutorial's decoding, greedy, batch 1"] == "not measured"


def test_a_ratio_at_the_target_meets_it(measured):
    verdicts = words(
        measured("onnx-int8", [150])
        + measured("ctranslate2-int8", [100])
        + measured("tutorial", [15])
        + measured("onnx-float32", [99])
        + measured("ctranslate2-float32", [100])
    )
    assert list(verdicts.values())[:3] == ["met", "missed", "met"]


def test_bleu_may_fall_a_little():
    bleu = {("onnx-float32", 1): 38.0, ("onnx-int8", 1): 37.75, ("onnx-float32", 4): 39.0}
    verdicts = words(cells=[Cell(1, 1), Cell(1, 4)], bleu=bleu)
    assert verdicts["BLEU of int8 less fp32's, greedy"] == "met"
    assert verdicts["BLEU of int8 less fp32's, beam 4"] == "not measured"
    bleu["onnx-int8", 1] = 37.6
    assert words(bleu=bleu)["BLEU of int8 less fp32's, greedy"] == "missed"


@pytest.mark.parametrize(
    ("cold", "share", "word"),
    [([0.4], 1.0, "met"), ([1.2], 0.98, "missed"), ([], None, "not measured")],
)
def test_cold_start_and_conversion(cold, share, word):
    equal = {} if share is None else {("ctranslate2-float32", 1): share}
    verdicts = list(words(cold_start_seconds=cold, equal_share=equal).values())
    assert verdicts[-2:] == [word, word]


@pytest.fixture
def findings(measured):
    variants = [Variant("onnx-int8", 1), Variant("onnx-int8", 2)]
    found = DecodingFindings(variants, [Cell(1, 1), Cell(8, 1)])
    found.measurements = measured("onnx-int8", [90, 100, 110])
    found.measurements += measured("onnx-int8", [140, 150, 160], threads=2)
    return found


def test_each_contender_has_its_best_setting_where_it_was_measured(findings):
    name = "workload.benchmark.onnx-int8.batch_1.greedy.tokens_per_second"
    assert findings.metrics() == {name: 150.0}


def test_they_join_the_run_of_the_model_if_there_is_one(findings, tmp_path, monkeypatch):
    from mlflow.tracking import MlflowClient

    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    checkpoint = tmp_path / "models/checkpoint"
    checkpoint.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (checkpoint / name).write_text("{}")
    assert not log_findings(findings, tmp_path, "# Page")

    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    experiment = client.create_experiment("toy", artifact_location=(tmp_path / "files").as_uri())
    run = client.create_run(experiment, tags={"model_hash": model_hash(checkpoint)})
    for _ in range(2):
        log_findings(findings, tmp_path, "# Page")
    (name,) = findings.metrics()
    history = client.get_metric_history(run.info.run_id, name)
    assert [one.value for one in history] == [150.0]
    assert [file.path for file in client.list_artifacts(run.info.run_id, "benchmark")] == [
        "benchmark/decoding.md"
    ]
