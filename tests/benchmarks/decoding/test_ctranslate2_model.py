"""Our weights in CTranslate2's layout, without CTranslate2."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from benchmarks.decoding.ctranslate2_engine import CTranslate2Engine, set_variable
from benchmarks.decoding.ctranslate2_model import layout, shape, write_mapping
from transformer.export.shortlist.choose import Shortlist


def test_every_weight_of_ours_is_laid_out(make_model):
    model = make_model()
    num_values = sum(array.size for array in layout(model).values())
    tables = 2 * model.config.max_positions * model.config.d_model  # sinusoids are no parameters
    assert num_values == model.num_parameters() + tables


def test_cross_attention_is_cut_into_queries_and_keys_with_values(make_model):
    model = make_model()
    arrays = {name: torch.from_numpy(value) for name, value in layout(model).items()}
    cross = model.decoder[0].cross_attention
    x = torch.randn(1, 3, 16)

    def apply(index):
        name = f"decoder/layer_0/attention/linear_{index}"
        return F.linear(x, arrays[f"{name}/weight"], arrays[f"{name}/bias"])

    query = cross.in_proj(x).chunk(3, dim=-1)[0]
    key, value = (
        part.transpose(1, 2).flatten(2) for part in cross.project_memory(x, model.config.num_heads)
    )
    torch.testing.assert_close(apply(0), query)
    torch.testing.assert_close(apply(1), torch.cat([key, value], dim=-1))
    torch.testing.assert_close(apply(2), cross.out_proj(x))


def test_self_attention_stays_stacked(make_model):
    model = make_model()
    arrays = layout(model)
    stacked = model.encoder[1].self_attention.in_proj.weight.detach().numpy()
    np.testing.assert_array_equal(arrays["encoder/layer_1/self_attention/linear_0/weight"], stacked)


def test_arrays_share_no_memory_with_the_model_or_one_another(make_model):
    model = make_model(tie_embeddings="all", output_bias=False)
    arrays = layout(model)
    before = model.output_projection.weight.detach().clone()
    for array in arrays.values():
        array[...] = 7.0
    assert torch.equal(model.output_projection.weight, before)
    tied = ["encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"]
    assert not np.shares_memory(arrays[tied[0]], arrays[tied[1]])
    assert not np.shares_memory(arrays[tied[1]], arrays[tied[2]])
    assert "decoder/projection/bias" not in arrays


def test_post_norm_has_no_norm_after_the_stacks(make_model):
    assert "encoder/layer_norm/gamma" in layout(make_model())
    post = make_model(norm="post", activation="gelu")
    assert "encoder/layer_norm/gamma" not in layout(post)
    assert not shape(post)["is_pre_norm"]


def test_a_model_without_positions_adds_zeros(make_model):
    arrays = layout(make_model(position_encoding="none"))
    assert not arrays["decoder/position_encodings/encodings"].any()


def test_positions_that_turn_are_told_and_not_laid_out(make_model):
    model = make_model(position_encoding="rotary")
    assert sum(array.size for array in layout(model).values()) == model.num_parameters()
    assert shape(model)["rotary_dim"] == model.config.d_model // model.config.num_heads
    assert shape(make_model())["rotary_dim"] is None


def test_a_model_without_norms_is_refused(make_model):
    with pytest.raises(ValueError, match="no Transformer without layer norm"):
        layout(make_model(norm="none"))
    with pytest.raises(ValueError, match="divides by the root of the biased variance"):
        layout(make_model(layer_norm_variant="unbiased"))


def test_names_lead_to_attributes_and_to_entries_of_lists():
    layer = SimpleNamespace(linear=[SimpleNamespace(weight=None)], linear_1=SimpleNamespace())
    spec = SimpleNamespace(layer=[None, layer])
    set_variable(spec, "layer_1/linear_0/weight", 1)
    set_variable(spec, "layer_1/linear_1/weight", 2)
    assert layer.linear[0].weight == 1
    assert layer.linear_1.weight == 2


def test_token_ids_are_read_back_from_names():
    engine = CTranslate2Engine(None, 1.0, 1, uses_shortlist=False)
    batch = engine.prepare([[4, 2], [7, 5, 2]], [3, 6])
    assert batch == ([["4", "2"], ["7", "5", "2"]], 6)
    result = [SimpleNamespace(hypotheses=[names]) for names in batch.sources]
    assert engine.read(result) == [[4, 2], [7, 5, 2]]


def test_short_lists_are_written_as_a_vocabulary_mapping(tmp_path):
    shortlist = Shortlist(np.array([0, 2]), np.array([[0, 0], [3, 1], [1, 1]]))
    write_mapping(tmp_path / "mapping.txt", shortlist)
    lines = (tmp_path / "mapping.txt").read_text().split("\n")
    assert lines == ["\t0 2", "0\t0", "1\t3 1", "2\t1", ""]
