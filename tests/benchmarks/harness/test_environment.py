"""Commands in other folders and environments."""

import sys

import pytest

from benchmarks.harness.environment import (
    ROOT,
    UnavailableError,
    project_environment,
    reason_of,
    run_command,
)


def test_a_process_in_another_folder_finds_the_same_packages(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "site:/opt/site:")
    assert project_environment()["PYTHONPATH"] == f"{ROOT}:{tmp_path}/site:/opt/site"
    run_command([sys.executable, "-c", "import benchmarks"], cwd=tmp_path)


def test_a_command_that_ends_otherwise_than_expected_tells_why(capsys):
    command = [sys.executable, "-c", "import sys; sys.exit('it was too much')"]
    with pytest.raises(UnavailableError, match="failed: it was too much"):
        run_command(command)
    assert "it was too much" in capsys.readouterr().err
    run_command(command, expected_status=1)


def test_the_reason_of_a_failure_is_pips_error_and_not_its_warnings():
    said = "WARNING: slow\nERROR: first\nERROR: no version 9 of it\nWARNING: again\n"
    assert reason_of(said) == "no version 9 of it"
    assert reason_of("Traceback\n  line\nValueError: bad\n") == "ValueError: bad"
    assert reason_of("WARNING: only") == "it said nothing"
