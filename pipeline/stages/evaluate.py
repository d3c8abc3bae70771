"""`evaluate`: the test set translated, scored, pictured; further sets scored."""

import typer


def evaluate() -> None:
    """Translate the test set; score it against its raw references."""
    from dataclasses import replace

    from pipeline.elsewhere.record import Recorder
    from pipeline.params import load_sections
    from pipeline.paths import CHECKPOINT, CLEAN, METRICS, RAW, REPORTS, SETS, TOKENIZER
    from pipeline.tracking.evaluation import track_evaluation
    from transformer.evaluation.config import EvaluateConfig
    from transformer.evaluation.quality import estimate
    from transformer.evaluation.report import (
        headline_metrics,
        write_attention_maps,
        write_evaluation,
    )
    from transformer.evaluation.sets import read_sets
    from transformer.evaluation.sets_report import describe_sets, write_sets
    from transformer.evaluation.translated_test import map_attention, translate_test
    from transformer.files import write_json
    from transformer.model.checkpoint import load_with_tokenizers, model_hash
    from transformer.search.options import SearchConfig
    from transformer.text.clean_config import CleanConfig
    from transformer.text.heldout import describe_size, read_heldout
    from transformer.text.manifest import check_parts
    from transformer.training.device import avoid_cudnn_attention, choose_device

    clean, search, config = load_sections(
        ("clean", CleanConfig), ("search", SearchConfig), ("evaluate", EvaluateConfig)
    )
    record = Recorder("evaluate")
    check_parts(RAW, "download", ("test",))
    check_parts(CLEAN, "clean", ("test",))
    test = read_heldout(RAW, CLEAN, config.num_sentences)
    further = read_sets(config, RAW, SETS, clean.source)
    device = choose_device(config.device, "evaluate")
    avoid_cudnn_attention()
    model, info, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER, device)
    options = search.options(info.model.max_positions)
    options.check_vocabulary(info.target_vocab_size)
    size = describe_size(len(test.sources), test.sampled_from)
    greedy = "" if search.beam_size == 1 else ", and by greedy search"
    typer.echo(f"translating {size} with beam {search.beam_size}{greedy}")
    translated = translate_test(model, tokenizers, test, options, config.batch_tokens)
    by_greedy = translated
    if search.beam_size > 1:
        alone = replace(options, beam_size=1)
        by_greedy = translate_test(model, tokenizers, test, alone, config.batch_tokens)
    sets = {}
    for name, texts in further.items():
        typer.echo(f"translating {name}: {describe_size(len(texts.sources), texts.sampled_from)}")
        sets[name] = translate_test(model, tokenizers, texts, options, config.batch_tokens)
    estimates = estimate(config, {"test": translated} | sets)
    typer.echo(f"scoring them, with {config.num_bootstrap} resamples for each interval")
    values, summary = write_evaluation(
        REPORTS, translated, by_greedy.translations, config, estimates.get("test")
    )
    values |= {"sets": write_sets(REPORTS / "sets", sets, test, config, estimates)}
    write_json(REPORTS / "evaluate.json", values)
    summary = "\n".join([summary, *describe_sets(values["sets"])])
    write_json(METRICS / "evaluate.json", headline_metrics(values))
    typer.echo("drawing the attention")
    maps = map_attention(model, tokenizers, translated, config.num_attention_plots)
    write_attention_maps(REPORTS / "attention", maps)
    typer.echo(f"{summary}\ntelling MLflow")
    track_evaluation(model_hash(CHECKPOINT))
    record.finish()
