"""Short-lists in the graph: a search among each sentence's own words, whatever stands beside it."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from transformer.export.assemble import assemble
from transformer.export.graph import Graph, build_graphs, export_subgraphs
from transformer.export.quantization import to_int8
from transformer.export.shortlist.choose import Shortlist
from transformer.search.decode import search
from transformer.text.special_tokens import SpecialIds

SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
ROWS = [[4, 5, 6, 7, 3], [8, 3], [], [3], [9, 9, 4, 3], [11, 10, 9, 8, 7, 6, 5, 4, 3]]
LIMITS = [12, 3, 9, 5, 7, 20]
FREQUENT = [0, 1, 2, 3, 5, 9]


class Masked(nn.Module):
    """A projection that leaves a sentence its own words."""

    def __init__(self, projection, mask):
        super().__init__()
        self.out_features = projection.out_features
        self.output_projection, self.mask = projection, mask

    def forward(self, x):
        return self.output_projection(x) + self.mask


@pytest.fixture(scope="module")
def shortlist():
    table = np.random.default_rng(3).integers(0, 14, (12, 2))
    table[0] = SPECIAL.eos_id
    return Shortlist(np.array(FREQUENT), table)


@pytest.fixture(scope="module")
def listed(model, shortlist):
    """The graph in float32, but for the projection, whose weights are int8 in any short-list."""
    parts = export_subgraphs(model, torch.float32, 0, SPECIAL, "portable", shortlist)
    return Graph(assemble(parts, False), assemble(parts, False, with_logits=True))


def tokens_of(shortlist, row):
    return sorted({*FREQUENT, *shortlist.by_source[row].flatten().tolist()})


@pytest.fixture
def by_pytorch(model, shortlist, make_options):
    def run(row, limit, **options):
        integers, scale = to_int8(model.output_projection.weight.detach().numpy())
        masked = copy.deepcopy(model)
        masked.output_projection.weight.data = torch.from_numpy(integers * scale[:, None])
        mask = torch.full((14,), -torch.inf)
        mask[tokens_of(shortlist, row)] = 0.0
        masked.output_projection = Masked(masked.output_projection, mask)
        source = torch.tensor([row or [0]])
        options = make_options(patience=2.0, **options)
        found = search(masked, source, source != 0, options, SPECIAL, torch.tensor([limit]))
        return [tensor.numpy()[0] for tensor in found]

    return run


@pytest.fixture
def by_graph(make_options):
    def run(session, rows, limits, **options):
        options = make_options(patience=2.0, **options)
        inputs = options.graph_inputs(rows, 0) | {"max_length": np.array(limits)}
        return session.run(None, inputs)

    return run


@pytest.mark.parametrize(("beam_size", "num_best"), [(1, 1), (2, 1), (4, 3)])
def test_each_sentence_chooses_among_its_own_words_in_any_batch(
    shortlist, listed, opener, by_pytorch, by_graph, beam_size, num_best
):
    settings = {"beam_size": beam_size, "num_best": num_best}
    session = opener(listed)
    together = by_graph(session, ROWS, LIMITS, **settings)
    for index, (row, limit) in enumerate(zip(ROWS, LIMITS, strict=True)):
        target, scores, lengths = by_pytorch(row, limit, **settings)
        alone = by_graph(session, [row], [limit], **settings)
        for found in ([part[0] for part in alone], [part[index] for part in together]):
            width = min(found[0].shape[1], target.shape[1])
            np.testing.assert_array_equal(found[0][:, :width], target[:, :width])
            assert (found[0][:, width:] == 0).all()
            np.testing.assert_allclose(found[1], scores, atol=2e-5)
            np.testing.assert_array_equal(found[2], lengths)
        assert set(target.flatten().tolist()) <= {0, *tokens_of(shortlist, row)}


def test_logits_are_of_the_tokens_that_are_told(shortlist, listed, opener, by_graph):
    shown = opener(listed._replace(model=listed.with_logits))
    *_, logits, words = by_graph(shown, [ROWS[0]], [12], beam_size=1)
    assert words[:4].tolist() == [0, 1, 2, 3]  # the special tokens come first
    assert sorted(words.tolist()) == tokens_of(shortlist, ROWS[0])
    assert logits.shape[3] == len(words)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["fused", "portable"])
def test_int8_alone_has_a_short_list(shared_model, shared_graphs, opener, by_graph, attention):
    """A model that copies, with lists of its words: int8 still copies; float32 is as without."""
    words = np.arange(400)
    shortlist = Shortlist(np.arange(4), np.stack([words, (words + 7) % 400], 1))
    build = {"source_pad": 0, "special": SPECIAL, "attention": attention}
    precisions = ["float32", "int8"]
    graphs = dict(build_graphs(shared_model, **build, precisions=precisions, shortlist=shortlist))
    plain = shared_graphs  # fused
    if attention != "fused":
        plain = dict(build_graphs(shared_model, **build, precisions=["float32"]))
    assert graphs["float32"] == plain["float32"]
    generator = np.random.default_rng(0)
    rows = [[*generator.integers(4, 20, 5).tolist(), 3] for _ in range(40)]
    for beam_size, size in ((1, 1), (1, 40), (4, 1), (4, 40)):
        session, copied = opener(graphs["int8"]), []
        for start in range(0, 40, size):
            part = rows[start : start + size]
            target = by_graph(session, part, [20] * size, beam_size=beam_size)[0]
            copied += [target[i, 0, :6].tolist() == row for i, row in enumerate(part)]
        assert np.mean(copied) > 0.8
