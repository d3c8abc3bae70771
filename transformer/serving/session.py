"""The onnxruntime session, on a provider that is really there."""

import contextlib
import ctypes
import importlib.metadata
import os
import sys
import warnings
from pathlib import Path
from typing import Literal

import onnxruntime

from transformer.allocator import keep_freed_memory

Provider = Literal["auto", "cpu", "cuda"]

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
# onnxruntime's own switch. It reads the environment when a graph is loaded.
CUDNN_ATTENTION = "ORT_ENABLE_CUDNN_FLASH_ATTENTION"
# Of freed memory, for sessions that may run side by side.
_KEPT_BYTES = 256 << 20
TWO_PACKAGES = (
    "onnxruntime and onnxruntime-gpu are both installed; they overwrite each other's files, and "
    "CUDA is lost. Repair it: pip uninstall --yes onnxruntime onnxruntime-gpu, "
    "then pip install onnxruntime-gpu"
)


def open_session(
    graph: Path | bytes,
    provider: Provider,
    num_threads: int | None,
    allow_tf32: bool = False,
) -> tuple[onnxruntime.InferenceSession, Literal["cpu", "cuda"]]:
    """Opens a graph on the provider asked for.

    On CUDA attention by cuDNN, which makes a plan for every new length, is off unless the
    environment says otherwise (`ORT_ENABLE_CUDNN_FLASH_ATTENTION`).

    Args:
        graph: the ONNX file, or what is in it.
        provider: `auto` takes CUDA where it works, else the CPU.
        num_threads: for one operation on the CPU; None means one per physical core. With 1 the
            process's allocator is told to keep up to 256 MiB of what is freed (Linux).
        allow_tf32: on CUDA, float32 products of 10-bit mantissas, which tensor cores multiply;
            float32 means float32 otherwise.

    Returns:
        The session, and the provider that it really runs on.

    Raises:
        ValueError: an unknown provider or number of threads; CUDA was asked for and isn't there;
            onnxruntime can't read the graph.
    """
    expected = expect_provider(provider)
    if num_threads is not None:
        count_threads(num_threads)
    if _are_both_packages_installed():
        warnings.warn(TWO_PACKAGES, RuntimeWarning, stacklevel=2)
    if expected == "cpu":
        return _open(graph, "cpu", num_threads), "cpu"
    # Finds CUDA libraries that came as packages, which the dynamic loader doesn't know.
    with contextlib.redirect_stdout(sys.stderr):  # it prints its warnings
        onnxruntime.preload_dlls()
    session = _open(graph, "cuda", num_threads, allow_tf32)
    # onnxruntime falls back to the CPU without raising, so what was asked for proves nothing.
    if PROVIDERS["cuda"] in session.get_providers():
        return session, "cuda"
    advice = (
        f"onnxruntime {onnxruntime.__version__} could not start CUDA, as it tells above; check "
        "the driver (nvidia-smi) and that CUDA and cuDNN are of the versions it was built for"
    )
    if provider == "cuda":
        raise ValueError(f"provider = 'cuda': {advice}, or choose provider = 'cpu'")
    warnings.warn(f"{advice}. Running on the CPU", RuntimeWarning, stacklevel=2)
    return _open(graph, "cpu", num_threads), "cpu"  # that session has CUDA's settings


def count_threads(num_threads: int | None) -> int:
    """The number itself, or that of the cores that this process may use.

    Raises:
        ValueError: there are fewer cores.
    """
    num_cores = os.cpu_count() or 1
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else num_cores
    if not 1 <= num_threads <= num_cores:
        raise ValueError(
            f"num_threads = {num_threads}: must be from 1 to {num_cores}, the cores of this "
            "machine; leave it out for all of them"
        )
    return num_threads


def expect_provider(provider: Provider) -> Literal["cpu", "cuda"]:
    """What `open_session` will try, which is what it gets unless CUDA doesn't start.

    Raises:
        ValueError: an unknown provider; CUDA was asked for and isn't there.
    """
    if provider not in ("auto", *PROVIDERS):
        raise ValueError(f"provider = {provider!r}: allowed are auto, cpu, cuda")
    if provider == "cpu":
        return "cpu"
    problem = _find_cuda_problem()
    if problem is None:
        return "cuda"
    if provider == "auto":
        return "cpu"
    raise ValueError(f"provider = 'cuda': {problem}, or choose provider = 'cpu'")


def _open(
    graph: Path | bytes,
    provider: Literal["cpu", "cuda"],
    num_threads: int | None,
    allow_tf32: bool = False,
) -> onnxruntime.InferenceSession:
    # Defaults but for these: lower optimisation levels open no sooner, and threads that don't spin
    # between operations make the search's many small ones slower.
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.intra_op_num_threads = num_threads or 0
    if provider == "cpu" and num_threads == 1:
        # Such a session may run several batches side by side, which onnxruntime's own allocator
        # slows down, by a quarter where batches are small.
        options.enable_cpu_mem_arena = False
        keep_freed_memory(_KEPT_BYTES)
    providers: list[str | tuple[str, dict[str, str]]] = [PROVIDERS["cpu"]]
    # On a CPU the fused sum and norm takes several times as long as the two.
    disabled = ["SkipLayerNormFusion"]
    if provider == "cuda":
        os.environ.setdefault(CUDNN_ATTENTION, "0")
        providers.insert(0, (PROVIDERS["cuda"], {"use_tf32": str(int(allow_tf32))}))
        disabled = []
    try:
        return onnxruntime.InferenceSession(
            graph, options, providers=providers, disabled_optimizers=disabled
        )
    except Exception as error:  # onnxruntime's own exceptions share no public base
        name = "the graph" if isinstance(graph, bytes) else graph
        raise ValueError(
            f"onnxruntime {onnxruntime.__version__} can't open {name}: {error}"
        ) from error


def _find_cuda_problem() -> str | None:
    # The GPU build lists CUDA everywhere, and failing to start it is slow and noisy: ask the
    # driver first.
    if PROVIDERS["cuda"] not in onnxruntime.get_available_providers():
        if _are_both_packages_installed():
            return f"this onnxruntime has no CUDA provider; {TWO_PACKAGES}"
        return (
            "this onnxruntime has no CUDA provider; install onnxruntime-gpu in place of onnxruntime"
        )
    driver = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        ctypes.CDLL(driver)
    except OSError:
        return (
            f"this machine has no NVIDIA driver ({driver} can't be loaded); install one "
            "(nvidia-smi shows whether it works)"
        )
    return None


def _are_both_packages_installed() -> bool:
    try:
        for name in ("onnxruntime", "onnxruntime-gpu"):
            importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
