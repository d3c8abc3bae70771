"""Environments for other engines, and the commands that are run in them."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".environments"
TIMEOUT_SECONDS = 900


@dataclass(frozen=True)
class Environment:
    """Packages for the engines of one benchmark, apart from this project's own."""

    name: str
    requirements: tuple[str, ...]
    # Falls back to the packages of the running Python, so that PyTorch is there once. What an
    # engine demands of versions is then left aside: the requirements must name all that it lacks.
    shares_ours: bool = False


class UnavailableError(ValueError):
    """A contender can't run here; the message is the reason that the table gives."""


def ensure_environment(environment: Environment) -> Path:
    """Makes the environment where it is missing or holds other versions.

    Returns:
        Its Python.

    Raises:
        UnavailableError: the installation failed.
    """
    folder = ENVIRONMENTS / environment.name
    python = folder / "bin/python"
    done = folder / "requirements.txt"
    ours = sysconfig.get_paths()["purelib"] if environment.shares_ours else ""
    wanted = "\n".join((*environment.requirements, f"# {ours}")) + "\n"
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    run_command([sys.executable, "-m", "venv", str(folder)])
    options = ["--quiet", "--disable-pip-version-check"]
    if environment.shares_ours:
        # After its own packages in the search path, so that those win.
        (next(folder.glob("lib/python*/site-packages")) / "ours.pth").write_text(ours + "\n")
        options.append("--no-deps")
    run_command([str(python), "-m", "pip", "install", *options, *environment.requirements])
    done.write_text(wanted)  # last, so that a broken installation is made anew
    return python


def run_command(
    command: Sequence[str],
    cwd: Path = ROOT,
    expected_status: int = 0,
    timeout_seconds: float | None = TIMEOUT_SECONDS,
) -> None:
    """Runs a Python command to its end; what it says on failure goes to standard error.

    It imports this project's code from any folder.

    Raises:
        UnavailableError: it ended otherwise than expected, or took too long.
    """
    what = " ".join(["python", *command[1:4]])
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=project_environment(),
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{what} took over {timeout_seconds} s") from None
    if done.returncode != expected_status:
        said = done.stderr or done.stdout
        print(said[-2000:], file=sys.stderr)
        raise UnavailableError(f"{what} failed: {reason_of(said)}")


def project_environment() -> dict[str, str]:
    """Ours, for a process that imports this project's code in another folder."""
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    search_path = os.pathsep.join(str(Path(path).absolute()) for path in paths if path)
    return os.environ | {"PYTHONPATH": search_path}


def reason_of(stderr: str) -> str:
    """The line of a failed command's words that tells the reason, without pip's warnings."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    others = [line for line in lines if not line.startswith("WARNING:")]
    return (errors or others or ["it said nothing"])[-1].removeprefix("ERROR:").strip()
