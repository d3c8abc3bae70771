"""The exported graphs on this device, beside PyTorch with the same weights."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import onnxruntime
import torch

from benchmarks.decoding.engines import Batch, OnnxEngine, SearchEngine
from benchmarks.decoding.project import (
    ALL,
    Project,
    Subject,
    graph_file,
    load_subject,
    plan_name,
    plan_work,
)
from benchmarks.decoding.work import Work
from benchmarks.gpu.cells import Cell, Setting
from benchmarks.gpu.project import TRANSLATOR
from benchmarks.gpu.timing import median_seconds
from transformer.evaluation.scores import score_bleu
from transformer.serving.session import PROVIDERS, open_session

BATCH_SIZES, BEAM_SIZES = (1, 32, 256), (1, 5)
# Of a graph: its precision, and whether products of float32 may be in TF32.
GRAPHS = {
    "float32": ("float32", False),
    "float32, TF32": ("float32", True),
    "float16": ("float16", False),
}
_NUM_SENTENCES = 512


def list_cells(setting: Setting) -> list[Cell]:
    """The cells of the part `onnx`."""
    sizes = (1, 2) if setting.is_tiny else BATCH_SIZES
    return [
        Cell(
            f"{engine}, beam {beam_size}",
            partial(_measure, setting, engine, beam_size, sizes),
            45,
        )
        for beam_size in BEAM_SIZES
        for engine in ("pytorch", *GRAPHS)
    ]


def _measure(
    setting: Setting, name: str, beam_size: int, batch_sizes: tuple[int, ...]
) -> dict[str, Any]:
    subject, work = _load(setting, batch_sizes)
    engine = _open(setting, subject, work, name)
    reference = _translate(_open(setting, subject, work, "pytorch"), work, beam_size)
    targets = _translate(engine, work, beam_size)
    texts = [subject.target_tokenizer.decode(ids) for ids in targets]
    values: dict[str, Any] = {
        "bleu": score_bleu(texts, subject.references, bleu_tokenizer=subject.bleu_tokenizer),
        "share_equal_to_pytorch": sum(map(list.__eq__, targets, reference)) / len(targets),
    }
    for size in batch_sizes:
        batches = [_batch(work, rows) for rows in work.plans[plan_name(size)]]
        batches = batches[: 2 if setting.is_tiny else 64 // min(size, 16)]
        num_tokens = 0

        def run(batches: list[Batch] = batches) -> None:
            nonlocal num_tokens
            found = [engine.read(engine.run(batch, beam_size)) for batch in batches]
            num_tokens = sum(len(ids) for one in found for ids in one)

        seconds = median_seconds(run, setting.device, 1 if setting.is_tiny else 3)
        values[f"tokens_per_second_{size}"] = num_tokens / seconds
    if isinstance(engine, OnnxEngine):
        values |= _count_nodes(setting, subject, work, name, beam_size)
    return values


def _load(setting: Setting, batch_sizes: tuple[int, ...]) -> tuple[Subject, Work]:
    subject = load_subject(Project(setting.packed / TRANSLATOR), None, None)
    return subject, plan_work(subject, 8 if setting.is_tiny else _NUM_SENTENCES, batch_sizes)


def _open(setting: Setting, subject: Subject, work: Work, name: str) -> OnnxEngine | SearchEngine:
    device = "cuda" if setting.device.type == "cuda" else "cpu"
    if name == "pytorch":
        # float32 is float32 here: what the graphs are held against.
        torch.set_float32_matmul_precision("highest")
        return SearchEngine(subject.model.to(setting.device), subject.marks, work.ranking, device)  # type: ignore[arg-type]
    precision, allow_tf32 = GRAPHS[name]
    graph = _graph(setting, precision)
    session, provider = open_session(graph, device, None, allow_tf32)  # type: ignore[arg-type]
    assert provider == device
    return OnnxEngine(session, subject.marks, work.ranking)


def _graph(setting: Setting, precision: str) -> Path:
    graph = graph_file(Project(setting.packed / TRANSLATOR).translator, precision)
    if not graph.exists():
        raise ValueError(f"{graph}: no such file; the export left this precision out")
    return graph


def _translate(engine: OnnxEngine | SearchEngine, work: Work, beam_size: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in work.sources]
    for rows in work.plans[ALL]:
        for row, ids in zip(
            rows, engine.read(engine.run(_batch(work, rows), beam_size)), strict=True
        ):
            found[row] = ids
    return found


def _batch(work: Work, rows: list[int]) -> Batch:
    return Batch([work.sources[row] for row in rows], [work.max_lengths[row] for row in rows])


def _count_nodes(
    setting: Setting, subject: Subject, work: Work, name: str, beam_size: int
) -> dict[str, Any]:
    """Nodes that run in one target step of a batch, and those that copy between devices."""
    precision, _ = GRAPHS[name]
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(setting.work / "onnx")
    options.log_severity_level = 3
    providers = [PROVIDERS["cpu"]]
    if setting.device.type == "cuda":
        providers.insert(0, PROVIDERS["cuda"])
    session = onnxruntime.InferenceSession(_graph(setting, precision), options, providers=providers)
    batch = _batch(work, work.plans[ALL][0])
    engine = OnnxEngine(session, subject.marks, work.ranking)
    num_steps = max(map(len, engine.read(engine.run(batch, beam_size))))
    path = Path(session.end_profiling())
    events = json.loads(path.read_text())
    path.unlink()
    kinds = Counter(
        event["args"]["op_name"]
        for event in events
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")
    )
    copies = sum(count for kind, count in kinds.items() if kind.startswith("Memcpy"))
    return {
        "nodes_a_step": sum(kinds.values()) / num_steps,
        "copies_a_step": copies / num_steps,
    }
