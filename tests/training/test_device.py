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


def test_auto_precision_is_float32_on_a_cpu():
    assert choose_precision("auto", torch.device("cpu")) == torch.float32


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
    monkeypatch.setattr(device, "_num_cores", lambda: 8)
    for other in ("set_flush_denormal", "set_float32_matmul_precision"):
        monkeypatch.setattr(torch, other, lambda _: None)
    kept = []
    monkeypatch.setattr(device, "keep_freed_memory", kept.append)
    device.tune_process(num_threads, num_processes)
    assert threads == set_to
    assert len(kept) == 1
