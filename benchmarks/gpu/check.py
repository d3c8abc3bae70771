"""Whether training runs on this device as it does on a CPU, and what the device can do."""

import platform
import re
import shutil
import subprocess
import tempfile
from functools import partial
from importlib import metadata
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.cells import PROJECT, REFERENCE, Cell, Setting
from benchmarks.gpu.steps import largest_difference, reference_steps, take_steps
from benchmarks.gpu.timing import median_seconds
from transformer.files import read_json
from transformer.monitoring.flops import measure_product_peak

# Relative; float32 on a GPU multiplies in TF32, of which 10 bits are left of 23.
TOLERANCES = {"float32": 0.005, "bfloat16": 0.02}
_PACKAGES = ("torch", "triton", "numpy", "tokenizers", "onnx", "onnxruntime-gpu", "onnxruntime")


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """The cells of the part `check`."""
    return [
        Cell("machine", _describe_machine, 5),
        Cell("bandwidth", partial(_measure_bandwidth, setting), 10),
        Cell("peak", partial(_measure_peak, setting), 5),
        Cell("attention kernels", partial(_find_attention_kernels, setting), 10),
        *(
            Cell(
                f"{precision} {'compiled' if is_compiled else 'eager'}",
                partial(_compare_losses, setting, precision, is_compiled),
                90 if is_compiled else 20,
            )
            for precision in TOLERANCES
            for is_compiled in (False, True)
        ),
        Cell("save and resume", partial(_resume, setting), 30),
    ]


def _describe_machine() -> dict[str, Any]:
    values: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform()}
    for name in _PACKAGES:
        try:
            values[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if shutil.which("nvidia-smi"):
        fields = "name,driver_version,memory.total,clocks.max.sm,power.limit"
        command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
        values["nvidia_smi"] = subprocess.run(
            command, capture_output=True, text=True
        ).stdout.strip()
    return values


def _measure_bandwidth(setting: Setting) -> dict[str, Any]:
    device = setting.device
    num_bytes = 1 << (20 if setting.is_tiny or device.type == "cpu" else 32)
    source = torch.zeros(num_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = median_seconds(partial(target.copy_, source), device, 5)
    values = {"device_gb_per_second": 2 * num_bytes / seconds / 1e9}  # read and written
    if device.type == "cuda":
        for kind, host in (
            ("pageable", torch.empty(1 << 28, dtype=torch.uint8)),
            ("pinned", torch.empty(1 << 28, dtype=torch.uint8).pin_memory()),
        ):
            part = target[: host.numel()]
            to_device = median_seconds(partial(part.copy_, host), device, 3)
            to_host = median_seconds(partial(host.copy_, part), device, 3)
            values[f"{kind}_to_device_gb_per_second"] = host.numel() / to_device / 1e9
            values[f"{kind}_to_host_gb_per_second"] = host.numel() / to_host / 1e9
    return values


def _measure_peak(setting: Setting) -> dict[str, Any]:
    return {
        f"{str(dtype).removeprefix('torch.')}_flops": measure_product_peak(
            setting.device, dtype, repeats=2 if setting.is_tiny else 9
        )
        for dtype in (torch.bfloat16, torch.float32)
    }


def _find_attention_kernels(setting: Setting) -> dict[str, Any]:
    """The operator that PyTorch chooses for each form of mask, forward and backward."""
    device, found = setting.device, {}
    for dtype in (torch.bfloat16, torch.float32):
        query = torch.randn(8, 8, 27, 64, device=device, dtype=dtype, requires_grad=True)
        real = torch.ones(8, 1, 1, 27, dtype=torch.bool, device=device)
        for form, mask in (("all", None), ("causal", None), ("masked", real)):
            with profile(activities=[ProfilerActivity.CPU]) as profiler:
                scaled_dot_product_attention(
                    query, query, query, attn_mask=mask, is_causal=form == "causal"
                ).sum().backward()  # type: ignore[no-untyped-call]
            names = {str(event.key) for event in profiler.key_averages()}
            chosen = sorted(name for name in names if re.search(r"::_scaled_dot_product_", name))
            found[f"{form} {str(dtype).removeprefix('torch.')}"] = chosen
    return found


def _compare_losses(setting: Setting, precision: str, is_compiled: bool) -> dict[str, Any]:
    reference = read_json(setting.packed / REFERENCE)["losses"]
    steps = reference_steps(
        setting.packed / PROJECT,
        len(reference),
        device=setting.device.type,
        precision=precision,
        compile=is_compiled,
    )
    found = take_steps(steps)
    difference = largest_difference(found["losses"], reference)
    return {
        "largest_relative_difference": difference,
        "tolerance": TOLERANCES[precision],
        "is_within": difference <= TOLERANCES[precision],
        "losses": found["losses"],
        "seconds_a_step": found["seconds_a_step"],
    }


def _resume(setting: Setting) -> dict[str, Any]:
    num_steps = 6
    with tempfile.TemporaryDirectory() as folder:
        steps = reference_steps(
            setting.packed / PROJECT, num_steps, device=setting.device.type, compile=False
        )
        whole = take_steps(steps)
        steps = steps._replace(states=folder, stop_at=num_steps // 2)
        first = take_steps(steps)
        last = take_steps(steps._replace(stop_at=None))
    joined = first["losses"] + last["losses"]
    return {
        "largest_relative_difference": largest_difference(joined, whole["losses"]),
        "is_same_weights": whole["sha256"] == last["sha256"],
    }
