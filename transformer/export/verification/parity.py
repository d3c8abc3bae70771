"""The exported graphs held against PyTorch on the test set."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnxruntime
import torch
from sacrebleu.metrics import BLEU

from transformer.evaluation.scores import ScoreDifference, compare_bleu
from transformer.export.config import Precision
from transformer.export.verification.decision_margin import smallest_margin
from transformer.export.verification.runtime import run_graph, translate_corpus
from transformer.model.transformer import Transformer
from transformer.search.corpus import Hypothesis, decode_corpus
from transformer.search.options import SearchOptions
from transformer.text.special_tokens import SpecialIds

# Sentences over whose greedy translations the logits are compared, padded to one batch.
NUM_LOGIT_SENTENCES = 16


@dataclass(frozen=True)
class TestSet:
    """What both runtimes translate, and how it is scored."""

    __test__ = False  # it is not a test, whatever pytest makes of its name

    # With end token; empty for a sentence of no tokens.
    sources: Sequence[Sequence[int]]
    references: Sequence[str]
    # Target ids to text.
    decode: Callable[[Sequence[int]], str]
    bleu_tokenizer: str
    # Resamples behind the intervals.
    num_bootstrap: int
    batch_tokens: int
    # As in `Heldout`.
    sampled_from: int | None = None
    # `fingerprint` of a further set; None for the test set.
    sha256: str | None = None


@dataclass(frozen=True)
class Trial:
    """A model on the CPU in evaluation mode, what it translates, and how."""

    model: Transformer
    test: TestSet
    # Its best hypothesis counts.
    search: SearchOptions
    source_pad: int
    special: SpecialIds

    @property
    def batching(self) -> dict[str, int]:
        """Arguments that `decode_corpus` and `translate_corpus` share."""
        return {"batch_tokens": self.test.batch_tokens, "source_pad": self.source_pad}


@dataclass(frozen=True)
class Reference:
    """The test set as PyTorch translates it."""

    hypotheses: Sequence[Hypothesis]
    texts: Sequence[str]
    bleu: float
    bleu_signature: str
    # As in `TestSet`.
    sampled_from: int | None = None
    sha256: str | None = None
    # Further sets, by name.
    sets: Mapping[str, "Reference"] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A sentence that a graph translates differently from PyTorch."""

    row: int  # of the test set, from 0
    pytorch: str
    onnx: str
    pytorch_score: float
    onnx_score: float
    # The smallest gap that decided anything in PyTorch's search; None where no one asked.
    margin: float | None
    is_near_tie: bool


@dataclass(frozen=True)
class Parity:
    """How far one graph strays from PyTorch."""

    precision: Precision
    num_sentences: int
    differences: Sequence[Difference]
    # Of each sentence whose translations are equal: how far its two scores are apart.
    score_differences: Sequence[float]
    # Between two scores, below which either runtime may take one for the higher.
    near_tie_margin: float
    max_logit_difference: float
    bleu: float
    # Its BLEU minus PyTorch's.
    bleu_change: ScoreDifference

    @property
    def max_score_difference(self) -> float:
        """The largest of `score_differences`."""
        return max(self.score_differences, default=0.0)

    @property
    def num_near_ties(self) -> int:
        """Differences that rounding explains."""
        return sum(difference.is_near_tie for difference in self.differences)

    @property
    def identical_share(self) -> float:
        """The share of sentences whose translations are equal, token by token."""
        return 1 - len(self.differences) / self.num_sentences


def translate_by_pytorch(trial: Trial) -> Reference:
    """Translates the test set by the very code that `evaluate` scores."""
    test = trial.test
    found = decode_corpus(
        trial.model, test.sources, trial.search, special=trial.special, **trial.batching
    )
    hypotheses = [best for (best,) in found]
    texts = [test.decode(hypothesis.ids) for hypothesis in hypotheses]
    metric = BLEU(tokenize=test.bleu_tokenizer)
    bleu = float(metric.corpus_score(texts, [test.references]).score)
    signature = str(metric.get_signature())
    return Reference(hypotheses, texts, bleu, signature, test.sampled_from, test.sha256)


