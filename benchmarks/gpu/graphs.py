"""The exported graphs on this device, beside PyTorch with the same weights."""

from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.decoding.engines import Device, OnnxEngine, TorchEngine
from benchmarks.decoding.profiling import profile_nodes
from benchmarks.decoding.project import (
    ALL,
    Subject,
    graph_file,
    load_subject,
    plan_name,
    plan_work,
)
from benchmarks.decoding.work import Work, measure, prepare, translate
from benchmarks.gpu.cells import TRANSLATOR, Cell, Setting
from transformer.evaluation.scores import score_bleu
from transformer.serving.session import open_session

BATCH_SIZES, BEAM_SIZES = (1, 32, 256), (1, 5)
# Of a graph: its precision, and whether products of float32 may be in TF32.
GRAPHS = {
    "float32": ("float32", False),
    "float32, TF32": ("float32", True),
    "float16": ("float16", False),
}
_NUM_SENTENCES = 512


def list_cells(setting: Setting, part: str) -> list[Cell]:
    """The cells of the part `onnx`."""
    sizes = (1, 2) if setting.is_tiny else BATCH_SIZES
    return [
        Cell(
            f"{engine}, beam {beam_size}", partial(_measure, setting, engine, beam_size, sizes), 45
        )
        for beam_size in BEAM_SIZES
        for engine in ("pytorch", *GRAPHS)
    ]


def _measure(
    setting: Setting, name: str, beam_size: int, batch_sizes: tuple[int, ...]
) -> dict[str, Any]:
    subject = load_subject(setting.packed / TRANSLATOR, None, None)
    work = plan_work(subject, 8 if setting.is_tiny else _NUM_SENTENCES, batch_sizes)
    reference, engine = (_open(setting, subject, work, who) for who in ("pytorch", name))
    expected, targets = (
        translate(one, work, work.plans[ALL], beam_size) for one in (reference, engine)
    )
    texts = [subject.target_tokenizer.decode(ids) for ids in targets]
    values: dict[str, Any] = {
        "bleu": score_bleu(texts, subject.references, bleu_tokenizer=subject.bleu_tokenizer),
        "share_equal_to_pytorch": sum(map(list.__eq__, targets, expected)) / len(targets),
    }
    for size in batch_sizes:
        plan = work.plans[plan_name(size)][: 2 if setting.is_tiny else 64 // min(size, 16)]
        found = measure(engine, work, plan, beam_size)
        values[f"tokens_per_second_{size}"] = found["num_tokens"] / found["seconds"]
    if isinstance(engine, OnnxEngine):
        values |= _count_nodes(setting, work, name, beam_size)
    return values


def _open(setting: Setting, subject: Subject, work: Work, name: str) -> OnnxEngine | TorchEngine:
    device = _device(setting)
    if name == "pytorch":
        # float32 is float32 here: what the graphs are held against.
        torch.set_float32_matmul_precision("highest")
        return TorchEngine(subject.model.to(setting.device), work, device)
    session, provider = open_session(_graph(setting, name), device, None, GRAPHS[name][1])
    assert provider == device
    return OnnxEngine(session, work)


def _device(setting: Setting) -> Device:
    return "cuda" if setting.device.type == "cuda" else "cpu"


def _graph(setting: Setting, name: str) -> Path:
    graph = graph_file(setting.packed / TRANSLATOR, GRAPHS[name][0])
    if not graph.exists():
        raise ValueError(f"{graph}: no such file; the export left this precision out")
    return graph


def _count_nodes(setting: Setting, work: Work, name: str, beam_size: int) -> dict[str, Any]:
    """Nodes that run in one target step of a batch, and those that copy between devices."""

    def run(session: Any) -> int:
        profiled = OnnxEngine(session, work)
        batch = prepare(profiled, work, work.plans[ALL][0])
        return max(map(len, profiled.read(profiled.run(batch, beam_size))))

    num_steps, nodes = profile_nodes(_graph(setting, name), run, _device(setting), None)
    num_copies = sum(node.operator.startswith("Memcpy") for node in nodes)
    return {"nodes_a_step": len(nodes) / num_steps, "copies_a_step": num_copies / num_steps}
