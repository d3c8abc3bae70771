"""Pretraining put as training on pairs, so that one trainer does both.

A task is a set of pairs with a way through the model. Ids behind those of the vocabulary stand for
what no text holds: sentinels, the mask, the two answers on sentences that follow each other. The
model that is pretrained has rows for them, which `take_weights` leaves behind.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.pretraining.config import CausalModeling, MaskedModeling, SpanCorruption
from transformer.pretraining.in_memory_dataset import Example, InMemoryDataset
from transformer.pretraining.masking import mask_tokens
from transformer.pretraining.next_sentence import pair_lines, share_answered_right
from transformer.pretraining.span_corruption import corrupt_spans
from transformer.text.ids import Ids, IdsMeta
from transformer.text.pairs import Integers
from transformer.training.batching import Batch
from transformer.training.forward import Forward, hidden_states

Sentences = Sequence[Integers]  # without special tokens
_ALIGNMENT = 8


class Text(NamedTuple):
    """The sentences of one part, by side."""

    source: Sentences
    target: Sentences


class Task(NamedTuple):
    """What a trainer needs."""

    ids: Ids
    forward: Forward
    # Whether a weight of that name learns something that the translator can use.
    is_handed_on: Callable[[str], bool]
    # What a pretrained model, in evaluation mode, is measured by beside its loss.
    measure: Callable[[Transformer], dict[str, float]] = lambda model: {}


def make_task(
    config: SpanCorruption | MaskedModeling | CausalModeling,
    meta: IdsMeta,
    train: Text,
    valid: Text,
    model: ModelConfig,
) -> Task:
    """The task that a config asks for.

    Sentences that are empty, or too long for the model with their special tokens, are left out.

    Args:
        config: the section `pretrain`, switched on.
        meta: of the pairs that the translator is trained on later.
        train: what is learnt from.
        valid: what is validated on; as much as there is.
        model: which the translator has too.

    Raises:
        ValueError: nothing is left, or the vocabularies don't go with the task.
    """
    match config:
        case SpanCorruption():
            return _spans(config, meta, train, valid, model)
        case MaskedModeling():
            return _masked(config, meta, train, valid, model)
        case CausalModeling():
            return _causal(meta, train, valid, model)


def _spans(
    config: SpanCorruption, meta: IdsMeta, train: Text, valid: Text, model: ModelConfig
) -> Task:
    if not meta.joint:
        raise ValueError(
            "pretrain.kind = 'spans' has the decoder write what the encoder reads, in either "
            "language, so it needs vocab.joint; set it, or take pretrain.kind 'masked' or 'causal'"
        )
    size, eos = meta.source_vocab_size, meta.source.eos_id
    sentinels = np.arange(size, size + config.num_sentinels)

    def examples(text: Text, seed: int, dupe_factor: int) -> Iterator[Example]:
        generator = np.random.default_rng([config.seed, seed])
        for _ in range(dupe_factor):
            for ids in (*text.source, *text.target):
                if len(ids):
                    found = corrupt_spans(
                        ids,
                        sentinels,
                        generator,
                        noise_density=config.noise_density,
                        mean_span_length=config.mean_span_length,
                    )
                    example = Example(np.append(found.source, eos), np.append(found.target, eos))
                    if max(len(example.source), len(example.target)) <= model.max_positions:
                        yield example

    larger = _aligned(size + config.num_sentinels)
    meta = replace(meta, source_vocab_size=larger, target_vocab_size=larger)
    ids = _ids(examples(train, 0, config.dupe_factor), examples(valid, 1, 1), meta)
    return Task(ids, hidden_states, lambda name: True)


def _masked(
    config: MaskedModeling, meta: IdsMeta, train: Text, valid: Text, model: ModelConfig
) -> Task:
    size, special = meta.source_vocab_size, meta.source
    mask_id, follows, does_not = range(size, size + 3)
    ordinary = np.setdiff1d(np.arange(size), np.array(special))
    larger = _aligned(size + 3)

    def examples(sentences: Sentences, seed: int, dupe_factor: int) -> Iterator[Example]:
        generator = np.random.default_rng([config.seed, seed])

        def hide(ids: Integers) -> tuple[Integers, Integers, Integers]:
            """What is seen of a sentence, the labels, their positions."""
            found = mask_tokens(
                ids, mask_id, ordinary, generator, mask_probability=config.mask_probability
            )
            selected = np.flatnonzero(found.is_selected)
            return found.ids, ids[selected], selected

        for _ in range(dupe_factor):
            if not config.next_sentence:
                for ids in sentences:
                    if len(ids) and len(ids) < model.max_positions:
                        seen, labels, at = hide(ids)
                        yield Example(np.append(seen, special.eos_id), labels, at)
                continue
            lines = pair_lines(len(sentences), generator)
            for first, second, is_next in zip(*lines, strict=True):
                one, other = sentences[first], sentences[second]
                if not (len(one) and len(other)) or len(one) + len(other) + 3 > model.max_positions:
                    continue
                (a, a_labels, a_at), (b, b_labels, b_at) = hide(one), hide(other)
                # The question stands at the start token, the answer is a token of its own.
                question, answer = [special.bos_id], [follows if is_next else does_not]
                end = [special.eos_id]
                yield Example(
                    np.concatenate([question, a, end, b, end]),
                    np.concatenate([answer, a_labels, b_labels]),
                    np.concatenate([[0], 1 + a_at, len(one) + 2 + b_at]),
                )

    meta = replace(
        meta, source_vocab_size=larger, target_vocab_size=larger, target=special, joint=True
    )
    ids = _ids(examples(train.source, 0, config.dupe_factor), examples(valid.source, 1, 1), meta)

    def measure(model: Transformer) -> dict[str, float]:
        if not config.next_sentence:
            return {}
        share = share_answered_right(model, _hidden_where_asked, ids.valid, meta, follows, does_not)
        return {"next_sentence_accuracy": round(share, 6)}

    return Task(ids, _hidden_where_asked, _is_of_encoder, measure)


def _causal(meta: IdsMeta, train: Text, valid: Text, model: ModelConfig) -> Task:
    def examples(sentences: Sentences) -> Iterator[Example]:
        nothing = np.array([meta.source.eos_id])
        for ids in sentences:
            if len(ids) and len(ids) < model.max_positions:
                yield Example(nothing, np.append(ids, meta.target.eos_id))

    def is_handed_on(name: str) -> bool:
        if name.startswith("source_embedding."):
            return model.tie_embeddings == "all"  # the name of the table that both sides share
        return "cross_attention" not in name and not name.startswith(("encoder.", "encoder_norm."))

    ids = _ids(examples(train.target), examples(valid.target), meta)
    return Task(ids, _hidden_without_source, is_handed_on)


def _aligned(size: int) -> int:
    # Rows that nothing uses, up to what a GPU's matrix products are quickest with.
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _ids(train: Iterator[Example], valid: Iterator[Example], meta: IdsMeta) -> Ids:
    return Ids(InMemoryDataset(train), InMemoryDataset(valid), meta)


def _hidden_where_asked(model: Transformer, batch: Batch) -> Tensor:
    """The encoder's output at the selected tokens."""
    memory = model.encode(batch.source, batch.source_mask).flatten(0, 1)  # [B * S, D]
    return memory.index_select(0, batch.label_positions)


def _hidden_without_source(model: Transformer, batch: Batch) -> Tensor:
    hidden = model.decode(batch.target, None).flatten(0, 1)  # [B * T, D]
    return hidden.index_select(0, batch.label_positions)


def _is_of_encoder(name: str) -> bool:
    return name.startswith(("encoder.", "encoder_norm.", "source_embedding."))
