"""How the worker of each variant is started."""

import json
import sys
from pathlib import Path
from typing import Literal

from benchmarks.decoding.contenders import SHORTLIST, Variant
from benchmarks.decoding.project import Project, Subject, graph_file
from benchmarks.harness.environment import (
    CTRANSLATE2,
    UnavailableError,
    convert,
    ensure_environment,
)
from transformer.model.checkpoint import WEIGHTS


class Commands:
    """Command lines of workers; what a worker reads is made when it is first asked for.

    Args:
        project: with the model.
        subject: the same, loaded.
        folder: a temporary one, where `work.json` stands.
        device: of the PyTorch and ONNX contenders.
    """

    def __init__(
        self, project: Project, subject: Subject, folder: Path, device: Literal["cpu", "cuda"]
    ) -> None:
        self.project = project
        self.subject = subject
        self.folder = folder
        self.device = device
        self._ctranslate2: Path | UnavailableError | None = None

    def model_path(self, contender: str) -> Path:
        """The file or folder that a contender loads.

        Raises:
            UnavailableError: it is not there and can't be made.
        """
        engine, _, precision = contender.partition("-")
        if engine == "onnx":
            path = graph_file(self.project.translator, precision)
            if not path.is_file():
                raise UnavailableError(f"{path.name} is not among the exported translator's files")
            return path
        if engine == "ctranslate2":
            if self.device != "cpu":
                raise UnavailableError("it is converted and measured for the CPU only")
            if precision.endswith(SHORTLIST) and self.subject.shortlist is None:
                raise UnavailableError("the project's export.shortlist makes no short-lists")
            self._python()
            return self.folder / precision.removesuffix(SHORTLIST)
        return self.project.checkpoint / WEIGHTS

    def command(self, variant: Variant) -> list[str]:
        """The command line of a variant's worker."""
        path = self.model_path(variant.contender)
        work = str(self.folder / "work.json")
        threads = variant.num_threads // variant.num_workers
        if variant.contender.startswith("ctranslate2"):
            module = [str(self._python()), "-m", "benchmarks.decoding.ctranslate2_worker"]
            lists = "listed" if variant.contender.endswith(SHORTLIST) else "unlisted"
            workers = [str(variant.num_workers), str(threads)]
            return [*module, str(path), path.name, *workers, lists, work]
        kind = {"tutorial": "tutorial", "pytorch": "search"}.get(variant.contender, "onnx")
        options = {
            "kind": kind,
            "path": str((path if kind == "onnx" else path.parent).resolve()),
            "marks": list(self.subject.marks),
            "num_threads": threads,
            "num_workers": variant.num_workers,
            "device": self.device,
        }
        return [sys.executable, "-m", "benchmarks.decoding.worker", work, json.dumps(options)]

    def _python(self) -> Path:
        # Made once; a failure is remembered too.
        if self._ctranslate2 is None:
            try:
                python = ensure_environment(CTRANSLATE2)
                convert(python, self.subject, self.folder)
                self._ctranslate2 = python
            except UnavailableError as error:
                self._ctranslate2 = error
        if isinstance(self._ctranslate2, UnavailableError):
            raise self._ctranslate2
        return self._ctranslate2
