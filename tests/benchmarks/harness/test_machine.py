"""What is told of the machine."""

import subprocess
from types import SimpleNamespace

import pytest
import torch

from benchmarks.harness.machine import describe_gpu


@pytest.fixture
def gpu(monkeypatch):
    properties = SimpleNamespace(total_memory=80 << 30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "GPU X")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)


def test_a_gpu_is_told_with_the_versions_that_its_speed_depends_on(gpu, monkeypatch):
    said = SimpleNamespace(stdout="570.86\n570.86\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: said)
    assert describe_gpu() == (
        f"GPU X, 80 GiB, driver 570.86, CUDA 12.8, cuDNN 91002, PyTorch {torch.__version__}"
    )


def test_without_nvidias_tool_the_driver_is_unknown(gpu, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "driver unknown" in describe_gpu()
