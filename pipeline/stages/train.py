"""`train`: ids in, a checkpoint with its curves out."""

from functools import partial
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
    from pipeline.paths import CHECKPOINT, IDS, TOKENIZER
    from pipeline.training.launcher import (
        check_devices,
        end_with_launcher,
        is_rank,
        joined_ranks,
        launch_ranks,
    )
    from transformer.model.config import ModelConfig
    from transformer.training.config import TrainConfig

    if is_rank():
        end_with_launcher()
    else:
        section = load_section("train", TrainConfig)
        num_processes = section.num_processes
        if num_processes > 1:
            check_devices(num_processes, section.device)
            arguments = ["train", "--profile"] if profile else ["train"]
            raise typer.Exit(launch_ranks(num_processes, arguments))

    from pipeline.elsewhere.record import Recorder
    from pipeline.repository import CHECKED_IDS
    from pipeline.tracking.training import track_training
    from pipeline.training.fingerprint import fingerprint_training
    from pipeline.training.log import LogFile, new_profile_folder
    from pipeline.training.outputs import describe_outputs, tell_left_out, write_outputs
    from pipeline.training.resume import resumable
    from pipeline.training.start import start_from_pretrained
    from transformer.model.checkpoint import model_hash
    from transformer.monitoring.flops import measure_product_peak
    from transformer.monitoring.profiling import profile_training
    from transformer.monitoring.progress import ProgressBar
    from transformer.monitoring.throughput import Meter
    from transformer.text.ids import load_ids
    from transformer.text.resegmentation import Resegmentation
    from transformer.text.tokenizer import TokenizerPair
    from transformer.training.device import choose_device, choose_precision, tune_process
    from transformer.training.trainer import Trainer

    with joined_ranks() as ranks:
        model_config, config = load_sections(("model", ModelConfig), ("train", TrainConfig))
        ids = load_ids(IDS, CHECKED_IDS)
        tune_process(config.num_threads, ranks.local_world_size, config.deterministic)
        device = ranks.device(choose_device(config.device))
        peak = measure_product_peak(device, choose_precision(config.precision, device), repeats=2)
        make_meter = partial(Meter, model_config, ids, device, ranks, peak)
        resegment = None
        if config.segmentation is not None:
            tokenizers = TokenizerPair.load(TOKENIZER)
            resegment = Resegmentation(config.segmentation, ids, tokenizers, config.seed)
        if profile:
            trainer = Trainer(config, model_config, ids, ranks=ranks, resegment=resegment)
            profile_folder = new_profile_folder()
            page = profile_training(trainer, make_meter(), profile_folder, ranks.is_first)
            if ranks.is_first:
                typer.echo(f"{page}\n-> {profile_folder}")
            return
        if ranks.is_first:
            tell_left_out(ids, model_config.max_positions)
        training = fingerprint_training(config, model_config, IDS)
        with resumable(training, ranks) as (resume, folder):
            initialize = None
            if config.initialize_from is not None:
                initialize = start_from_pretrained(ids.meta, is_told=ranks.is_first)
            make_trainer = partial(
                Trainer,
                config,
                model_config,
                ids,
                resume=resume,
                ranks=ranks,
                initialize=initialize,
                resegment=resegment,
            )
            if not ranks.is_first:
                make_trainer(make_meter()).run()
                return
            record = Recorder("train")
            with track_training(folder) as tracking:
                log = LogFile(folder, ranks.world_size, peak)
                meter = make_meter((ProgressBar(), tracking, log))
                result = make_trainer(meter).run()
                write_outputs(result)
                tracking.log_outcome(model_hash(CHECKPOINT))
            record.finish()
    typer.echo(describe_outputs(result.summary))
