"""What `train` leaves: files, and what it says of them."""

from typing import Any

import typer

from pipeline.paths import CHECKPOINT, METRICS, REPORTS
from transformer.files import write_json
from transformer.model.checkpoint import save_checkpoint
from transformer.text.ids import Ids
from transformer.training.reporting import TrainRow, ValidRow, write_curve
from transformer.training.result import TrainResult
from transformer.training.validation import count_too_long


def tell_left_out(ids: Ids, max_positions: int) -> None:
    """Prints how many validation pairs don't count in the loss, if any."""
    if num_too_long := count_too_long(ids.valid, max_positions):
        typer.echo(
            f"{num_too_long} of {len(ids.valid)} validation pairs are left out: longer than "
            f"model.max_positions = {max_positions} tokens"
        )


def write_outputs(result: TrainResult) -> None:
    """The checkpoint, the curves and the figures."""
    save_checkpoint(CHECKPOINT, result.model, result.info)
    write_curve(REPORTS / "train_curve.csv", TrainRow, result.train_rows)
    write_curve(REPORTS / "valid_curve.csv", ValidRow, result.valid_rows)
    write_json(REPORTS / "train.json", result.summary)
    perplexity, size = result.summary["valid_perplexity"], result.summary["num_parameters"]
    write_json(METRICS / "train.json", {"perplexity": round(perplexity, 4), "parameters": size})


def describe_outputs(summary: dict[str, Any]) -> str:
    """What came out, a line for each thing."""
    lines = [
        f"{epoch.replace('_', ' ')}: token accuracy in training {share:.4f}"
        for epoch, share in summary.get("train_accuracy", {}).items()
    ]
    lines.append(
        f"Trained {summary['num_parameters']:,} parameters for {summary['steps']:,} steps; "
        f"validation perplexity {summary['valid_perplexity']:.2f}. -> {CHECKPOINT}"
    )
    return "\n".join(lines)
