"""A temporary clone of the project, and commands run in it as a user would."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY: dict[str, object] = {
    "corpus.num_pairs": 1500,
    "corpus.seed": 3,
    "vocab.joint.size": 600,
    "model.d_model": 32,
    "model.d_ff": 64,
    "model.num_heads": 2,
    "model.num_encoder_layers": 1,
    "model.num_decoder_layers": 1,
    "train.max_epochs": 6,
    "train.schedule.warmup_steps": 10,
    "search.beam_size": 2,
    "evaluate.num_bootstrap": 40,
    "evaluate.num_attention_plots": 1,
}


class Clone:
    """The project's files in a git repository of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables: dict[str, str] = {}
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        for name in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
            if name and (ROOT / name).is_file() and not name.startswith("reports/"):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "dvc.lock").unlink(missing_ok=True)
        self.run("git", "init", "--quiet")
        self.run("git", "config", "user.email", "test@example.org")
        self.run("git", "config", "user.name", "Test")
        self.commit("clone")

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def environment(self) -> dict[str, str]:
        """Runs the clone's code."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW", "DVC"))}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(self.folder)
        environment["OMP_NUM_THREADS"] = "1"
        return environment | self.variables

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command in the clone, with the clone's code, and returns what it printed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}")
        return done

    def pipeline(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "pipeline", *arguments, check=check)

    def dvc(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "dvc", *arguments, check=check)

    def make_tiny(self, *changes: str) -> None:
        """A small phrasebook and a small model in params.yaml, with changes as `key=value`."""
        settings = TINY | dict(change.split("=", 1) for change in changes)
        options = [part for key in settings for part in ("--set", f"{key}={settings[key]}")]
        self.pipeline("recipe", "phrasebook", *options)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Clone:
    return Clone(tmp_path_factory.mktemp("clone"))
