"""`evaluate`: the test set translated, scored, pictured."""

from typing import TYPE_CHECKING

import typer

from pipeline.paths import CHECKPOINT, CLEAN, RAW, REPORTS, TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformer.text.tokenizer import TokenizerPair

# Sentences whose attention can be read in a picture, in source tokens without end mark.
PICTURED_LENGTHS = range(3, 26)


def evaluate() -> None:
    """Translate the test set; score it against its raw references."""
    from functools import partial

    from pipeline.params import load_sections
    from pipeline.tracking import flatten, join_run
    from transformer.decoding.attention_maps import cross_attention
    from transformer.decoding.beam import SpecialIds
    from transformer.decoding.config import SearchConfig
    from transformer.decoding.corpus import decode_corpus
    from transformer.decoding.evaluate_config import EvaluateConfig
    from transformer.decoding.evaluation import (
        AttentionMap,
        TranslatedTest,
        write_attention_maps,
        write_evaluation,
    )
    from transformer.text.manifest import read_manifest
    from transformer.text.tokenizer import TokenizerPair
    from transformer.training.checkpoint import load_checkpoint, model_hash
    from transformer.training.device import choose_device

    search, config = load_sections(("search", SearchConfig), ("evaluate", EvaluateConfig))
    sources, references, normalised_references = _read_test_set()
    model, info = load_checkpoint(CHECKPOINT, choose_device(config.device, "evaluate"))
    tokenizers = TokenizerPair.load(TOKENIZER)
    if tokenizers.sha256 != info.tokenizer_sha256:
        raise ValueError(
            f"{TOKENIZER} is not the tokenizer that {CHECKPOINT} was trained with; "
            "restore both with `dvc checkout`, or run the stage `train` again"
        )
    target = tokenizers.target
    longest = info.model.max_positions
    ids, source_lengths, num_truncated = _encode(sources, tokenizers, longest)
    decode = partial(
        decode_corpus,
        model,
        ids,
        length_penalty=search.length_penalty,
        max_length=partial(search.max_length, max_positions=longest),
        num_best=1,
        batch_tokens=config.batch_tokens,
        source_pad=tokenizers.source.pad_id,
        special=SpecialIds(target.pad_id, target.bos_id, target.eos_id),
    )
    found = [best for (best,) in decode(beam_size=search.beam_size)]
    greedy = found if search.beam_size == 1 else [best for (best,) in decode(beam_size=1)]

    values, summary = write_evaluation(
        REPORTS,
        TranslatedTest(
            sources=sources,
            source_lengths=source_lengths,
            references=references,
            normalised_references=normalised_references,
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
    maps = []
    readable = [row for row, length in enumerate(source_lengths) if length in PICTURED_LENGTHS]
    for row in readable[: config.num_attention_plots]:
        best = found[row]
        weights = cross_attention(model, ids[row], [target.bos_id, *best.ids[:-1]])
        names = tokenizers.source.pieces(ids[row]), target.pieces(best.ids)
        maps.append(AttentionMap(row, *names, weights[-1].tolist()))  # of the last layer
    write_attention_maps(REPORTS / "attention", maps)
    typer.echo(summary)
    with join_run(model_hash(CHECKPOINT), read_manifest(RAW).name) as tracker:
        numbers = {k: v for k, v in flatten(values).items() if isinstance(v, int | float)}
        tracker.metrics({f"test.{name}": value for name, value in numbers.items()})
        # Params of a run can't change, and this stage may run again with another search.
        tracker.tags({f"search.{k}": str(v) for k, v in search.model_dump().items()})
        for name in ("evaluate.json", "translations.csv", "bleu_by_length.png", "attention"):
            tracker.artifact(REPORTS / name, "evaluate")


def _read_test_set() -> "tuple[list[str], list[str], list[str] | None]":
    # Sources as the model saw its training text; references raw, and normalised if that matters.
    from transformer.text.corpus import part_path, read_pairs, read_side
    from transformer.text.normalise import normalise

    raw, clean = part_path(RAW, "test"), part_path(CLEAN, "test")
    references = list(read_side(raw, "target"))
    pairs = list(read_pairs(clean))
    if len(pairs) != len(references):
        raise ValueError(
            f"{clean} has {len(pairs)} pairs, but {raw} has {len(references)}; "
            "they must match row by row: run the stage `clean` again"
        )
    normalised = [target for _, target in pairs]
    # Spaces and invisible characters are put right for everyone; that makes no second score.
    plain = [normalise(text, lowercase=False, strip_punctuation=False) for text in references]
    return [source for source, _ in pairs], references, normalised if normalised != plain else None


def _encode(
    sources: "Sequence[str]", tokenizers: "TokenizerPair", longest: int
) -> tuple[list[list[int]], list[int], int]:
    # Ids with end mark, lengths without it, and how many had to be truncated. An empty source
    # has no ids: it is not translated, just as in serving.
    encoded = tokenizers.source.encode_batch(sources)
    eos = tokenizers.source.eos_id
    ids = [[*one[: longest - 1], eos] if one else [] for one in encoded]
    return ids, [len(one) for one in encoded], sum(len(one) >= longest for one in encoded)
