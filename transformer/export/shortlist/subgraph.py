"""Short-lists within the exported graph.

With one, the search runs on places in the list of a batch in place of the vocabulary: the marks
come first in it, and the answers are looked up in it at the end. The output projection's weights
are int8 and gathered once for a batch.

Shapes: B batch, S source length, W beams, D d_model, V target vocabulary, n tokens in the list.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.onnx import ops

from transformer.export.quantize import to_int8
from transformer.export.shortlist.choose import Shortlist
from transformer.search.beam import SpecialIds

# Where the marks stand in every list.
LISTED_MARKS = SpecialIds(pad=0, bos=1, eos=2)


class Words(NamedTuple):
    """The list of a batch, with its part of the output projection."""

    ids: Tensor  # int64 [n]: what each place stands for
    weight: Tensor  # int8 [D, n]
    scale: Tensor  # float [n], of each column
    bias: Tensor  # float [n]


class Listing(nn.Module):
    """Makes the list of a batch."""

    def __init__(self, projection: nn.Linear, shortlist: Shortlist, special: SpecialIds) -> None:
        super().__init__()
        integers, scale = to_int8(projection.weight.detach().numpy())
        bias = projection.bias
        frequent, rest = torch.zeros(len(scale)), torch.ones(len(scale))
        frequent[torch.from_numpy(shortlist.frequent)] = 1.0
        rest[list(special)] = 0.0
        small = np.int16 if len(scale) <= np.iinfo(np.int16).max else np.int32
        self.register_buffer("table", torch.from_numpy(shortlist.by_source.astype(small)))
        self.register_buffer("frequent", frequent)  # 1 at tokens that every sentence may use
        self.register_buffer("rest", rest)  # 0 at marks
        self.register_buffer("marks", torch.tensor(list(special)))
        self.register_buffer("weight", torch.from_numpy(integers))
        self.register_buffer("scale", torch.from_numpy(scale))
        self.register_buffer("bias", torch.zeros(len(scale)) if bias is None else bias.detach())

    def forward(self, source: Tensor) -> tuple[Words, Tensor]:
        """Source ids int64 [B, S] -> the list, and float [B, n], -inf at others' tokens."""
        brought = nn.functional.embedding(source, self.get_buffer("table")).flatten(1).long()
        frequent = self.get_buffer("frequent").expand(source.shape[0], -1)
        is_open = frequent.scatter(1, brought, 1.0)  # float [B, V]: 1 or 0
        found = (is_open.amax(0) * self.get_buffer("rest")).nonzero().squeeze(1)
        ids = torch.cat([self.get_buffer("marks"), found])
        limits = torch.where(is_open.index_select(1, ids) > 0, 0.0, -torch.inf)
        words = Words(
            ids,
            self.get_buffer("weight").index_select(0, ids).transpose(0, 1),
            self.get_buffer("scale").index_select(0, ids),
            self.get_buffer("bias").index_select(0, ids),
        )
        return words, limits


def listed_logits(x: Tensor, words: Words, is_fused: bool) -> Tensor:
    """[B, W, D] -> [B, W, n], fused as one of onnxruntime's own operators."""
    if not is_fused:
        return x @ (words.weight.float() * words.scale) + words.bias
    return ops.symbolic(  # type: ignore[no-any-return]
        "com.microsoft::DynamicQuantizeMatMul",
        [x, words.weight, words.scale, None, words.bias],
        dtype=torch.float32,
        shape=[x.shape[0], x.shape[1], words.ids.shape[0]],
        version=1,
    )
