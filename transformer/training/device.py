"""Where training runs: device, precision, threads, memory allocation."""

import os
from contextlib import AbstractContextManager, nullcontext

import torch

from transformer.allocator import keep_freed_memory
from transformer.machine import check_threads, count_cores, memory_bytes

# The most that glibc's allocator can be told to keep.
_KEPT_BYTES = 2**31 - 1


def choose_device(name: str, section: str = "train") -> torch.device:
    """The device for `auto`, `cpu` or `cuda`: of several GPUs the first that is visible.

    Raises:
        ValueError: CUDA was asked for and PyTorch finds none.
    """
    if name == "cuda" and not torch.cuda.is_available():
        reason = (
            "no GPU is visible to it"
            if torch.version.cuda is not None
            else "it is a build without CUDA"
        )
        raise ValueError(
            f"{section}.device = 'cuda', but PyTorch {torch.__version__} can't use it: {reason}; "
            "set 'auto' or 'cpu', or install a build of PyTorch for your driver"
        )
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device("cuda", 0) if name == "cuda" else torch.device(name)


def device_memory(device: torch.device, num_processes: int = 1) -> int | None:
    """What one of so many processes on this machine may use of it, in bytes; None: unknown."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    memory = memory_bytes()
    return None if memory is None else memory // num_processes


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The dtype of matrix products; `auto` is bfloat16 on a GPU that has it, else float32."""
    if name == "auto":
        # Older GPUs emulate it, more slowly than they run float32.
        has_it = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_it else torch.float32
    return torch.bfloat16 if name == "bfloat16" else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Runs matrix products in `dtype`; nothing at all for float32."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def tune_process(
    num_threads: int | None, num_processes: int = 1, is_deterministic: bool = False
) -> None:
    """Settings of the whole process that training gains from; call it once, from a command.

    - `num_threads` CPU threads; if None, what PyTorch chooses, or, where `num_processes` train on
      this machine, an equal share of the cores;
    - numbers below the normal range count as zero: they are a hundred times slower to work with;
    - freed memory is kept for the next step (`keep_freed_memory`);
    - float32 products on a GPU may use TF32;
    - attention on a GPU as `avoid_cudnn_attention` has it;
    - with `is_deterministic`, a GPU's operations give the same bits for the same input, the slower
      way where there are two.

    Raises:
        ValueError: so many threads can't be had.
    """
    if num_threads is None and num_processes > 1:
        # What OMP_NUM_THREADS says counts for nothing: torchrun sets it to 1.
        num_threads = max(1, count_cores() // num_processes)
    if num_threads is not None:
        check_threads(num_threads)
        torch.set_num_threads(num_threads)
    torch.set_flush_denormal(True)
    torch.set_float32_matmul_precision("high")
    keep_freed_memory(_KEPT_BYTES)
    avoid_cudnn_attention()
    if is_deterministic:
        _repeat_exactly()


def avoid_cudnn_attention() -> None:
    """Leaves cuDNN out of the attention kernels that PyTorch chooses among.

    It makes a plan for each new shape, and nearly every batch of sentences has one.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def _repeat_exactly() -> None:
    from torch._inductor import config as inductor

    # cuBLAS reads it as it starts: a workspace of its own for each stream, of a fixed size.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    # Memory that is about to be written needs no filling to repeat.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Kernels by rule rather than by what was quickest in a trial.
    inductor.deterministic = True
