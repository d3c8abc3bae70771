"""CTranslate2's own environment, and our weights converted in it."""

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.ctranslate2_model import write_model
from transformer.model.transformer import Transformer
from transformer.training.checkpoint import CheckpointInfo

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".environments/ctranslate2"
VERSION = "4.8.5"
REQUIREMENTS = (f"ctranslate2=={VERSION}", "numpy==2.4.6", "pyyaml==6.0.3")
INSTALL_TIMEOUT_SECONDS = 900
QUANTISATIONS = ("float32", "int8")


class UnavailableError(ValueError):
    """A contender can't run here; the message is the reason that the table gives."""


def ensure_environment(folder: Path = ENVIRONMENT) -> Path:
    """Makes the environment where it is missing or holds other versions.

    Returns:
        Its Python.

    Raises:
        UnavailableError: the installation failed.
    """
    python = folder / "bin/python"
    done = folder / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS) + "\n"
    if python.exists() and done.exists() and done.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *REQUIREMENTS])
    done.write_text(wanted)  # last, so that a broken installation is made anew
    return python


def convert(python: Path, model: Transformer, info: CheckpointInfo, folder: Path) -> None:
    """Writes float32 and int8 models, by the names of `QUANTISATIONS`, into a folder.

    Raises:
        UnavailableError: CTranslate2 has no such model, or the conversion failed.
    """
    try:
        write_model(folder, model, info)
    except ValueError as error:
        raise UnavailableError(str(error)) from error
    for quantisation in QUANTISATIONS:
        module = [str(python), "-m", "benchmarks.ctranslate2_convert"]
        _run([*module, str(folder), quantisation, str(folder / quantisation)])


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
