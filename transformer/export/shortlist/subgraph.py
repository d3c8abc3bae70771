"""Short-lists within the exported graph.

With one, the search runs on places in the list of a batch in place of the vocabulary: the special
tokens come first in it, and the answers are looked up in it at the end. Embeddings and the output
projection's weights, which are int8, are gathered once for a batch.

Shapes: B batch, S source length, W beams, D d_model, V target vocabulary, n tokens in the list.
"""

from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.onnx import ops

from transformer.export.quantization import to_int8
from transformer.export.shortlist.choose import Shortlist
from transformer.model.embedding import Embedding
from transformer.text.special_tokens import SpecialIds

# Where the special tokens stand in every list.
LISTED = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)


class BatchShortlist(NamedTuple):
    """The list of a batch, with its part of the model's tables: a `VocabularyShortlist`."""

    ids: Annotated[Tensor, "int64 vocabulary"]  # what each place stands for
    embedding: Annotated[Tensor, "weights vocabulary d_model"]  # scaled
    weight: Annotated[Tensor, "int8 d_model vocabulary"]
    scale: Annotated[Tensor, "float32 vocabulary"]  # of each column
    bias: Annotated[Tensor, "float32 vocabulary"]

    def logits(self, hidden: Tensor) -> Tensor:
        """[B, W, D] -> [B, W, n], computed in float32: the quickest for a single row."""
        return hidden @ (self.weight.float() * self.scale) + self.bias


class FusedShortlist(BatchShortlist):
    """The same by one of onnxruntime's own operators, the quickest for several rows."""

    def logits(self, hidden: Tensor) -> Tensor:
        """As in `BatchShortlist`."""
        return ops.symbolic(  # type: ignore[no-any-return]
            "com.microsoft::DynamicQuantizeMatMul",
            [hidden, self.weight, self.scale, None, self.bias],
            dtype=torch.float32,
            shape=[hidden.shape[0], hidden.shape[1], self.ids.shape[0]],
            version=1,
        )


class ListTokens(nn.Module):
    """Makes the list of a batch."""

    def __init__(
        self,
        embedding: Embedding,
        projection: nn.Linear,
        shortlist: Shortlist,
        special: SpecialIds,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        integers, scale = to_int8(projection.weight.detach().numpy())
        bias = projection.bias
        frequent, rest = torch.zeros(len(scale)), torch.ones(len(scale))
        frequent[torch.from_numpy(shortlist.frequent)] = 1.0
        rest[list(special)] = 0.0
        small = np.int16 if len(scale) <= np.iinfo(np.int16).max else np.int32
        self.register_buffer("table", torch.from_numpy(shortlist.by_source.astype(small)))
        self.register_buffer("frequent", frequent)  # 1 at tokens that every sentence may use
        self.register_buffer("rest", rest)  # 0 at special tokens
        self.register_buffer("special", torch.tensor(list(special)))
        self.register_buffer("weight", torch.from_numpy(integers))
        self.register_buffer("scale", torch.from_numpy(scale))
        self.register_buffer("bias", torch.zeros(len(scale)) if bias is None else bias.detach())

    def forward(self, source: Tensor) -> tuple[BatchShortlist, Tensor]:
        """Source ids int64 [B, S] -> the list, and float [B, n], -inf at others' tokens."""
        brought = nn.functional.embedding(source, self.get_buffer("table")).flatten(1).long()
        frequent = self.get_buffer("frequent")
        # float [V, B], 1 at brought tokens: those of a token stand together, some are gathered.
        is_brought = torch.zeros(len(frequent), source.shape[0])
        is_brought = is_brought.scatter(0, brought.transpose(0, 1), 1.0)
        found = ((is_brought.amax(1) + frequent) * self.get_buffer("rest")).nonzero().squeeze(1)
        ids = torch.cat([self.get_buffer("special"), found])
        is_open = is_brought.index_select(0, ids) + frequent.index_select(0, ids).unsqueeze(1)
        mask = torch.where(is_open > 0, 0.0, -torch.inf).transpose(0, 1)
        shortlist = BatchShortlist(
            ids,
            self.embedding.tokens(ids) * self.embedding.scale,
            self.get_buffer("weight").index_select(0, ids).transpose(0, 1),
            self.get_buffer("scale").index_select(0, ids),
            self.get_buffer("bias").index_select(0, ids),
        )
        return shortlist, mask
