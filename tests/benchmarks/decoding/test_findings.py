"""The report's tables, and its JSON."""

import json

from benchmarks.decoding.contenders import Variant
from benchmarks.decoding.findings import Findings, markdown_table, speed_table, write_report
from benchmarks.decoding.sampling import Cell
from benchmarks.harness.report import as_json


def make_findings(measured):
    one, two = Variant("onnx-float32", 1), Variant("onnx-float32", 2)
    findings = Findings([Cell(1, 1), Cell(8, 1)], [one, two, Variant("onnx-int8", 1)])
    findings.measurements = measured("onnx-float32", [1000, 1234, 2000])
    findings.measurements += measured("onnx-float32", [900], threads=2)
    findings.loads = {one: [(0.5, 0.1), (0.25, 0.2), (1.0, 0.3)], two: [(0.5, 0.1)]}
    findings.peak_bytes = {one: 64 * 2**20}
    findings.file_bytes = {"onnx-float32": 3 * 2**19}
    findings.bleu = {("onnx-float32", 1): 37.256}
    findings.reasons = {"onnx-int8": "there is no such file"}
    return findings


def cells_of(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def test_best_setting_is_bold_and_what_is_the_contenders_own_stands_once(measured):
    header, _, first, second = cells_of(speed_table(make_findings(measured)))
    assert header[:4] == ["contender", "threads", "greedy, batch 1", "greedy, batch 8"]
    assert first == [
        "ours: ONNX float32", "1", "**1,234**", "–", "0.50", "0.20", "64", "1.50", "37.26", "–",
    ]  # fmt: skip
    assert second == ["", "2", "900", "–", "0.50", "0.10", "–", "", "", ""]


def test_report_tells_what_is_missing_and_every_target(measured):
    report = write_report(make_findings(measured))
    assert "- ours: ONNX int8: there is no such file" in report
    assert report.count("not measured |") == 3 * 2 + 3


def test_markdown_aligns_numbers_to_the_right():
    table = markdown_table(["a", "b"], [["x", "1"]], num_text_columns=1)
    assert table == "| a | b |\n| --- | --: |\n| x | 1 |"


def test_json_holds_every_measurement(measured):
    values = json.loads(as_json(make_findings(measured)))
    assert len(values["measurements"]) == 4
    first = dict(zip(values["measurement_columns"], values["measurements"][0], strict=True))
    assert first["variant"] == "onnx-float32, 1 threads"
    assert first["num_tokens"] / first["seconds"] == 1000
