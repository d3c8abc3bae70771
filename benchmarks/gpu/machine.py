"""What results belong to: device, versions, commit."""

from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.project import COMMIT


def describe(device: torch.device, packed: Path) -> dict[str, Any]:
    """Device, versions and commit by name; equal for all calls of one set of measurements."""
    commit = packed / COMMIT
    facts: dict[str, Any] = {
        "device": device_name(device),
        "torch": torch.__version__,
        "commit": commit.read_text().strip() if commit.exists() else "unknown",
    }
    if device.type == "cuda":
        facts["cuda"] = torch.version.cuda
        facts["cudnn"] = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return facts


def device_name(device: torch.device) -> str:
    """A GPU's name, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
