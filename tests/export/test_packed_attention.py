"""Packed self-attention: the same translations as by the nodes whose place it takes."""

from collections import Counter

import numpy as np
import pytest
import torch

from transformer.export.assemble import assemble
from transformer.export.graph import Graph, export_subgraphs
from transformer.export.packed_attention import pack_self_attention
from transformer.text.special_tokens import SpecialIds

SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
ROWS = [[4, 5, 6, 7, 3], [8, 3], [], [3], [9, 9, 4, 3], [11, 10, 9, 8, 7, 6, 5, 4, 3]]
LIMITS = [12, 3, 9, 5, 7, 20]
WIDTH = 16
STEPS = ("greedy_step", "single_step")


def count(graph):
    return Counter(node.op_type for node in graph.node)


@pytest.fixture(
    scope="module", params=["rotary", pytest.param("sinusoidal", marks=pytest.mark.slow)]
)
def both(request, model_maker, opener):
    """Subgraphs as they are and packed, and a session of each."""
    model = model_maker(
        target_vocab_size=14, with_biases=True, position_encoding=request.param, max_positions=24,
        d_model=2 * WIDTH, num_heads=2,
    )  # fmt: skip
    plain = export_subgraphs(model, torch.float32, 0, SPECIAL, "fused")
    packed = plain._replace(**{n: pack_self_attention(getattr(plain, n), WIDTH) for n in STEPS})
    models = [assemble(parts, True) for parts in (plain, packed)]
    return plain, packed, [opener(Graph(model, model)) for model in models]


def test_each_layer_has_one_node_for_it(both):
    plain, packed, _ = both
    num_layers = plain.signatures.form.num_layers
    for name in STEPS:
        before, after = count(getattr(plain, name)), count(getattr(packed, name))
        assert before["MultiHeadAttention"] == 2 * num_layers
        assert after["MultiHeadAttention"] == after["GroupQueryAttention"] == num_layers
        assert after["Split"] == after["RotaryEmbedding"] == 0 < before["Split"]


def test_it_translates_as_the_nodes_whose_place_it_takes(both, make_options):
    options = make_options(beam_size=1, num_best=1)

    def translate(session, rows, limits):
        inputs = options.graph_inputs(rows, 0) | {"max_length": np.array(limits)}
        return session.run(None, inputs)

    *_, (before, after) = both
    batches = [([row], [limit]) for row, limit in zip(ROWS, LIMITS, strict=True)]
    for rows, limits in [(ROWS, LIMITS), *batches]:
        target, scores, lengths = translate(before, rows, limits)
        found = translate(after, rows, limits)
        np.testing.assert_array_equal(found[0], target)
        np.testing.assert_allclose(found[1], scores, atol=2e-5)
        np.testing.assert_array_equal(found[2], lengths)


def test_what_it_can_not_do_stays(both):
    plain, *_ = both
    for graph in (plain.begin, plain.step):  # no cache; several beams
        assert count(pack_self_attention(graph, WIDTH)) == count(graph)
    assert pack_self_attention(plain.single_step, WIDTH + 8) is plain.single_step