def compare(
    trial: Trial,
    reference: Reference,
    precision: Precision,
    session: onnxruntime.InferenceSession,
    session_with_logits: onnxruntime.InferenceSession,
    near_tie_margin: float | None,
) -> Parity:
    """Translates the test set by a graph.

    Args:
        trial: what is translated, and how.
        reference: `translate_by_pytorch` of this trial.
        precision: the graph's. Near-ties are looked for in float32 only: other graphs differ by
            more than rounding.
        session: of the graph.
        session_with_logits: of the same graph with its logits shown.
        near_tie_margin: as in `ExportConfig`.
    """
    test = trial.test
    ours = [
        best for (best,) in translate_corpus(session, test.sources, trial.search, **trial.batching)
    ]
    texts = [test.decode(hypothesis.ids) for hypothesis in ours]
    pairs = list(zip(reference.hypotheses, ours, strict=True))
    score_differences = [abs(a.score - b.score) for a, b in pairs if a.ids == b.ids]
    # Each of two scores that are compared may be off by as much.
    margin = 2 * max(score_differences, default=0.0) if near_tie_margin is None else near_tie_margin
    differences = []
    for row, (theirs, found) in enumerate(pairs):
        if theirs.ids == found.ids:
            continue
        gap = _margin(trial, test.sources[row]) if precision == "float32" else None
        differences.append(
            Difference(
                row=row,
                pytorch=reference.texts[row],
                onnx=texts[row],
                pytorch_score=theirs.score,
                onnx_score=found.score,
                margin=gap,
                is_near_tie=gap is not None and gap <= margin,
            )
        )
    change = compare_bleu(
        texts,
        reference.texts,
        test.references,
        bleu_tokenizer=test.bleu_tokenizer,
        num_bootstrap=test.num_bootstrap,
    )
    return Parity(
        precision=precision,
        num_sentences=len(pairs),
        differences=differences,
        score_differences=score_differences,
        near_tie_margin=margin,
        max_logit_difference=logit_difference(trial, session_with_logits),
        bleu=reference.bleu + change.value,
        bleu_change=change,
    )


@torch.inference_mode()
def logit_difference(trial: Trial, session: onnxruntime.InferenceSession) -> float:
    """The largest difference of any logit between a graph's steps and the whole decoder.

    With a short-list: of any logit that the graph computes.

    Over the graph's own greedy translations, which PyTorch reads as given; so this holds the cache
    and the steps against the form in which the model was trained. A sentence by itself takes the
    graph's greedy loop, the same one twice in a batch its beam search.
    """
    largest = 0.0
    options = replace(trial.search, beam_size=1, length_penalty=0.0, patience=math.inf)
    for ids in trial.test.sources[:NUM_LOGIT_SENTENCES]:
        for copies in (1, 2) if ids else ():
            target, _, lengths, logits, *shortlist = run_graph(
                session, [ids] * copies, options, trial.source_pad
            )
            length = int(lengths[0, 0])
            read = torch.tensor([[trial.special.bos_id, *target[0, 0, : length - 1].tolist()]])
            expected = trial.model(torch.tensor([list(ids)]), None, read)[0]  # [length, V]
            if shortlist:
                expected = expected[:, torch.from_numpy(shortlist[0])]
            for row in range(copies):
                found = torch.from_numpy(logits[:length, row, 0])
                # nan is larger than any number to torch, and smaller to Python.
                off = torch.stack([torch.tensor(largest), (expected - found).abs().max()])
                largest = float(off.max())
    return largest


def _margin(trial: Trial, source: Sequence[int]) -> float:
    return smallest_margin(trial.model, list(source), trial.search, trial.special)
