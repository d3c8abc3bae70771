"""The decoder's steps for `translate --trace`: through PyTorch, from the checkpoint."""

from collections.abc import Callable
from pathlib import Path

from pipeline.paths import CHECKPOINT, TOKENIZER

# Of the likeliest tokens at a step, so many are shown.
NUM_CANDIDATES = 3


def make_tracer(translator: Path) -> Callable[[str], str]:
    """What tells, of a text in the source language, how it is translated step by step.

    The graph of an exported translator hands out whole translations only, so that the checkpoint
    that it was made from does the work here, in float32 on the CPU. Text is normalised, and
    translations are limited, as the translator's card has it.

    Raises:
        ValueError: there is no translator or no checkpoint, or they don't belong together.
    """
    from transformer.evaluation.trace import describe_trace, trace_greedy
    from transformer.model.checkpoint import load_with_tokenizers, model_hash
    from transformer.serving.card import load_card
    from transformer.text.normalize import normalize

    card = load_card(translator)
    if card.model_hash != model_hash(CHECKPOINT):
        raise ValueError(
            f"--trace reads {CHECKPOINT}, but {translator} was made from another model; export it "
            "again with `dvc repro`, or leave --model out"
        )
    model, info, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER)
    source, target = tokenizers.source, tokenizers.target

    def trace(text: str) -> str:
        ids = source.encode(normalize(text, **dict(card.normalization.source)))
        if not ids:
            return "nothing to translate"
        if len(ids) >= card.max_source_tokens:
            raise ValueError(
                f"--trace follows one sentence of at most {card.max_source_tokens} tokens with its "
                f"end token; this text has {len(ids) + 1}: shorten it"
            )
        ids = [*ids, source.eos_id]
        steps = trace_greedy(
            model,
            ids,
            max_length=card.search.options(card.max_target_tokens).max_length(len(ids)),
            num_candidates=NUM_CANDIDATES,
            special=info.target,
        )
        told = describe_trace(
            steps, source.pieces(ids), lambda id: target.pieces([id])[0], target.bos_id
        )
        answer = target.decode([step.token for step in steps])
        return f"source  {' '.join(source.pieces(ids))}\n{told}\nanswer  {answer}"

    return trace
