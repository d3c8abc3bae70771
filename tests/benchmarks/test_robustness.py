"""Bad input breaks nothing, and the harness that says so would notice."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

WAYS_TO_END = """
import ctypes, json, os, sys, time
from pathlib import Path
from benchmarks.robustness import child
from pipeline.errors import told_errors

child.CPU_SECONDS = 1
child.WALL_SECONDS = 3

def message():
    with told_errors("clean"):
        raise ValueError("data/raw: no such folder")

def told_bug():
    with told_errors("clean"):
        {}["key"]

def spin():
    while True:
        pass

ways = {
    "return": lambda: None,
    "message": message,
    "bug": lambda: {}["key"],
    "told bug": told_bug,
    "silent failure": lambda: sys.exit(3),
    "segmentation fault": lambda: ctypes.string_at(0),
    "spin": spin,
    "sleep": lambda: time.sleep(60),
    "memory": lambda: bytearray(2 * child.MEMORY_BYTES),
    "full output": lambda: Path("x").write_bytes(bytes(100)),
}
print(json.dumps({
    name: child.Process(way, Path(sys.argv[1]), file_bytes=50).wait().outcome
    for name, way in ways.items()
}))
"""


def test_every_way_to_end_has_its_column(tmp_path):
    command = [sys.executable, "-c", WAYS_TO_END, str(tmp_path)]
    found = json.loads(subprocess.check_output(command, cwd=ROOT, text=True))
    assert found == {
        "return": "accepted",
        "message": "clear errors",
        "bug": "tracebacks",
        "told bug": "tracebacks",
        "silent failure": "crashes",
        "segmentation fault": "crashes",
        "spin": "hangs",
        "sleep": "hangs",
        "memory": "tracebacks",
        "full output": "tracebacks",
    }


def test_outputs_that_differ_without_a_warning_are_a_silent_change():
    from benchmarks.robustness.cases import judge
    from benchmarks.robustness.child import Ended

    same, other = {"ids.bin": "1"}, {"ids.bin": "2"}
    quiet, warned = Ended(0, "", ""), Ended(0, "", "warning: a pair was dropped\n")
    assert judge("", quiet, same, same).outcome == "accepted"
    assert judge("", warned, same, other).outcome == "accepted"
    assert judge("", quiet, same, other).outcome == "silent changes"
    assert "ids.bin" in judge("", quiet, same, other).told
    assert judge("", quiet, same, {}).outcome == "silent changes"


def test_an_answer_has_its_column():
    from benchmarks.robustness.service import judge_answer
    from benchmarks.serving.fuzz import Answer

    columns = {
        (200, False): "accepted",
        (413, False): "clear errors",
        (0, False): "clear errors",
        (503, True): "clear errors",
        (503, False): "crashes",
        (500, True): "crashes",
        (None, False): "hangs",
    }
    found = {
        answer: judge_answer(Answer("GET /", status, has_retry)).outcome
        for answer in columns
        for status, has_retry in [answer]
    }
    assert found == columns


def test_a_recorded_request_without_an_answer_hangs():
    from benchmarks.serving.fuzz import read_entry

    request = {"method": "POST", "url": "http://x/translate", "postData": {"text": "{}"}}
    busy = {"status": 503, "headers": [{"name": "Retry-After", "value": "1"}]}
    what = "POST http://x/translate {}"
    assert read_entry({"request": request, "response": busy}) == (what, 503, True)
    none = {"status": 0, "headers": []}
    assert read_entry({"request": request, "response": none}) == (what, None, False)


def test_a_hundred_bad_inputs_break_nothing_and_a_run_that_was_cut_off_goes_on(tmp_path):
    results = tmp_path / "results.jsonl"
    classes = "params as values,params as text,raw text"
    command = [sys.executable, "-m", "benchmarks.robustness", "--classes", classes]
    command += ["--cases", "120", "--jobs", "2", "--output", str(tmp_path / "page.md")]
    command += ["--project", str(tmp_path / "project"), "--results", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    page = (tmp_path / "page.md").read_text()
    assert "| all | 120 |" in page, page
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:119]))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "1 cases, 119 done before" in done.stderr
    assert sorted(results.read_text().splitlines(keepends=True)) == sorted(lines)
    assert (tmp_path / "page.md").read_text() == page
