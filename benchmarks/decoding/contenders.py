"""The contenders, and the settings in which each of them runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
# By device. A CPU computes float16 by casts; a GPU sends int8 back and forth to the CPU, where
# CTranslate2 is measured too.
DEFAULTS = {
    "cpu": tuple(name for name in NAMES if name != "onnx-float16"),
    "cuda": ("tutorial", "pytorch", "onnx-float32", "onnx-float16"),
}
SHORTLIST = "-shortlist"  # ends the name of a contender that uses one where it might not
SLOW = {"tutorial", "pytorch"}


@dataclass(frozen=True)
class Variant:
    """A contender in one setting; a process of its own."""

    contender: str
    # In all, over its workers.
    num_threads: int
    # Batches side by side: the workers share the threads, and each batch is cut for them.
    num_workers: int = 1
    # What OpenMP's threads do when they wait.
    is_active_wait: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """What its process needs besides: OpenMP reads its settings when it is loaded."""
        return {"OMP_WAIT_POLICY": "ACTIVE"} if self.is_active_wait else {}

    @property
    def setting(self) -> str:
        """Such as `2`, `2, active wait`, `2 x 1`."""
        if self.num_workers > 1:
            return f"{self.num_workers} x {self.num_threads // self.num_workers}"
        return f"{self.num_threads}, active wait" if self.is_active_wait else str(self.num_threads)

    @property
    def is_slow(self) -> bool:
        """Whether it translates a part of the sample only."""
        return self.contender in SLOW

    def takes(self, batch_size: int) -> bool:
        """Whether the batches are large enough to share."""
        return batch_size >= self.num_workers


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


def file_bytes(path: Path) -> int:
    """The size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)
