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
    from pipeline.paths import CHECKPOINT, IDS
    from pipeline.training.launcher import is_rank, joined_ranks, launch_ranks
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
    from pipeline.training.outputs import describe_outputs, tell_left_out, write_outputs
    from pipeline.training.resume import resumable
    from pipeline.training.start import start_from_pretrained
    from transformer.model.checkpoint import model_hash
    from transformer.monitoring.flops import measure_product_peak
    from transformer.monitoring.profiling import profile_training
    from transformer.text.ids import load_ids
    from transformer.training.device import choose_device, choose_precision, tune_process
    from transformer.training.reporting import ProgressBar
    from transformer.training.trainer import AFRESH, Trainer, train_model

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
        if ranks.is_first:
            tell_left_out(ids, model_config.max_positions)
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
                write_outputs(result)
                tracking.log_outcome(model_hash(CHECKPOINT))
            record.finish()
    typer.echo(describe_outputs(result.summary))
