"""A training loop without any of our optimisations, and the same as tutorials write it.

Shapes: B batch, S source length, T target length, H heads, E head width, V target vocabulary.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.model.dropout import Dropout
from transformer.model.transformer import Transformer
from transformer.text.ids import IdsMeta
from transformer.text.pairs import Integers, PairDataset
from transformer.training.config import TrainConfig
from transformer.training.device import autocast, choose_precision
from transformer.training.sentence_batches import Plan

# What tutorials pad every batch to.
TUTORIAL_LENGTH = 128


class PlainLoop:
    """Steps on padded batches: PyTorch's own dropout, all positions through the projection.

    The logits of padding are computed and left out of the loss by its `ignore_index`; masks are
    made for every batch; AdamW is PyTorch's default one. Products run in the config's precision,
    which is the trainer's.

    Args:
        model: as trained by the project, on its device; its dropout is replaced.
        meta: the special ids.
        config: optimizer, clipping, smoothing, precision.
        padded_length: pads both sides of every batch so far; None pads to the longest of each.

    Attributes:
        precision: of the products.
    """

    def __init__(
        self,
        model: Transformer,
        meta: IdsMeta,
        config: TrainConfig,
        padded_length: int | None = None,
    ) -> None:
        self.model = use_plain_dropout(model)
        self.padded_length = padded_length
        self._meta, self._config = meta, config
        self._device = next(model.parameters()).device
        self.precision = choose_precision(config.precision, self._device)
        settings = config.optimizer
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
        )

    def batch(self, pairs: PairDataset, indices: Integers) -> tuple[Tensor, Tensor]:
        """Both sides of some sentences, padded: int64 [B, S] and [B, 1 + T] with start marks."""
        meta, device = self._meta, self._device
        source = _pad(
            pairs.source_ids, pairs.source_offsets, indices, meta.source.pad_id, self.padded_length
        )
        target = _pad(
            pairs.target_ids, pairs.target_offsets, indices, meta.target.pad_id, self.padded_length
        )
        start = torch.full((len(indices), 1), meta.target.bos_id)
        return source.to(device), torch.cat([start, target], dim=1).to(device)

    def loss(self, source: Tensor, target: Tensor) -> Tensor:
        """The mean loss of a real target token; arguments as `batch` gives them."""
        with autocast(self._device, self.precision):
            logits = self.model(source, source != self._meta.source.pad_id, target[:, :-1])
            return F.cross_entropy(
                logits.flatten(0, 1),
                target[:, 1:].flatten(),
                ignore_index=self._meta.target.pad_id,
                label_smoothing=self._config.label_smoothing,
            )

    def step(self, source: Tensor, target: Tensor, learning_rate: float) -> None:
        """One optimizer step."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.zero_grad()
        self.loss(source, target).backward()  # type: ignore[no-untyped-call]
        if self._config.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._config.max_grad_norm)
        self.optimizer.step()


def list_batches(plan: Plan) -> Iterator[Integers]:
    """The indices of each batch, epoch after epoch without end."""
    for epoch in count():
        yield from plan.epoch(epoch)


def use_plain_dropout(model: Transformer) -> Transformer:
    """Gives the model PyTorch's dropout in place of ours; returns it."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, Dropout):
                setattr(module, name, _PlainDropout(child.rate))
    return model


class _PlainDropout(nn.Dropout):
    def add(self, residual: Tensor, x: Tensor) -> Tensor:
        return residual + self(x)  # type: ignore[no-any-return]


def _pad(ids: Any, offsets: Any, indices: Integers, pad_id: int, length: int | None) -> Tensor:
    rows = [
        torch.from_numpy(np.asarray(ids[offsets[i] : offsets[i + 1]], dtype=np.int64))
        for i in indices.tolist()
    ]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)
    if length is None:
        return padded
    return F.pad(padded, (0, length - padded.shape[1]), value=pad_id)
