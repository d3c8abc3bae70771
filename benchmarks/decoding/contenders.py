"""The contenders, the settings in which each of them runs, and how their workers start."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from benchmarks.decoding.ctranslate2_model import ENVIRONMENT, convert_model
from benchmarks.decoding.project import Subject, graph_file
from benchmarks.harness.environment import UnavailableError, ensure_environment
from benchmarks.harness.rounds import Variant
from pipeline.paths import CHECKPOINT
from transformer.model.checkpoint import WEIGHTS

NAMES = {
    "tutorial": "PyTorch as tutorials decode: no cache",
    "pytorch": "ours: PyTorch search with cache",
    "onnx-float32": "ours: ONNX float32",
    "onnx-int8": "ours: ONNX int8",
    "onnx-float16": "ours: ONNX float16",
    "ctranslate2-float32": "CTranslate2 float32",
    "ctranslate2-int8": "CTranslate2 int8",
    "ctranslate2-int8-shortlist": "CTranslate2 int8 with our short-lists",
}
LIBRARIES = {"onnx": "onnxruntime", "ctranslate2": "CTranslate2"}
# By device. A CPU computes float16 by casts; a GPU sends int8 back and forth to the CPU, where
# CTranslate2 is measured too.
DEFAULTS = {
    "cpu": tuple(name for name in NAMES if name != "onnx-float16"),
    "cuda": ("tutorial", "pytorch", "onnx-float32", "onnx-float16"),
}
SHORTLIST = "-shortlist"  # ends the name of a contender that uses one where it might not
# They translate a part of the sample only.
SLOW = {"tutorial", "pytorch"}


def list_variants(contenders: Sequence[str], threads: Sequence[int]) -> list[Variant]:
    """Every setting of each contender.

    Where there are several threads, they may instead be as many workers of one thread each, as
    CTranslate2's documentation advises for many sentences; PyTorch is left out of that. CTranslate2
    is tried with active waiting too, since its threads wait by OpenMP.
    """
    variants = []
    for contender in contenders:
        for num_threads in threads:
            variants.append(Variant(contender, num_threads))
            if num_threads == 1:
                continue
            if contender.startswith("ctranslate2"):
                variants.append(Variant(contender, num_threads, is_active_wait=True))
            if contender not in SLOW:
                variants.append(Variant(contender, num_threads, num_workers=num_threads))
    return variants


class Commands:
    """Command lines of workers; what a worker reads is made when it is first asked for.

    Args:
        project: with the model.
        subject: the same, loaded.
        folder: a temporary one, where `work.json` stands.
        device: of the PyTorch and ONNX contenders.
    """

    def __init__(
        self, project: Path, subject: Subject, folder: Path, device: Literal["cpu", "cuda"]
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
            path = graph_file(self.project, precision)
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
        return self.project / CHECKPOINT / WEIGHTS

    def command(self, variant: Variant) -> list[str]:
        """The command line of a variant's worker."""
        who = variant.contender
        path = self.model_path(who).resolve()
        options: dict[str, Any] = {"path": str(path)}
        options["num_threads"] = variant.num_threads // variant.num_workers
        worker = [sys.executable, "-m", "benchmarks.decoding.worker"]
        if who.startswith("ctranslate2"):
            worker = [str(self._python()), "-m", "benchmarks.decoding.ctranslate2_engine", "serve"]
            options |= {"compute_type": path.name, "uses_shortlist": who.endswith(SHORTLIST)}
            options["num_workers"] = variant.num_workers
        elif who.startswith("onnx"):
            worker.append("onnx")
            options |= {"device": self.device, "num_workers": variant.num_workers}
        else:
            worker.append("torch")
            options |= {"device": self.device, "is_tutorial": who == "tutorial"}
        return [*worker, str(self.folder / "work.json"), json.dumps(options)]

    def _python(self) -> Path:
        # Made once; a failure is remembered too.
        if self._ctranslate2 is None:
            subject = self.subject
            try:
                self._ctranslate2 = ensure_environment(ENVIRONMENT)
                convert_model(
                    self._ctranslate2, self.folder, subject.model, subject.info, subject.shortlist
                )
            except UnavailableError as error:
                self._ctranslate2 = error
        if isinstance(self._ctranslate2, UnavailableError):
            raise self._ctranslate2
        return self._ctranslate2


def tell_versions(versions: Mapping[str, str]) -> str:
    """Which libraries the contenders ran by.

    Args:
        versions: of each contender's.
    """
    told = (
        f"{LIBRARIES.get(who.partition('-')[0], 'PyTorch')} {version}"
        for who, version in versions.items()
    )
    return ", ".join(dict.fromkeys(told))


def file_bytes(path: Path) -> int:
    """The size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
