"""Installs the project into the environment of the Python that runs it: by uv, or else by pip.

uv is quicker by far, but reads none of pip's settings: it is told here what pip is told. Runs
before anything is installed, so it imports the standard library alone.
"""

import argparse
import ast
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ARGUMENTS = ("install", "--constraint", "constraints.txt", "--editable")
# Seconds without a sign of life, at most.
_SILENCE = 8
# pip's settings: uv's variable for each, and what stands there between two values.
_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
}


def read_settings(listed: str) -> dict[str, str]:
    """pip's settings by name, as it applies them to an installation.

    Args:
        listed: what `pip config list` prints: a line `section.name='value'` for each.
    """
    settings: dict[str, str] = {}
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    # As pip has it: an empty value counts for none, and the later section wins.
    for section in ("global.", "install.", ":env:."):
        for key, _, value in lines:
            if key.startswith(section) and (text := str(ast.literal_eval(value)).strip()):
                settings[key.removeprefix(section)] = text
    return settings


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that tell uv where pip looks for packages."""
    variables = {
        variable: separator.join(settings[name].split())
        for name, (variable, separator) in _VARIABLES.items()
        if name in settings
    }
    # pip takes the best version of all indexes, where uv would stop at the first that has the
    # package.
    return variables | {"UV_INDEX_STRATEGY": "unsafe-best-match"}


def uv_options(settings: Mapping[str, str]) -> list[str]:
    """The options that tell uv what none of its variables does."""
    is_on = settings.get("no-index", "").lower() in ("1", "true", "yes", "on", "t", "y")
    return ["--no-index"] if is_on else []


def run(command: Sequence[str], environment: Mapping[str, str], is_talkative: bool) -> bool:
    """Runs a command; True if it succeeds.

    Args:
        command: and its arguments.
        environment: all of its variables.
        is_talkative: it shows by itself how far it is. Else a line tells every few seconds.
    """
    print("+", *command, flush=True)
    start, packages = time.monotonic(), Path(sysconfig.get_path("purelib"))
    with subprocess.Popen(command, env=environment) as process:
        while True:
            try:
                return process.wait(timeout=None if is_talkative else _SILENCE) == 0
            except subprocess.TimeoutExpired:
                seconds, count = time.monotonic() - start, len(list(packages.glob("*.dist-info")))
                print(f"... {seconds:.0f} s, {count} packages are installed", flush=True)


def main() -> int:
    """Installs; the exit status is 1 where neither uv nor pip could."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installer", choices=("uv", "pip"), default="uv")
    parser.add_argument("--extras", default="train,dev", help="of pyproject.toml, by commas")
    installer, wanted = (given := parser.parse_args()).installer, f".[{given.extras}]"
    pip = [sys.executable, "-m", "pip"]
    if installer == "uv":
        told = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True)
        settings = read_settings(told.stdout)
        # What uv is told by its own variables stands.
        environment = uv_variables(settings) | os.environ
        uv = [sys.executable, "-m", "uv", "pip", *ARGUMENTS, wanted, "--python", sys.executable]
        uv += uv_options(settings)
        if run([*pip, "install", "--constraint", "constraints.txt", "uv"], os.environ, False):
            if run(uv, environment, sys.stderr.isatty()):
                return 0
            print(
                "uv could not install the packages; pip tries now, which takes minutes", flush=True
            )
        else:
            print("uv can't be had; pip installs instead, which takes minutes", flush=True)
    return 0 if run([*pip, *ARGUMENTS, wanted], os.environ, False) else 1


if __name__ == "__main__":
    sys.exit(main())
