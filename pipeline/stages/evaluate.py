"""`evaluate`: the test set translated, scored, pictured."""

import typer

from pipeline.paths import CHECKPOINT, CLEAN, METRICS, RAW, REPORTS, TOKENIZER

# Sentences whose attention can be read in a picture, in source tokens without end mark.
PICTURED_LENGTHS = range(3, 26)


def evaluate() -> None:
    """Translate the test set; score it against its raw references."""
    from dataclasses import replace
    from functools import partial

    from pipeline.elsewhere.record import Recorder
    from pipeline.params import load_sections
    from pipeline.tracking.evaluation import track_evaluation
    from transformer.evaluation.attention_maps import cross_attention
    from transformer.evaluation.config import EvaluateConfig
    from transformer.evaluation.report import (
        AttentionMap,
        TranslatedTest,
        write_attention_maps,
        write_evaluation,
    )
    from transformer.files import write_json
    from transformer.model.checkpoint import load_with_tokenizers, model_hash
    from transformer.search.corpus import decode_corpus
    from transformer.search.options import SearchConfig
    from transformer.text.heldout import encode_sources, read_heldout
    from transformer.training.device import avoid_cudnn_attention, choose_device

    search, config = load_sections(("search", SearchConfig), ("evaluate", EvaluateConfig))
    record = Recorder("evaluate")
    test = read_heldout(RAW, CLEAN)
    device = choose_device(config.device, "evaluate")
    avoid_cudnn_attention()
    model, info, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER, device)
    target = tokenizers.target
    longest = info.model.max_positions
    options = search.options(longest)
    options.check_vocabulary(info.target_vocab_size)
    ids, num_truncated = encode_sources(tokenizers.source, test.sources, longest)
    source_lengths = [max(len(one) - 1, 0) for one in ids]
    decode = partial(
        decode_corpus,
        model,
        ids,
        batch_tokens=config.batch_tokens,
        source_pad=tokenizers.source.pad_id,
        special=info.target,
    )
    found = [best for (best,) in decode(options)]
    greedy = found
    if options.beam_size > 1:
        greedy = [best for (best,) in decode(replace(options, beam_size=1))]

    values, summary = write_evaluation(
        REPORTS,
        TranslatedTest(
            sources=test.sources,
            source_lengths=source_lengths,
            references=test.references,
            normalized_references=test.normalized_references,
            translations=[target.decode(best.ids) for best in found],
            scores=[best.score for best in found],
            greedy_translations=[target.decode(best.ids) for best in greedy],
            num_truncated_sources=num_truncated,
            num_cut_translations=sum(
                bool(ids[row]) and best.ids[-1:] != [target.eos_id]
                for row, best in enumerate(found)
            ),
        ),
        config,
    )
    margin = (values["bleu_high"] - values["bleu_low"]) / 2
    metrics = {name: values[name] for name in ("bleu", "chrf", "ter")} | {"bleu_margin": margin}
    write_json(METRICS / "evaluate.json", {k: round(v, 2) for k, v in metrics.items()})
    maps = []
    readable = [row for row, length in enumerate(source_lengths) if length in PICTURED_LENGTHS]
    for row in readable[: config.num_attention_plots]:
        best = found[row]
        weights = cross_attention(model, ids[row], [target.bos_id, *best.ids[:-1]])
        names = tokenizers.source.pieces(ids[row]), target.pieces(best.ids)
        maps.append(AttentionMap(row, *names, weights[-1].tolist()))  # of the last layer
    write_attention_maps(REPORTS / "attention", maps)
    typer.echo(summary)
    track_evaluation(model_hash(CHECKPOINT))
    record.finish()
