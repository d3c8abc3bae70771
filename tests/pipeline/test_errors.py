"""What the user can mend is told in a line; a bug shows its traceback."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import describe, told_errors

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("model.d_ff = 0: no"), "error: model.d_ff = 0: no\n"),
        (
            OSError(errno.ENOSPC, "No space left", "data/x"),
            "error: clean: data/x: No space left; ",
        ),
        (
            PermissionError(errno.EACCES, "Denied", "a", None, "b"),
            "error: clean: a -> b: Denied; ",
        ),
        (OSError("a library's own words"), "error: clean: a library's own words\n"),
        (
            OSError("Error writing. Detail: [errno 28] x"),
            "error: clean: Error writing. Detail: [errno "
            "28] x; free some space there, and run it again\n",
        ),
        (OSError(), "error: clean: OSError\n"),
        (MemoryError(), "error: clean: out of memory; end other programs"),
    ],
)
def test_an_error_is_told_in_one_line(capsys, error, told):
    with pytest.raises(SystemExit) as left, told_errors("clean"):
        raise error
    printed = capsys.readouterr().err
    assert left.value.code == 1
    assert printed.startswith(told)
    assert printed.count("\n") == 1


def test_a_bug_shows_its_traceback_and_asks_to_be_reported(capsys):
    with pytest.raises(SystemExit) as left, told_errors("clean"):
        {}["no such key"]
    printed = capsys.readouterr().err
    assert left.value.code == 1
    assert "KeyError: 'no such key'" in printed
    assert printed.splitlines()[-1].startswith("error: clean met with something that nobody")


def test_a_long_path_is_shortened():
    told = describe(OSError(errno.ENAMETOOLONG, "File name too long", "a" * 5000))
    assert len(told) < 260
    assert told.endswith("a: File name too long; shorten it")


def test_success_passes():
    with told_errors("clean"):
        pass


def run(shell: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A shell's line in which $P is the pipeline's command."""
    return subprocess.run(
        ["bash", "-c", shell],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "P": f"{sys.executable} -m pipeline"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("shell", "told"),
    [
        ("$P --help > /dev/full", "error: --help: No space left on device; free some space"),
        ("mkdir params.yaml; $P check", "error: check: params.yaml: Is a directory; a file is"),
        ("ln -s params.yaml params.yaml; $P check", "params.yaml: Too many levels of symbolic"),
        ("printf 'a: \\377' > params.yaml; $P check", "params.yaml: 1 problem\n  not UTF-8: "),
        ("printf 'a: &a [*a]' > params.yaml; $P check", "  aliases such as *name are not taken"),
        ("$P translate --model $(printf %05000d 1) a", "File name too long; shorten it"),
    ],
)
def test_what_a_system_refuses_is_told_without_a_traceback(tmp_path, shell, told):
    done = run(shell, tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_aliases_of_aliases_cost_no_memory(tmp_path):
    lines = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (tmp_path / "params.yaml").write_text("\n".join(["a0: &a0 [x]", *lines, "model: *a11\n"]))
    done = run("ulimit -v 4000000; ulimit -t 20; $P check", tmp_path)
    assert done.returncode == 1
    assert "aliases such as *name are not taken" in done.stderr


def test_nobody_to_tell_is_no_reason_to_hang(tmp_path):
    assert run("$P check > /dev/full 2>&1", tmp_path).returncode == 1
    assert run("$P check >&- 2>&- <&-", tmp_path).returncode == 1


def test_what_mlflow_refuses_is_no_bug_of_ours(capsys):
    from mlflow.exceptions import MlflowException

    with pytest.raises(SystemExit), told_errors("promote"):
        raise MlflowException("403 at https://me:pass@host/x: Invalid Host header")
    printed = capsys.readouterr().err
    assert printed == (
        "error: promote: MLflow refused or was lost: 403 at https://***@host/x: Invalid Host "
        "header\n"
    )
