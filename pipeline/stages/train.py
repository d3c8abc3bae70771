"""`train`: ids in, a checkpoint with its curves out."""

from typing import Annotated

import typer


def train(
    profile: Annotated[
        bool,
        typer.Option("--profile", help="Only take a few steps, and write where their time goes."),
    ] = False,
) -> None:
    """Train the Transformer, or go on where a killed training was."""
    from pipeline.params import load_section, load_sections
    from pipeline.paths import CHECKPOINT, IDS, METRICS, REPORTS
    from pipeline.training.launcher import is_rank, joined_ranks, launch_ranks
    from transformer.files import write_json
    from transformer.model.config import ModelConfig
    from transformer.training.config import TrainConfig

    if not is_rank():
        num_processes = load_section("train", TrainConfig).num_processes
        if num_processes > 1:
            arguments = ["train", "--profile"] if profile else ["train"]
            raise typer.Exit(launch_ranks(num_processes, arguments))

    from pipeline.elsewhere.record import Recorder
    from pipeline.tracking.training import track_training
    from pipeline.training.fingerprint import fingerprint_training
    from pipeline.training.log import LogFile, new_profile_folder
    from pipeline.training.resume import resumable
    from pipeline.training.start import start_from_pretrained
    from transformer.model.checkpoint import model_hash, save_checkpoint
    from transformer.monitoring.flops import measure_product_peak
    from transformer.monitoring.profiling import profile_training
    from transformer.text.ids import load_ids
    from transformer.training.device import choose_device, choose_precision, tune_process
    from transformer.training.reporting import ProgressBar, write_curve
    from transformer.training.trainer import AFRESH, Trainer, train_model
    from transformer.training.validation import count_too_long

    with joined_ranks() as ranks:
        model_config, config = load_sections(("model", ModelConfig), ("train", TrainConfig))
        ids = load_ids(IDS)
        tune_process(config.num_threads, ranks.local_world_size, config.deterministic)
        device = ranks.place(choose_device(config.device))
        peak = measure_product_peak(device, choose_precision(config.precision, device), repeats=2)
        if profile:
            trainer = Trainer(config, model_config, ids, ranks=ranks, peak_flops=peak)
            profile_folder = new_profile_folder()
            page = profile_training(trainer, profile_folder, ranks.is_first)
            if ranks.is_first:
                typer.echo(f"{page}\n-> {profile_folder}")
            return
        num_too_long = count_too_long(ids.valid, model_config.max_positions)
        if num_too_long and ranks.is_first:
            typer.echo(
                f"{num_too_long} of {len(ids.valid)} validation pairs are left out: longer than "
                f"model.max_positions = {model_config.max_positions} tokens"
            )
        training = fingerprint_training(config, model_config, IDS)
        with resumable(training, ranks) as (resume, folder):
            start = AFRESH
            if config.initialize_from is not None:
                start = start_from_pretrained(ids.meta, is_told=ranks.is_first)
            if not ranks.is_first:
                train_model(config, model_config, ids, (), resume, ranks, peak, start)
                return
            record = Recorder("train")
            with track_training(folder) as tracking:
                log = LogFile(folder, ranks.world_size, peak)
                reporters = (ProgressBar(), tracking, log)
                result = train_model(
                    config, model_config, ids, reporters, resume, ranks, peak, start
                )
                save_checkpoint(CHECKPOINT, result.model, result.info)
                write_curve(REPORTS / "train_curve.csv", result.train_rows)
                write_curve(REPORTS / "valid_curve.csv", result.valid_rows)
                write_json(REPORTS / "train.json", result.summary)
                summary = result.summary
                perplexity, size = summary["valid_perplexity"], summary["num_parameters"]
                metrics = {"perplexity": round(perplexity, 4), "parameters": size}
                write_json(METRICS / "train.json", metrics)
                tracking.log_outcome(model_hash(CHECKPOINT))
            record.finish()
    for epoch, share in result.summary.get("train_accuracy", {}).items():
        typer.echo(f"{epoch.replace('_', ' ')}: token accuracy in training {share:.4f}")
    typer.echo(
        f"Trained {result.summary['num_parameters']:,} parameters for {result.summary['steps']:,} "
        f"steps; validation perplexity {result.summary['valid_perplexity']:.2f}. -> {CHECKPOINT}"
    )
