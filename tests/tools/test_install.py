"""The installation: uv is told what pip is told, and pip steps in."""

import os
import sys

import pytest

from tools import install

PIP_SETTINGS = """\
:env:.find-links='/wheels /more'
:env:.index-url=''
global.extra-index-url='https://a/simple\\nhttps://b/simple'
global.find-links='/elsewhere'
global.index-url='https://all/simple'
global.progress-bar='off'
install.cert='/company.pem'
"""


def test_uv_looks_where_pip_looks():
    assert install.uv_variables(install.read_settings(PIP_SETTINGS)) == {
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_INDEX": "https://a/simple https://b/simple",
        "UV_DEFAULT_INDEX": "https://all/simple",
        "SSL_CERT_FILE": "/company.pem",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


@pytest.mark.parametrize(("value", "options"), [("true", ["--no-index"]), ("0", [])])
def test_no_index_of_pip_is_none_of_uv(value, options):
    assert install.uv_options({"no-index": value}) == options


@pytest.fixture
def runs(monkeypatch):
    """Runs no command: `failing` names what fails; gives the commands with their environments."""

    def main(*arguments, failing=()):
        done = []

        def run(command, environment, is_talkative):
            # Of `uv pip install …`, `pip install … uv` and `pip install …`.
            name = "uv" if command[2] == "uv" else "pip uv" if command[-1] == "uv" else "pip"
            done.append((name, environment))
            return name not in failing

        monkeypatch.setattr(install, "run", run)
        monkeypatch.setattr(sys, "argv", ["install.py", *arguments])
        return install.main(), done

    return main


@pytest.mark.parametrize(
    ("arguments", "failing", "names", "status"),
    [
        ([], [], ["pip uv", "uv"], 0),
        (["--installer", "pip"], [], ["pip"], 0),
        ([], ["pip uv"], ["pip uv", "pip"], 0),
        ([], ["uv"], ["pip uv", "uv", "pip"], 0),
        ([], ["pip uv", "pip"], ["pip uv", "pip"], 1),
    ],
)
def test_pip_steps_in_where_uv_fails(runs, arguments, failing, names, status):
    found, done = runs(*arguments, failing=failing)
    assert (found, [name for name, _ in done]) == (status, names)


def test_settings_of_pip_reach_uv_unless_it_has_its_own(runs, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    monkeypatch.setenv("PIP_INDEX_URL", "https://of-pip/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://of-uv/simple")
    _, done = runs()
    variables = done[-1][1]
    assert variables["UV_FIND_LINKS"] == "/wheels"
    assert variables["UV_DEFAULT_INDEX"] == "https://of-uv/simple"


@pytest.mark.parametrize(("status", "is_done"), [(0, True), (3, False)])
def test_a_silent_command_is_seen_to_live(monkeypatch, capfd, status, is_done):
    monkeypatch.setattr(install, "_SILENCE", 0.1)
    command = [sys.executable, "-c", f"import time; time.sleep(0.5); exit({status})"]
    assert install.run(command, os.environ, False) is is_done
    assert "packages are installed" in capfd.readouterr().out


def test_a_command_that_shows_its_progress_is_left_alone(monkeypatch, capfd):
    monkeypatch.setattr(install, "_SILENCE", 0.1)
    assert install.run([sys.executable, "-c", "import time; time.sleep(0.5)"], os.environ, True)
    assert "packages are installed" not in capfd.readouterr().out
