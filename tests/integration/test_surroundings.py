"""Where a project may lie, and what it sends nobody."""

import os
import shutil
from pathlib import Path

import pytest

from tests.integration.conftest import Clone

pytestmark = pytest.mark.slow

# Loaded by every Python process that finds it: notes each host beyond this machine.
SPY = """
import os, socket, sys
def note(event, arguments):
    if event in ("socket.getaddrinfo", "socket.connect"):
        address = arguments[1] if event == "socket.connect" else arguments[0]
        host = address[0] if isinstance(address, tuple) else address
        if host not in (None, "", "localhost", "127.0.0.1", "::1", socket.gethostname()):
            if isinstance(address, tuple) or event == "socket.getaddrinfo":
                with open(os.environ["SPY_NOTES"], "a") as file:
                    file.write(f"{host} {sys.argv}\\n")
sys.addaudithook(note)
"""


class Bare(Clone):
    """The clone of a user without git, whose home can't be written to."""

    spy: Path

    def environment(self) -> dict[str, str]:
        # MLflow is silent by itself where these stand.
        silent = ("CI", "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
        given = {k: v for k, v in super().environment().items() if k not in silent}
        given["PYTHONPATH"] += f"{os.pathsep}{self.spy}"
        # /proc takes no folders, not even from root.
        return given | {"HOME": "/proc/home", "SPY_NOTES": str(self.spy / "notes")}


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Clone:
    """In a path with a space and umlauts."""
    base = tmp_path_factory.mktemp("base")
    Bare.spy = base / "spy"
    Bare.spy.mkdir()
    folder = base / "Mein Übersetzer für Zürich"
    folder.mkdir()
    made = Bare(folder)
    (Bare.spy / "sitecustomize.py").write_text(SPY)
    shutil.rmtree(folder / ".git")
    return made


def test_without_git_and_a_home_the_stages_run_and_nobody_is_told(bare):
    bare.make_tiny("corpus.num_pairs=400")
    bare.dvc("config", "core.no_scm", "true")
    printed = bare.dvc("repro", "tokenize").stdout
    assert "Running stage 'tokenize'" in printed
    assert (bare.folder / "data" / "ids").is_dir()
    assert "up to date" in bare.dvc("repro", "tokenize").stdout
    # Opens MLflow's database, finds nothing to promote.
    done = bare.pipeline("promote", "--version", "1", check=False)
    assert "the registry has no such version" in done.stderr
    assert (bare.folder / "mlruns" / "mlflow.db").exists()
    notes = bare.spy / "notes"
    assert not notes.exists(), notes.read_text()


def test_the_spy_sees_what_goes_out(bare):
    bare.run("python", "-c", "import socket; socket.getaddrinfo('192.0.2.1', 80)")
    notes = bare.spy / "notes"
    assert notes.read_text().startswith("192.0.2.1")
    notes.unlink()
