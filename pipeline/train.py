"""`train`: ids in, a checkpoint with its curves out."""

import typer


def train() -> None:
    """Train the Transformer, or go on where a killed training was."""
    from pipeline.params import load_sections
    from pipeline.paths import CHECKPOINT, IDS, METRICS, REPORTS
    from pipeline.tracking import MODEL_HASH
    from pipeline.train_resume import resumable
    from pipeline.train_start import start_from_pretrained
    from pipeline.train_tracking import TrackingReporter, track_training
    from transformer.files import write_json
    from transformer.model.config import ModelConfig
    from transformer.text.ids import load_ids
    from transformer.training.checkpoint import model_hash, save_checkpoint
    from transformer.training.config import TrainConfig
    from transformer.training.device import tune_process
    from transformer.training.reporting import ProgressBar, write_curve
    from transformer.training.trainer import AFRESH, train_model

    model_config, config = load_sections(("model", ModelConfig), ("train", TrainConfig))
    ids = load_ids(IDS)
    tune_process(config.num_threads)
    with (
        resumable(config, model_config, IDS) as (resume, folder),
        track_training(folder) as tracker,
    ):
        reporters = (ProgressBar(), TrackingReporter(tracker))
        start = AFRESH if config.initialise_from is None else start_from_pretrained(ids.meta)
        result = train_model(config, model_config, ids, reporters, resume, start)
        save_checkpoint(CHECKPOINT, result.model, result.info)
        write_curve(REPORTS / "train_curve.csv", result.train_rows)
        write_curve(REPORTS / "valid_curve.csv", result.valid_rows)
        write_json(REPORTS / "train.json", result.summary)
        perplexity, size = result.summary["valid_perplexity"], result.summary["num_parameters"]
        metrics = {"perplexity": round(perplexity, 4), "parameters": size}
        write_json(METRICS / "train.json", metrics)
        tracker.tags({MODEL_HASH: model_hash(CHECKPOINT)})
        tracker.artifact(CHECKPOINT, "checkpoint")
    for epoch, share in result.summary.get("train_accuracy", {}).items():
        typer.echo(f"{epoch.replace('_', ' ')}: token accuracy in training {share:.4f}")
    typer.echo(
        f"Trained {result.summary['num_parameters']:,} parameters for {result.summary['steps']:,} "
        f"steps; validation perplexity {result.summary['valid_perplexity']:.2f}. -> {CHECKPOINT}"
    )
