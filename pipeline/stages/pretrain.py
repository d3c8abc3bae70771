"""`pretrain`: text without translations in, weights to begin with out; nothing if switched off.

Or the weights of an imported model.
"""

import typer


def pretrain() -> None:
    """Learn from text without translations, if asked to, or go on where a killed run was."""
    from pipeline.params import load_section, load_sections
    from pipeline.paths import IDS, IMPORTED, MONOLINGUAL, PRETRAINED, TOKENIZER
    from transformer.files import atomic_folder, write_sealed
    from transformer.pretraining.config import PretrainConfig
    from transformer.text.clean_config import CleanConfig

    config = load_section("pretrain", PretrainConfig)
    if config.kind == "none":
        with atomic_folder(PRETRAINED) as folder:
            write_sealed(folder / "manifest.json", {"kind": "none"})
        typer.echo(f"Pretraining is switched off. -> {PRETRAINED}")
        return

    if config.kind == "imported":
        from transformer.pretraining.store import hand_on_imported

        hand_on_imported(IMPORTED, PRETRAINED, TOKENIZER, config)
        typer.echo(f"The weights of {config.name}. -> {PRETRAINED}")
        return

    from pipeline.repository import CHECKED_IDS
    from pipeline.training.fingerprint import fingerprint_pretraining
    from pipeline.training.resume import resumable
    from transformer.model.config import ModelConfig
    from transformer.model.weights import model_weights
    from transformer.monitoring.progress import ProgressBar
    from transformer.monitoring.throughput import Meter
    from transformer.pretraining.reading import read_text
    from transformer.pretraining.store import save_pretrained
    from transformer.pretraining.tasks import make_task
    from transformer.text.ids import META, load_ids
    from transformer.text.tokenizer import TokenizerPair
    from transformer.training.device import choose_device, tune_process
    from transformer.training.distributed import SINGLE_PROCESS
    from transformer.training.trainer import Trainer

    model_config, clean = load_sections(("model", ModelConfig), ("clean", CleanConfig))
    ids, tokenizers = load_ids(IDS, CHECKED_IDS), TokenizerPair.load(TOKENIZER)
    train, valid = read_text(MONOLINGUAL, config.text, ids, clean, tokenizers)
    task = make_task(config, ids.meta, train, valid, model_config)
    tune_process(config.train.num_threads, is_deterministic=config.train.deterministic)
    files = [MONOLINGUAL / file for file in (config.text.source, config.text.target) if file]
    training = fingerprint_pretraining(config, model_config, clean, [IDS / META, TOKENIZER, *files])
    device = choose_device(config.train.device)
    meter = Meter(model_config, task.ids, device, SINGLE_PROCESS, reporters=(ProgressBar(),))
    with resumable(training, SINGLE_PROCESS) as (resume, _):
        result = Trainer(
            config.train, model_config, task.ids, meter, resume=resume, forward=task.forward
        ).run()
        weights = {
            name: value
            for name, value in model_weights(result.model).items()
            if task.is_handed_on(name)
        }
        measures = task.measure(result.model)
        manifest = {
            "kind": config.kind,
            "tokenizer_sha256": ids.meta.tokenizer_sha256,
            "num_sequences": len(task.ids.train),
            "summary": result.summary | measures,
            "valid_curve": [row._asdict() for row in result.valid_rows],
        }
        save_pretrained(PRETRAINED, weights, manifest)
    typer.echo(
        f"Pretrained on {len(task.ids.train):,} sequences for {result.summary['steps']:,} steps; "
        f"validation perplexity {result.summary['valid_perplexity']:.2f}, "
        f"{len(weights)} tensors are handed on. -> {PRETRAINED}"
    )
    if "next_sentence_accuracy" in measures:
        typer.echo(f"Whether a sentence follows: {measures['next_sentence_accuracy']:.4f} right")
