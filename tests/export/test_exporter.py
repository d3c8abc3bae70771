"""The exporter does less than PyTorch's own, and its graphs compute the same."""

import gc

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim

from transformer.export import exporter
from transformer.export.assemble import OPSET
from transformer.export.graph import export_subgraphs
from transformer.text.special_tokens import SpecialIds


class Deviation(nn.Module):
    """Of an operator that ONNX lacks."""

    def forward(self, x):
        return x.std(1)


class Rows(nn.Module):
    """Of operators that are translated here."""

    def forward(self, x):
        rows = torch.tensor([0, 2])
        is_small = (x < 4) & (x > -4) | (x > 8)
        swapped = x.index_copy(0, rows, x.index_select(0, rows.flip(0)))
        return torch.where(is_small, swapped, -swapped).reshape(x.shape[1], 1, x.shape[0])


@pytest.fixture
def traces(monkeypatch):
    """The programs that are traced once more, to be decomposed."""
    found = []
    decompose = exporter._run_decompositions
    monkeypatch.setattr(
        exporter, "_run_decompositions", lambda *args: found.append(args[0]) or decompose(*args)
    )
    return found


def run(module, x):
    graph = exporter.export_module(
        module.eval(), [torch.ones(3, 5)], [{0: Dim.AUTO, 1: Dim.AUTO}], ["x"], ["y"]
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x.numpy()})[0]


@pytest.mark.parametrize("columns", [6, 1, 0])
def test_graph_computes_as_pytorch(columns, traces):
    x = torch.linspace(-9, 9, 4 * columns).reshape(4, columns)
    np.testing.assert_array_equal(run(Rows(), x), Rows()(x).numpy())
    assert not traces


def test_an_operator_that_onnx_lacks_is_decomposed(traces):
    x = torch.linspace(-9, 9, 8).reshape(2, 4) ** 2
    np.testing.assert_allclose(run(Deviation(), x), Deviation()(x).numpy(), rtol=1e-6)
    assert traces


@pytest.mark.parametrize("attention", ["fused", "portable"])
def test_no_subgraph_of_a_model_is_traced_twice(model, attention, traces):
    special = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    export_subgraphs(model, torch.float32, 0, special, attention)
    assert not traces


def test_what_was_switched_off_is_on_again():
    run(Rows(), torch.zeros(4, 2))
    assert gc.isenabled()
    assert torch._dynamo.config.fake_tensor_cache_enabled
    program = torch.export.export(Rows().eval(), (torch.ones(3, 5),))
    names = {str(node.target) for node in program.run_decompositions().graph.nodes}
    assert "aten.reshape.default" not in names
