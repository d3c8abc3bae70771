"""Time and devices for parts of the GPU's benchmark, on a CPU."""

import time

import pytest
import torch

from benchmarks.gpu.cells import Setting


@pytest.fixture
def make_setting(tmp_path):
    """Keyword arguments replace fields."""

    def make(**changes):
        values = {
            "device": torch.device("cpu"),
            "is_tiny": True,
            "packed": tmp_path / "packed",
            "work": tmp_path,
            "deadline": time.monotonic() + 1000.0,
        }
        return Setting(**(values | changes))

    return make
