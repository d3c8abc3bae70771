"""What a training ends with."""

from dataclasses import dataclass
from typing import Any

from transformer.model.checkpoint import CheckpointInfo
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.model.weights import set_weights
from transformer.text.ids import Ids
from transformer.training.reporting import TrainRow, ValidRow
from transformer.training.sentence_batches import Plan
from transformer.training.state import TrainState
from transformer.training.validation import count_too_long


@dataclass(frozen=True)
class TrainResult:
    """A trained model, on the CPU in eval mode, and its figures."""

    model: Transformer
    info: CheckpointInfo  # goes into the checkpoint
    train_rows: list[TrainRow]
    valid_rows: list[ValidRow]
    summary: dict[str, Any]  # for a metrics file: no timings


def final_result(state: TrainState, plan: Plan, ids: Ids, model_config: ModelConfig) -> TrainResult:
    """The best weights where training may stop early, else the mean of the latest snapshots.

    The model of `state` gets these weights, and moves to the CPU.
    """
    weights = state.best_weights
    final = state.valid_rows[-1]
    if weights is None:
        weights = state.average.mean()
    else:
        final = next(row for row in state.valid_rows if row.step == state.best_step)
    set_weights(state.model, weights)
    train, meta = ids.train, ids.meta
    summary = {
        "steps": state.step,
        "epochs": round(state.step / plan.num_batches, 4),
        "saved_step": final.step,
        "valid_loss": round(final.valid_loss, 6),
        "valid_perplexity": round(final.perplexity, 6),
        "valid_accuracy": round(final.accuracy, 6),
        "valid_pairs_too_long": count_too_long(ids.valid, model_config.max_positions),
        "best_valid_loss": round(state.best_loss, 6),
        "best_step": state.best_step,
        **_name_train_loss(state),
        **_name_accuracies(state),
        "num_parameters": state.model.num_parameters(),
        "steps_per_epoch": plan.num_batches,
        "padding_share": round(plan.padding_share(), 6),
        "source_tokens_per_epoch": int(train.source_lengths.sum()),
        "target_tokens_per_epoch": int(train.target_lengths.sum()),
    }
    info = CheckpointInfo(
        model=model_config,
        source_vocab_size=meta.source_vocab_size,
        target_vocab_size=meta.target_vocab_size,
        source=meta.source,
        target=meta.target,
        tokenizer_sha256=meta.tokenizer_sha256,
    )
    model = state.model.cpu().eval()
    return TrainResult(model, info, state.train_rows, state.valid_rows, summary)


def _name_train_loss(state: TrainState) -> dict[str, float]:
    # Nothing was trained in 0 epochs.
    return {"train_loss": round(state.train_rows[-1].train_loss, 6)} if state.train_rows else {}


def _name_accuracies(state: TrainState) -> dict[str, dict[str, float]]:
    shares = enumerate(state.accuracies, start=1)
    named = {f"epoch_{epoch}": round(share, 6) for epoch, share in shares}
    return {"train_accuracy": named} if named else {}
