"""What a run's figures belong to, in words: machine, model, code."""

import os
import platform
import subprocess
from pathlib import Path

from benchmarks.harness.environment import ROOT
from transformer.model.config import ModelConfig


def describe_run(*more: str) -> str:
    """Machine, commit, and what else the figures of a run depend on, as a sentence."""
    return "; ".join(filter(None, [describe_machine(), *more, describe_commit()])) + "."


def describe_machine() -> str:
    """Processor, cores, memory, Python."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {gibibytes:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}"
    )


def describe_gpu() -> str:
    """The first GPU that PyTorch sees, and the versions that its figures belong to."""
    import torch

    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        said = "unknown"
    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    gibibytes = torch.cuda.get_device_properties(0).total_memory / 2**30
    return (
        f"{torch.cuda.get_device_name(0)}, {gibibytes:.0f} GiB, driver {said.split()[0]}, "
        f"CUDA {torch.version.cuda}, cuDNN {cudnn}, PyTorch {torch.__version__}"
    )


def describe_model(config: ModelConfig) -> str:
    """The shape of a model, such as `3 + 3 layers, d 256, ff 1024, 4 heads`."""
    return (
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers, d {config.d_model}, "
        f"ff {config.d_ff}, {config.num_heads} heads"
    )


def describe_commit() -> str:
    """The commit of this code, and whether it was changed since; empty outside git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    has_changes = bool(git("status", "--porcelain", "--", "transformer", "benchmarks"))
    return f"commit {commit}{', changed' if has_changes else ''}" if commit else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    known = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "amx_int8") if flag in flags]
    return f"{names[0] if names else platform.machine()} ({', '.join(known) or 'no AVX2'})"
