"""Worker processes: they answer, sleep in between, and tell why they can't."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks.harness.environment import UnavailableError
from benchmarks.harness.workers import Worker

PROGRAM = """
import json, os, sys
print(json.dumps({"load_seconds": 1.0}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["kind"] == "die":
        sys.exit("it was too much")
    values = {"wait": os.getenv("OMP_WAIT_POLICY")}
    if request["kind"] == "fail":
        values = {"error": "no"}
    print(json.dumps(values), flush=True)
"""


@pytest.fixture
def worker():
    with Worker([sys.executable, "-c", PROGRAM], {"OMP_WAIT_POLICY": "ACTIVE"}) as worker:
        yield worker


def state(worker):
    return Path(f"/proc/{worker._process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_worker_answers_and_holds_the_settings_given(worker):
    assert worker.greeting == {"load_seconds": 1.0}
    assert worker.ask("x") == {"wait": "ACTIVE"}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")
def test_a_worker_is_stopped_between_requests(worker):
    for _ in range(2):
        deadline = time.monotonic() + 5  # the signal takes effect a moment later
        while state(worker) != "T" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert state(worker) == "T"
        worker.ask("x")


def test_a_failed_request_leaves_the_worker_alive(worker):
    with pytest.raises(UnavailableError, match="no"):
        worker.ask("fail")
    assert worker.ask("x") == {"wait": "ACTIVE"}


def test_a_worker_that_ends_tells_its_last_words(worker):
    with pytest.raises(UnavailableError, match=r"status 1.*it was too much"):
        worker.ask("die")


def test_settings_of_the_callers_shell_do_not_reach_a_worker(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    with Worker([sys.executable, "-c", PROGRAM], {}) as worker:
        assert worker.ask("x") == {"wait": None}


def test_a_worker_that_can_not_load_gives_the_reason():
    with pytest.raises(UnavailableError, match="No module named"):
        Worker([sys.executable, "-m", "benchmarks.no_such_worker"], {})
