"""The exported graph held against PyTorch on the test set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnxruntime
import torch
from sacrebleu.metrics import BLEU

from transformer.decoding.beam import SpecialIds
from transformer.decoding.config import SearchConfig
from transformer.decoding.corpus import Hypothesis, decode_corpus
from transformer.export.config import ExportConfig
from transformer.export.margin import smallest_margin
from transformer.export.runtime import run_graph, translate_corpus
from transformer.model.transformer import Transformer

# Sentences over whose greedy translations the logits are compared, padded to one batch.
NUM_LOGIT_SENTENCES = 16


@dataclass(frozen=True)
class TestSet:
    """What both runtimes translate, and how it is scored."""

    __test__ = False  # it is not a test, whatever pytest makes of its name

    # With end mark; empty for a sentence of no tokens.
    sources: Sequence[Sequence[int]]
    references: Sequence[str]
    # Target ids to text.
    decode: Callable[[Sequence[int]], str]
    bleu_tokenizer: str
    batch_tokens: int


@dataclass(frozen=True)
class Difference:
    """A sentence that the two runtimes translate differently."""

    row: int  # of the test set, from 0
    pytorch: str
    onnx: str
    pytorch_score: float
    onnx_score: float
    # The smallest gap that decided anything in PyTorch's search.
    margin: float
    is_near_tie: bool


@dataclass(frozen=True)
class Parity:
    """How far the graph strays from PyTorch."""

    num_sentences: int
    differences: Sequence[Difference]
    # Over sentences whose translations are equal.
    max_score_difference: float
    # Between two scores, below which either runtime may take one for the higher.
    near_tie_margin: float
    max_logit_difference: float
    pytorch_bleu: float
    onnx_bleu: float
    bleu_signature: str

    @property
    def num_near_ties(self) -> int:
        """Differences that rounding explains."""
        return sum(difference.is_near_tie for difference in self.differences)

    @property
    def identical_share(self) -> float:
        """The share of sentences whose translations are equal, token by token."""
        return 1 - len(self.differences) / self.num_sentences

    def metrics(self) -> dict[str, Any]:
        """For reports/export.json. Differences of rounding are given to two digits."""
        return {
            "num_sentences": self.num_sentences,
            "identical_share": round(self.identical_share, 6),
            "num_near_ties": self.num_near_ties,
            "num_unexplained": len(self.differences) - self.num_near_ties,
            "max_score_difference": two_digits(self.max_score_difference),
            "max_logit_difference": two_digits(self.max_logit_difference),
            "near_tie_margin": two_digits(self.near_tie_margin),
            "pytorch_bleu": round(self.pytorch_bleu, 4),
            "onnx_bleu": round(self.onnx_bleu, 4),
            "bleu_signature": self.bleu_signature,
        }


def compare(
    model: Transformer,
    session: onnxruntime.InferenceSession,
    session_with_logits: onnxruntime.InferenceSession,
    test: TestSet,
    search: SearchConfig,
    near_tie_margin: float | None,
    *,
    source_pad: int,
    special: SpecialIds,
) -> Parity:
    """Translates the test set twice.

    Args:
        model: on the CPU, in evaluation mode.
        session: of the graph.
        session_with_logits: of the same graph with its logits shown.
        test: what is translated.
        search: how; its best hypothesis counts.
        near_tie_margin: as in `ExportConfig`.
        source_pad: padding mark of the source vocabulary.
        special: marks of the target vocabulary.
    """

    def max_length(tokens: int) -> int:
        return search.max_length(tokens, model.config.max_positions)

    settings: dict[str, Any] = {
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "max_length": max_length,
        "num_best": 1,
        "batch_tokens": test.batch_tokens,
        "source_pad": source_pad,
    }
    theirs = [best for (best,) in decode_corpus(model, test.sources, special=special, **settings)]
    ours = [best for (best,) in translate_corpus(session, test.sources, **settings)]
    pairs = list(zip(theirs, ours, strict=True))
    largest = max((abs(a.score - b.score) for a, b in pairs if a.ids == b.ids), default=0.0)
    # Each of two scores that are compared may be off by as much.
    margin = 2 * largest if near_tie_margin is None else near_tie_margin
    differences = []
    for row, (pytorch, onnx) in enumerate(pairs):
        if pytorch.ids == onnx.ids:
            continue
        gap = smallest_margin(
            model,
            list(test.sources[row]),
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            max_length=max_length(len(test.sources[row])),
            special=special,
        )
        differences.append(_difference(row, pytorch, onnx, gap, gap <= margin, test))
    metric = BLEU(tokenize=test.bleu_tokenizer)
    bleu = [
        float(metric.corpus_score([test.decode(h.ids) for h in side], [test.references]).score)
        for side in (theirs, ours)
    ]
    return Parity(
        num_sentences=len(pairs),
        differences=differences,
        max_score_difference=largest,
        near_tie_margin=margin,
        max_logit_difference=logit_difference(
            model,
            session_with_logits,
            test.sources[:NUM_LOGIT_SENTENCES],
            max_length,
            source_pad=source_pad,
            bos=special.bos,
        ),
        pytorch_bleu=bleu[0],
        onnx_bleu=bleu[1],
        bleu_signature=str(metric.get_signature()),
    )


def check(parity: Parity, config: ExportConfig) -> None:
    """Raises ValueError, naming every tolerance that is exceeded."""
    problems = []
    unexplained = [d for d in parity.differences if not d.is_near_tie]
    if unexplained:
        first = unexplained[0]
        problems.append(
            f"{len(unexplained)} of {parity.num_sentences} translations differ by more than a "
            f"near-tie (margin over {parity.near_tie_margin:.2g}; export.near_tie_margin), such "
            f"as row {first.row} with margin {first.margin:.2g}: PyTorch {first.pytorch!r}, ONNX "
            f"{first.onnx!r}"
        )
    moved = abs(parity.pytorch_bleu - parity.onnx_bleu)
    if moved > config.max_bleu_difference:
        problems.append(
            f"BLEU is {parity.pytorch_bleu:.2f} in PyTorch and {parity.onnx_bleu:.2f} in ONNX; "
            f"export.max_bleu_difference = {config.max_bleu_difference} is allowed"
        )
    if not parity.max_logit_difference <= config.max_logit_difference:
        problems.append(
            f"logits differ by up to {parity.max_logit_difference:.2g}; "
            f"export.max_logit_difference = {config.max_logit_difference} is allowed"
        )
    if problems:
        raise ValueError(
            "the exported translator strays from PyTorch, so none was left behind:\n  "
            + "\n  ".join(problems)
            + "\nreports/near_ties.json lists each sentence; if the differences are rounding of a "
            "large model, raise the tolerance, else report a bug"
        )


@torch.inference_mode()
def logit_difference(
    model: Transformer,
    session: onnxruntime.InferenceSession,
    sources: Sequence[Sequence[int]],
    max_length: Callable[[int], int],
    *,
    source_pad: int,
    bos: int,
) -> float:
    """The largest difference of any logit between the graph's steps and the whole decoder.

    Over the graph's own greedy translations, which PyTorch reads as given; so this holds the cache
    and the steps against the form in which the model was trained.
    """
    sources = [ids for ids in sources if ids]
    if not sources:
        return 0.0
    target, _, lengths, logits = run_graph(
        session,
        sources,
        beam_size=1,
        length_penalty=0.0,
        max_lengths=[max_length(len(ids)) for ids in sources],
        num_best=1,
        source_pad=source_pad,
    )
    largest = 0.0
    for row, ids in enumerate(sources):
        length = int(lengths[row, 0])
        read = torch.tensor([[bos, *target[row, 0, : length - 1].tolist()]])
        expected = model(torch.tensor([list(ids)]), None, read)[0]  # [length, V]
        found = torch.from_numpy(logits[:length, row, 0])
        largest = max(largest, float((expected - found).abs().max()))
    return largest


def two_digits(value: float) -> float:
    """Rounded to two significant digits, so that reports don't hang on the last bit."""
    return float(f"{value:.1e}")


def _difference(
    row: int, pytorch: Hypothesis, onnx: Hypothesis, gap: float, is_near_tie: bool, test: TestSet
) -> Difference:
    return Difference(
        row=row,
        pytorch=test.decode(pytorch.ids),
        onnx=test.decode(onnx.ids),
        pytorch_score=pytorch.score,
        onnx_score=onnx.score,
        margin=gap,
        is_near_tie=is_near_tie,
    )
