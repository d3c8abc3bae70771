"""A trained model as a folder that translates."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import onnx
import onnxruntime

from transformer.decoding.beam import SpecialIds
from transformer.decoding.config import SearchConfig
from transformer.export.card import CARD, GRAPH, README, Provenance, describe, write_readme
from transformer.export.config import ExportConfig
from transformer.export.graph import build_graph, serialise, with_logits
from transformer.export.parity import Parity, TestSet, check, compare
from transformer.files import atomic_folder, sha256_file, write_json
from transformer.model.transformer import Transformer
from transformer.serving.session import open_session


def export_translator(
    folder: Path,
    reports: Path,
    model: Transformer,
    *,
    tokenizer_files: Mapping[str, Path],
    provenance: Provenance,
    test: TestSet,
    search: SearchConfig,
    config: ExportConfig,
) -> Parity:
    """Writes graph, tokenizers and card to `folder`, once the graph has proved itself.

    What stood at `folder` is removed first: no older translator survives a failure. To `reports`
    go export.json and near_ties.json, after a failed comparison too.

    Args:
        folder: such as models/translator.
        reports: a folder.
        model: on the CPU, in evaluation mode.
        tokenizer_files: by the names under which they are copied.
        provenance: what the card tells besides.
        test: what graph and PyTorch both translate.
        search: the search's defaults, with which they do.
        config: form and tolerances.

    Raises:
        ValueError: the graph strays from PyTorch by more than `config` allows.
    """
    source_pad = provenance.special_ids["source"]["pad"]
    marks = provenance.special_ids["target"]
    special = SpecialIds(pad=marks["pad"], bos=marks["bos"], eos=marks["eos"])
    shutil.rmtree(folder, ignore_errors=True)
    with atomic_folder(folder) as temporary:
        graph = build_graph(
            model, source_pad=source_pad, special=special, attention=config.attention
        )
        (temporary / GRAPH).write_bytes(serialise(graph))
        parity = compare(
            model,
            open_session(temporary / GRAPH, "cpu", None)[0],
            open_with_logits(graph),
            test,
            search,
            config.near_tie_margin,
            source_pad=source_pad,
            special=special,
        )
        write_json(reports / "export.json", parity.metrics())
        write_json(
            reports / "near_ties.json", [asdict(difference) for difference in parity.differences]
        )
        check(parity, config)
        for name, path in tokenizer_files.items():
            shutil.copyfile(path, temporary / name)
        files = {path.name: sha256_file(path) for path in sorted(temporary.iterdir())}
        card = describe(model, provenance, search, config.attention, parity, files)
        write_json(temporary / CARD, card)
        (temporary / README).write_text(write_readme(card), encoding="utf-8")
    return parity


def open_with_logits(graph: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A session on the CPU of the graph with its logits shown."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(
        serialise(with_logits(graph)), options, providers=["CPUExecutionProvider"]
    )
