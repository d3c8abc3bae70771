"""The time of work on a device, which does it after it was told."""

import time
from collections.abc import Callable
from statistics import median

import torch

_NUM_WARM_UPS = 3


def wait(device: torch.device) -> None:
    """Until the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def median_seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Of so many repetitions, after some to warm up, each waited for."""
    for _ in range(_NUM_WARM_UPS):
        work()
    seconds = []
    for _ in range(repeats):
        wait(device)
        started = time.perf_counter()
        work()
        wait(device)
        seconds.append(time.perf_counter() - started)
    return median(seconds)


def peak_gigabytes(device: torch.device) -> float | None:
    """The most that PyTorch had in use on a GPU since `forget_peak`; None on a CPU."""
    if device.type != "cuda":
        return None
    return round(torch.cuda.max_memory_allocated(device) / 1e9, 3)


def forget_peak(device: torch.device) -> None:
    """Gives freed memory back, and counts anew."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
