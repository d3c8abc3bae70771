"""A trained model as a folder that translates."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.export.config import FORMS, ExportConfig, Precision
from transformer.export.folder.card import README, make_card, write_readme
from transformer.export.graph import Graph, build_graphs, serialize
from transformer.export.shortlist.choose import Shortlist
from transformer.export.verification.gate import Verdict, find_problems
from transformer.export.verification.parity import (
    Parity,
    Reference,
    TestSet,
    Trial,
    compare,
    translate_by_pytorch,
)
from transformer.export.verification.report import write_reports
from transformer.files import atomic_folder, sha256_file
from transformer.model.transformer import Transformer
from transformer.search.options import SearchConfig
from transformer.serving.card import Provenance, save_card
from transformer.serving.session import Provider, count_threads, open_session
from transformer.text.alignment import TABLE
from transformer.text.heldout import describe_size
from transformer.text.word_list import WORDS, write_words


def export_translator(
    folder: Path,
    reports: Path,
    model: Transformer,
    *,
    tokenizer_files: Mapping[str, Path],
    words: Sequence[str] | None,
    alignment: NDArray[Any] | None,
    provenance: Provenance,
    test: TestSet,
    sets: Mapping[str, TestSet],
    search: SearchConfig,
    config: ExportConfig,
    shortlist: Shortlist | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> tuple[Reference, list[Verdict]]:
    """Writes graphs, tokenizers and card to `folder`, once the graphs have proved themselves.

    They do so on the CPU; float16 on CUDA where it works here, else card and reports say that it
    was the CPU.

    What stood at `folder` is removed first: no older translator survives a failure. A float32
    graph that fails leaves no translator; another one that fails is not in the folder, and the
    card says why. `reports` gets export.json, differences.json, parity.csv and parity.png, after
    a failed comparison too.

    Args:
        folder: such as models/translator.
        reports: a folder.
        model: on the CPU, in evaluation mode.
        tokenizer_files: by the names under which they are copied.
        words: of the training source, by which unknown ones are noticed; None: not known.
        alignment: by which words are aligned, see `transformer.text.alignment.fit_table`; None:
            by their spelling and places.
        provenance: what the card tells besides.
        test: what graphs and PyTorch all translate.
        sets: further ones, by name, which they translate too, and which no tolerance holds for.
        search: the search's defaults, with which they do.
        config: form, precisions and tolerances.
        shortlist: as `config.shortlist` asks for, see `transformer.export.shortlist.choose`.
        tell: is called with a line as each longer step begins.

    Returns:
        PyTorch's translations, and each graph's verdict, in the order of `config.precisions`.

    Raises:
        ValueError: the float32 graph strays from PyTorch by more than `config` allows.
    """
    special = provenance.special_ids
    size = describe_size(len(test.sources), test.sampled_from)
    trial = Trial(
        model,
        test,
        search.options(model.config.max_positions),
        source_pad=special.source.pad_id,
        special=special.target,
    )
    further = {name: replace(trial, test=one) for name, one in sets.items()}
    if shortlist is None:
        config = config.model_copy(update={"shortlist": None})
    shutil.rmtree(folder, ignore_errors=True)
    tell(f"{', '.join(config.precisions)}: from PyTorch to ONNX")
    with atomic_folder(folder) as temporary:
        graphs = build_graphs(
            model,
            source_pad=trial.source_pad,
            special=trial.special,
            attention=config.attention,
            precisions=config.precisions,
            shortlist=shortlist,
            # Its start costs more than what a sample leaves to do meanwhile.
            in_parallel=count_threads(None) > 1 and test.sampled_from is None,
        )
        verdicts: list[Verdict] = []
        for precision, graph in graphs:
            if not verdicts:  # now, while another process makes the next graph
                tell(f"PyTorch translates {size}")
                reference = replace(
                    translate_by_pytorch(trial),
                    sets={name: translate_by_pytorch(one) for name, one in further.items()},
                )
            tell(f"{precision}: onnxruntime translates them, and its answers are compared")
            path = temporary / FORMS[precision].file
            verdicts.append(_try(graph, path, trial, further, reference, precision, config))
            if not verdicts[0].passed:
                break
        write_reports(reports, reference, verdicts, config)
        _check(verdicts[0], reports)
        for name, path in tokenizer_files.items():
            shutil.copyfile(path, temporary / name)
        if words is not None:
            write_words(temporary / WORDS, words)
        if alignment is not None:
            np.save(temporary / TABLE, alignment)
        files = {path.name: sha256_file(path) for path in sorted(temporary.iterdir())}
        card = make_card(model, provenance, search, config, reference, verdicts, files)
        save_card(temporary, card)
        (temporary / README).write_text(write_readme(card), encoding="utf-8")
    return reference, verdicts


def _try(
    graph: Graph,
    path: Path,
    trial: Trial,
    further: Mapping[str, Trial],
    reference: Reference,
    precision: Precision,
    config: ExportConfig,
) -> Verdict:
    # The file stays if it passes.
    path.write_bytes(serialize(graph.model))
    wanted: Provider = "auto" if FORMS[precision].prefers_cuda else "cpu"
    session, provider = open_session(path, wanted, None)
    shown, _ = open_session(serialize(graph.with_logits), provider, None)

    def compare_on(trial: Trial, reference: Reference) -> Parity:
        return compare(trial, reference, precision, session, shown, config.near_tie_margin)

    parity = compare_on(trial, reference)
    problems = find_problems(parity, reference, config)
    sets = {name: compare_on(one, reference.sets[name]) for name, one in further.items()}
    verdict = Verdict(parity, path.stat().st_size, problems, provider, sets)
    if not verdict.passed:
        path.unlink()
    return verdict


def _check(verdict: Verdict, reports: Path) -> None:
    if not verdict.passed:
        raise ValueError(
            "the exported translator strays from PyTorch, so none was left behind:\n  "
            + "\n  ".join(verdict.problems)
            + f"\n{reports}/differences.json lists each sentence; if the differences are rounding "
            "of a large model, raise the tolerance, else report a bug"
        )
