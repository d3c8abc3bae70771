"""Environments for other engines, and our weights converted in CTranslate2's."""

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from benchmarks.decoding.ctranslate2_model import write_model
from benchmarks.decoding.project import Subject

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".environments"
INSTALL_TIMEOUT_SECONDS = 900
QUANTIZATIONS = ("float32", "int8")


@dataclass(frozen=True)
class Environment:
    """Packages for the engines of one benchmark, apart from this project's own."""

    name: str
    requirements: tuple[str, ...]
    # Falls back to the packages of the running Python, so that PyTorch is there once. What an
    # engine demands of versions is then left aside: the requirements must name all that it lacks.
    shares_ours: bool = False

    @property
    def folder(self) -> Path:
        """Where it is made."""
        return ENVIRONMENTS / self.name


CTRANSLATE2 = Environment("ctranslate2", ("ctranslate2==4.8.5", "numpy==2.4.6", "pyyaml==6.0.3"))


class UnavailableError(ValueError):
    """A contender can't run here; the message is the reason that the table gives."""


def ensure_environment(environment: Environment) -> Path:
    """Makes the environment where it is missing or holds other versions.

    Returns:
        Its Python.

    Raises:
        UnavailableError: the installation failed.
    """
    folder = environment.folder
    python = folder / "bin/python"
    done = folder / "requirements.txt"
    ours = sysconfig.get_paths()["purelib"] if environment.shares_ours else ""
    wanted = "\n".join((*environment.requirements, f"# {ours}")) + "\n"
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    options = ["--quiet", "--disable-pip-version-check"]
    if environment.shares_ours:
        # After its own packages in the search path, so that those win.
        (next(folder.glob("lib/python*/site-packages")) / "ours.pth").write_text(ours + "\n")
        options.append("--no-deps")
    _run([str(python), "-m", "pip", "install", *options, *environment.requirements])
    done.write_text(wanted)  # last, so that a broken installation is made anew
    return python


def convert(python: Path, subject: Subject, folder: Path) -> None:
    """Writes float32 and int8 models, by the names of `QUANTIZATIONS`, into a folder.

    Raises:
        UnavailableError: CTranslate2 has no such model, or the conversion failed.
    """
    try:
        write_model(folder, subject.model, subject.info, subject.shortlist)
    except ValueError as error:
        raise UnavailableError(str(error)) from error
    for quantization in QUANTIZATIONS:
        module = [str(python), "-m", "benchmarks.decoding.ctranslate2_convert"]
        _run([*module, str(folder), quantization, str(folder / quantization)])


def reason_of(stderr: str) -> str:
    """The line of a failed command's words that tells the reason, without pip's warnings."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    others = [line for line in lines if not line.startswith("WARNING:")]
    return (errors or others or ["it said nothing"])[-1].removeprefix("ERROR:").strip()


def _run(command: list[str]) -> None:
    what = " ".join(["python", *command[1:4]])
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{what} took over {INSTALL_TIMEOUT_SECONDS} s") from None
    if done.returncode:
        raise UnavailableError(f"{what} failed: {reason_of(done.stderr or done.stdout)}")
