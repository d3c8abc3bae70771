"""The provider that was got is the provider that is told."""

import importlib.metadata
import os

import onnxruntime
import pytest

from transformer.serving import session as module
from transformer.serving.session import open_session

CUDA = ["CUDAExecutionProvider", "CPUExecutionProvider"]


@pytest.fixture
def graph(make_translator):
    return make_translator() / "translator.onnx"


@pytest.fixture
def gpu_build(monkeypatch):
    """An onnxruntime that lists CUDA, finds a driver, then falls back without a word.

    What its sessions were opened with.
    """
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: CUDA)
    monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: print("noise"))
    monkeypatch.setattr(module.ctypes, "CDLL", lambda name: None)
    monkeypatch.setenv(module.CUDNN_ATTENTION, "")  # to be put back as it was
    monkeypatch.delenv(module.CUDNN_ATTENTION)
    open_really, opened = onnxruntime.InferenceSession, []

    def fall_back(graph, options, **settings):
        opened.append(settings | {"cudnn": os.environ.get(module.CUDNN_ATTENTION)})
        return open_really(graph, options, providers=["CPUExecutionProvider"])

    monkeypatch.setattr(onnxruntime, "InferenceSession", fall_back)
    return opened


@pytest.fixture
def working_gpu(gpu_build, monkeypatch):
    """The same with CUDA that starts."""
    open_session = onnxruntime.InferenceSession

    def start(*arguments, **settings):
        session = open_session(*arguments, **settings)
        if len(settings["providers"]) == 2:
            session.get_providers = lambda: CUDA
        return session

    monkeypatch.setattr(onnxruntime, "InferenceSession", start)
    return gpu_build


@pytest.fixture
def cpu_build(monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])


def test_auto_without_cuda_is_the_cpu(graph, cpu_build, recwarn):
    session, provider = open_session(graph, "auto", None)
    assert (provider, session.get_providers()) == ("cpu", ["CPUExecutionProvider"])
    assert not recwarn


@pytest.mark.parametrize(("num_threads", "uses_arena"), [(1, False), (2, True), (None, True)])
def test_a_session_of_one_thread_can_be_shared_at_full_speed(graph, num_threads, uses_arena):
    session, _ = open_session(graph, "cpu", num_threads)
    assert session.get_session_options().enable_cpu_mem_arena is uses_arena


@pytest.fixture
def no_driver(gpu_build, monkeypatch):
    def no_library(name):
        raise OSError(name)

    monkeypatch.setattr(module.ctypes, "CDLL", no_library)


def test_auto_without_a_driver_does_not_even_try(graph, no_driver, recwarn):
    assert open_session(graph, "auto", None)[1] == "cpu"
    assert not recwarn


def test_cuda_without_a_driver_is_refused_without_noise(graph, no_driver, capfd):
    match = r"provider = 'cuda': this machine has no NVIDIA driver .*, or choose provider = 'cpu'"
    with pytest.raises(ValueError, match=match):
        open_session(graph, "cuda", None)
    assert capfd.readouterr() == ("", "")


def test_auto_warns_when_cuda_does_not_start(graph, gpu_build, capsys):
    with pytest.warns(RuntimeWarning, match="could not start CUDA.*Running on the CPU"):
        assert open_session(graph, "auto", None)[1] == "cpu"
    assert capsys.readouterr().out == ""


def test_a_session_that_fell_back_has_the_settings_of_the_cpu(graph, gpu_build):
    with pytest.warns(RuntimeWarning, match="Running on the CPU"):
        open_session(graph, "auto", None)
    on_cpu = gpu_build[1]
    assert on_cpu["providers"] == ["CPUExecutionProvider"]
    assert on_cpu["disabled_optimizers"] == ["SkipLayerNormFusion"]


def test_cuda_multiplies_in_full_precision_unless_tf32_is_allowed(graph, working_gpu):
    assert open_session(graph, "cuda", None)[1] == "cuda"
    open_session(graph, "auto", None, allow_tf32=True)
    open_session(graph, "cpu", None, allow_tf32=True)
    assert [one["providers"] for one in working_gpu] == [
        [("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"],
        [("CUDAExecutionProvider", {"use_tf32": "1"}), "CPUExecutionProvider"],
        ["CPUExecutionProvider"],
    ]


def test_sums_and_norms_are_fused_on_cuda_alone(graph, working_gpu):
    for provider in ("cuda", "cpu"):
        open_session(graph, provider, None)
    disabled = [one["disabled_optimizers"] for one in working_gpu]
    assert disabled == [[], ["SkipLayerNormFusion"]]


@pytest.mark.parametrize(("users", "expected"), [(None, "0"), ("1", "1")])
def test_cudnn_attention_is_off_on_cuda_unless_the_user_set_it(
    graph, working_gpu, monkeypatch, users, expected
):
    open_session(graph, "cpu", None)
    if users is not None:
        monkeypatch.setenv(module.CUDNN_ATTENTION, users)
    open_session(graph, "cuda", None)
    assert [one["cudnn"] for one in working_gpu] == [None, expected]


def test_a_graph_in_memory_is_opened_too(graph):
    session, _ = open_session(graph.read_bytes(), "cpu", None)
    assert session.get_inputs()[0].name == "source"
    with pytest.raises(ValueError, match="can't open the graph: "):
        open_session(b"no graph", "cpu", None)


def test_cuda_that_falls_back_in_silence_is_refused(graph, gpu_build):
    with pytest.raises(ValueError, match=r"provider = 'cuda': .* could not start CUDA"):
        open_session(graph, "cuda", None)


def test_cuda_without_a_gpu_build_is_refused(graph, cpu_build):
    with pytest.raises(ValueError, match="has no CUDA provider; install onnxruntime-gpu"):
        open_session(graph, "cuda", None)


def test_two_onnxruntime_packages_at_once_are_explained(graph, cpu_build, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: name)
    with pytest.warns(RuntimeWarning, match="are both installed.*pip uninstall"):
        assert open_session(graph, "auto", None)[1] == "cpu"
    with pytest.raises(ValueError, match=r"no CUDA provider; .* are both installed"):
        open_session(graph, "cuda", None)


def test_an_unknown_provider_is_refused(graph):
    with pytest.raises(ValueError, match="provider = 'tpu': allowed are auto, cpu, cuda"):
        open_session(graph, "tpu", None)


def test_no_threads_are_refused(graph):
    with pytest.raises(ValueError, match="num_threads = 0: must be from 1 to"):
        open_session(graph, "cpu", 0)


def test_the_number_of_threads_is_passed_on(graph):
    session, _ = open_session(graph, "cpu", 1)
    assert session.get_session_options().intra_op_num_threads == 1
