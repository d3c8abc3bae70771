"""One seam for work over shards: the same results on any engine, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.compute.workers import die, die_once, double, refuse
from transformer.compute.shards import map_shards

NUMBERS = list(range(12))


@pytest.fixture(autouse=True)
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_WORKERS", "2")


def test_results_are_those_of_a_loop_in_its_order() -> None:
    assert list(map_shards(double, NUMBERS)) == list(map(double, NUMBERS))
    assert list(map_shards(double, [])) == []


def test_a_killed_worker_costs_no_result(tmp_path: Path) -> None:
    function = partial(die_once, tmp_path / "killed", double)
    assert list(map_shards(function, NUMBERS)) == list(map(double, NUMBERS))
    assert (tmp_path / "killed").exists()


def test_an_error_names_the_shard() -> None:
    with pytest.raises(ValueError, match=r"^3: line 7: no source$"):
        list(map_shards(partial(refuse, ValueError), NUMBERS))
    with pytest.raises(OSError, match="line 7") as caught:
        list(map_shards(partial(refuse, OSError), NUMBERS))
    assert caught.value.__notes__ == ["in shard 3"]


def test_a_shard_that_kills_its_workers_is_given_up() -> None:
    results: list[int] = []
    with pytest.raises(ValueError, match=r"^3: .*killed 3 times .*COMPUTE_WORKERS lower"):
        results.extend(map_shards(die, NUMBERS))
    assert results == [0, 1, 2]


def test_one_worker_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_WORKERS", "1")
    assert set(map_shards(_own_pid, NUMBERS)) == {os.getpid()}


def _own_pid(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COMPUTE_ENGINE", "spark", "'spark': allowed are processes and ray"),
        ("COMPUTE_WORKERS", "0", "'0': a whole number from 1 on"),
        ("COMPUTE_WORKERS", "two", "'two': a whole number from 1 on"),
    ],
)
def test_a_wrong_variable_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name} = {message}"):
        list(map_shards(double, NUMBERS))


def test_without_ray_the_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_ENGINE", "ray")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r"needs the extra `cluster`: pip install"):
        list(map_shards(double, NUMBERS))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "from functools import partial; from pathlib import Path; import signal, sys\n"
        # What a shell starts in the background ignores it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from transformer.compute.shards import map_shards\n"
        "from tests.compute.workers import dawdle\n"
        "if __name__ == '__main__':\n"
        "    list(map_shards(partial(dawdle, Path(sys.argv[1])), range(100)))\n"
    )
    script = tmp_path / "map.py"
    script.write_text(code)
    begun = tmp_path / "begun"
    begun.mkdir()
    variables = os.environ | {"COMPUTE_WORKERS": "2", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [sys.executable, str(script), str(begun)],
        env=variables,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _wait(lambda: any(begun.iterdir()))
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.kill()
    assert process.wait(30) == -number
    _wait(lambda: not _group_lives(process.pid))
    assert process.stderr is not None
    assert b"BrokenProcessPool" not in process.stderr.read()
    assert len(list(begun.iterdir())) < 20


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _wait(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
