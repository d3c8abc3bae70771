import os
import subprocess
import sys

import pytest
import torch

from transformer.training import device
from transformer.training.device import autocast, choose_device, choose_precision


def test_cuda_without_cuda_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"train.device = 'cuda', but PyTorch .* set 'auto' or"):
        choose_device("cuda")


def test_auto_takes_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_a_gpu_has_a_number_which_threads_need_to_choose_it(monkeypatch, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device(name) == torch.device("cuda", 0)


def test_auto_precision_is_float32_on_a_cpu():
    assert choose_precision("auto", torch.device("cpu")) == torch.float32


@pytest.mark.parametrize(("is_native", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_precision_is_bfloat16_only_where_a_gpu_has_it_itself(monkeypatch, is_native, dtype):
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: including_emulation or is_native,
    )
    assert choose_precision("auto", torch.device("cuda", 0)) == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_run_in_the_precision(dtype):
    with autocast(torch.device("cpu"), dtype):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


@pytest.mark.parametrize(
    ("num_threads", "num_processes", "set_to"),
    [(None, 1, []), (None, 2, [4]), (None, 99, [1]), (3, 2, [3])],
)
def test_processes_share_the_cores_unless_told_otherwise(
    monkeypatch, num_threads, num_processes, set_to
):
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    monkeypatch.setattr(device, "count_cores", lambda: 8)
    for other in ("set_flush_denormal", "set_float32_matmul_precision"):
        monkeypatch.setattr(torch, other, lambda _: None)
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", lambda _: None)
    kept = []
    monkeypatch.setattr(device, "keep_freed_memory", kept.append)
    device.tune_process(num_threads, num_processes)
    assert threads == set_to
    assert len(kept) == 1


def test_cudnn_has_no_part_in_attention():
    """In a process of its own, whose settings these are."""
    code = (
        "import torch; from transformer.training.device import tune_process; tune_process(1); "
        "print(torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled())"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False True\n"


@pytest.mark.parametrize("workspace", [None, ":16:8"])
def test_determinism_sets_what_pytorch_cublas_and_inductor_need(workspace):
    code = (
        "import os, torch; from torch._inductor import config; "
        "from transformer.training.device import tune_process; "
        "tune_process(1, is_deterministic=True); "
        "print(torch.are_deterministic_algorithms_enabled(), config.deterministic, "
        "torch.is_deterministic_algorithms_warn_only_enabled(), "
        "os.environ['CUBLAS_WORKSPACE_CONFIG'])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "CUBLAS_WORKSPACE_CONFIG"}
    if workspace is not None:
        environment["CUBLAS_WORKSPACE_CONFIG"] = workspace
    printed = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert printed == f"True True False {workspace or ':4096:8'}\n"
