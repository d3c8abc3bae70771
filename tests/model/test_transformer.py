"""The whole model: against torch.nn, against itself with a cache, and by its counts."""

import cmath
import math

import pytest
import torch
from torch import nn

from transformer.model.config import ModelConfig
from transformer.model.layers import ACTIVATIONS
from transformer.model.positions import RotaryPositions, rotate, sinusoidal_positions
from transformer.model.transformer import Transformer

CONFIG = {
    "num_encoder_layers": 2,
    "num_decoder_layers": 3,
    "d_model": 16,
    "num_heads": 4,
    "d_ff": 24,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "norm": "pre",
    "norm_epsilon": 1e-5,
    "layer_norm_variant": "standard",
    "position_encoding": "sinusoidal",
    "max_positions": 32,
    "activation": "relu",
    "scale_embeddings": True,
    "tie_embeddings": "none",
    "output_bias": True,
    "embedding_dropout": None,
    "initial_weights": "xavier",
}
VOCABULARY = 11


def make_model(**changes) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(ModelConfig(**(CONFIG | changes)), VOCABULARY, VOCABULARY).eval()
    for parameter in model.parameters():  # biases and norms that do something
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5)
    return model


@pytest.fixture
def batch():
    """Source [3, 6] with padding in two rows, its mask, and a target [3, 5]."""
    torch.manual_seed(2)
    source = torch.randint(0, VOCABULARY, (3, 6))
    mask = torch.arange(6) < torch.tensor([6, 4, 1]).unsqueeze(1)
    return source, mask, torch.randint(0, VOCABULARY, (3, 5))


def copy_layer(ours, theirs) -> None:
    """Gives a torch.nn layer the weights of ours."""
    pairs = [(ours.self_attention, theirs.self_attn)]
    norms = [ours.self_attention_residual.norm, ours.feed_forward_residual.norm]
    if hasattr(ours, "cross_attention"):
        pairs.append((ours.cross_attention, theirs.multihead_attn))
        norms.insert(1, ours.cross_attention_residual.norm)
    for mine, other in pairs:
        other.in_proj_weight.data.copy_(mine.in_proj.weight)
        other.in_proj_bias.data.copy_(mine.in_proj.bias)
        other.out_proj.load_state_dict(mine.out_proj.state_dict())
    for index, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{index}").load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.linear1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.linear2.state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_model_equals_torch_with_the_same_weights(norm, activation, batch):
    source, mask, target = batch
    model = make_model(norm=norm, activation=activation)
    shape = {
        "d_model": 16,
        "nhead": 4,
        "dim_feedforward": 24,
        "dropout": 0.0,
        "activation": ACTIVATIONS[activation],
        "batch_first": True,
        "norm_first": norm == "pre",
    }
    memory = model.source_embedding(source)
    for layer in model.encoder:
        theirs = nn.TransformerEncoderLayer(**shape).eval()
        copy_layer(layer, theirs)
        memory = theirs(memory, src_key_padding_mask=~mask)
    memory = model.encoder_norm(memory)
    hidden = model.target_embedding(target)
    causal = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for layer in model.decoder:
        theirs = nn.TransformerDecoderLayer(**shape).eval()
        copy_layer(layer, theirs)
        hidden = theirs(hidden, memory, tgt_mask=causal, memory_key_padding_mask=~mask)
    expected = model.output_projection(model.decoder_norm(hidden))
    torch.testing.assert_close(model(source, mask, target), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("position_encoding", ["sinusoidal", "learned", "rotary", "none"])
def test_cached_steps_equal_the_whole_sequence(norm, position_encoding, batch):
    source, mask, target = batch
    model = make_model(norm=norm, position_encoding=position_encoding)
    expected = model(source, mask, target)
    cross, cache = model.init_cache(model.encode(source, mask), mask)
    for position in range(target.shape[1]):
        tokens = target[:, position : position + 1]
        logits, cache = model.step(tokens, torch.tensor(position), cross, cache)
        torch.testing.assert_close(logits[:, 0], expected[:, position], atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("position_encoding", ["sinusoidal", "learned", "rotary", "none"])
def test_what_is_saved_of_a_model_is_what_it_learns(position_encoding):
    model = make_model(position_encoding=position_encoding)
    learned = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    assert set(model.state_dict()) == learned


def test_beams_of_one_step_equal_separate_sentences(batch):
    source, mask, target = batch
    model = make_model()
    beams = torch.stack([target, target.flip(1)], dim=1)  # [3, 2, 5]
    cross, cache = model.init_cache(model.encode(source, mask), mask)
    own = torch.zeros(2, 2).masked_fill(~torch.eye(2, dtype=torch.bool), -torch.inf)  # [W, W]
    for position in range(target.shape[1]):
        ancestry = own.repeat(1, position + 1)[None, None]
        tokens = beams[..., position]
        logits, cache = model.step(tokens, torch.tensor(position), cross, cache, ancestry)
    for beam in range(2):
        expected = model(source, mask, beams[:, beam])[:, -1]
        torch.testing.assert_close(logits[:, beam], expected, atol=1e-4, rtol=1e-4)


def test_padding_does_not_change_logits(batch):
    source, mask, target = batch
    model = make_model()
    logits = model(source, mask, target)
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = model(source[row : row + 1, :length], None, target[row : row + 1])
        torch.testing.assert_close(logits[row : row + 1], alone, atol=1e-4, rtol=1e-4)


def test_a_later_target_token_does_not_change_earlier_logits(batch):
    source, mask, target = batch
    model = make_model()
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] + 1) % VOCABULARY
    before, after = model(source, mask, target), model(source, mask, changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_without_positions_the_encoder_ignores_order(batch):
    source, _, _ = batch
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    model = make_model(position_encoding="none")
    torch.testing.assert_close(
        model.encode(source[:, order], None), model.encode(source, None)[:, order]
    )


def test_sinusoidal_positions_follow_the_paper():
    table = sinusoidal_positions(40, 6)
    for position in (0, 1, 39):
        for pair in range(3):
            angle = position / 10_000 ** (2 * pair / 6)
            assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_sines_in_halves_are_the_same_features_in_another_order():
    order = [0, 2, 4, 1, 3, 5]
    assert torch.equal(sinusoidal_positions(40, 6, True), sinusoidal_positions(40, 6)[:, order])


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_an_output_bias_is_added_to_the_logits(tie, batch):
    source, mask, target = batch
    model = make_model(tie_embeddings=tie, output_bias=True)
    with_bias = model(source, mask, target)
    bias = model.output_projection.bias.data.clone()
    model.output_projection.bias.data.zero_()
    torch.testing.assert_close(model(source, mask, target) + bias, with_bias)
    assert make_model(tie_embeddings=tie, output_bias=False).output_projection.bias is None


def test_rotary_scores_follow_the_paper_and_the_distance_alone():
    table = RotaryPositions(40, 6)
    features = torch.Generator().manual_seed(3)
    query, key = torch.randn(2, 1, 1, 12, generator=features)  # two heads of width 6

    def turned(x: torch.Tensor, position: int) -> torch.Tensor:
        return rotate(x, table.step(torch.tensor(position))).view(2, 6)

    for place in (0, 1, 39):
        for pair in range(3):
            turn = cmath.exp(1j * place / 10_000 ** (2 * pair / 6))
            for head in range(2):
                first = 6 * head + 2 * pair
                expected = complex(*query[0, 0, first : first + 2].tolist()) * turn
                found = complex(*turned(query, place)[head, 2 * pair : 2 * pair + 2].tolist())
                assert found == pytest.approx(expected, abs=1e-5)
    scores = [(turned(query, p + 4) * turned(key, p)).sum(1) for p in (0, 7, 35)]
    for score in scores[1:]:
        torch.testing.assert_close(score, scores[0], atol=1e-5, rtol=1e-5)


def test_rotary_is_the_same_by_its_formula(monkeypatch):
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(3))
    rotation = RotaryPositions(5, 6)(5)
    quick = rotate(x, rotation)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    torch.testing.assert_close(rotate(x, rotation), quick, atol=1e-6, rtol=1e-6)
    narrow = rotate(x.bfloat16(), rotation)
    assert narrow.dtype == torch.bfloat16
    torch.testing.assert_close(narrow.float(), quick, atol=2e-2, rtol=2e-2)


def test_rotary_tells_orders_apart(batch):
    _, _, target = batch
    source = torch.tensor([[5, 6, 7, 2], [6, 5, 7, 2]])
    first, second = make_model(position_encoding="rotary")(source, None, target[:2] * 0 + 4)
    assert not torch.allclose(first, second, atol=1e-3)


def test_a_rotary_sequence_beyond_the_table_is_refused(batch):
    source, mask, target = batch
    model = make_model(position_encoding="rotary", max_positions=4)
    with pytest.raises(ValueError, match=r"longer than model\.max_positions = 4"):
        model(source, mask, target)


@pytest.mark.parametrize(("tie", "num_tables"), [("none", 3), ("output", 2), ("all", 1)])
def test_tied_embeddings_are_one_table(tie, num_tables):
    sizes = {
        tie: sum(p.numel() for p in make_model(tie_embeddings=tie).parameters() if p.dim() == 2)
        for tie in ("none", tie)
    }
    assert sizes["none"] - sizes[tie] == (3 - num_tables) * VOCABULARY * 16


def test_every_parameter_gets_a_gradient(batch):
    source, mask, target = batch
    model = make_model(position_encoding="learned", max_positions=6)
    model(source, mask, target).logsumexp(-1).sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def linear_layers(initial_weights):
    """Each kind of linear layer of a wide model: its weight [out, in] and its bias."""
    torch.manual_seed(0)
    config = CONFIG | {"d_model": 64, "d_ff": 256, "initial_weights": initial_weights}
    model = Transformer(ModelConfig(**config), VOCABULARY, VOCABULARY)
    layer = model.decoder[0]
    fused = layer.self_attention.in_proj
    queries = zip(fused.weight.chunk(3), fused.bias.chunk(3), strict=True)
    others = layer.feed_forward.linear1, layer.feed_forward.linear2, model.output_projection
    return [*queries, *((module.weight, module.bias) for module in others)]


def is_uniform(values, bound):
    """Whether many values spread evenly over -bound to bound."""
    fills = values.abs().max() <= bound and values.abs().max() > 0.9 * bound
    return fills and values.std().item() == pytest.approx(bound / 3**0.5, rel=0.15)


def test_xaviers_weights_depend_on_both_widths_and_biases_begin_at_zero():
    for weight, bias in linear_layers("xavier"):
        assert is_uniform(weight, (6 / sum(weight.shape)) ** 0.5)
        assert not bias.any()


def test_torchs_weights_and_biases_depend_on_the_inputs_alone():
    for weight, bias in linear_layers("torch"):
        assert is_uniform(weight, weight.shape[1] ** -0.5)
        assert bias.any()
        assert bias.abs().max() <= weight.shape[1] ** -0.5


@pytest.mark.parametrize(
    ("scale", "tie", "expected"),
    [(False, "none", 1.0), (True, "none", 0.125), (False, "output", 0.125), (True, "all", 0.125)],
)
def test_embeddings_begin_small_where_they_are_scaled_or_are_the_projection(scale, tie, expected):
    torch.manual_seed(0)
    changes = {"d_model": 64, "scale_embeddings": scale, "tie_embeddings": tie}
    model = Transformer(ModelConfig(**CONFIG | changes), 200, 200)
    for embedding in (model.source_embedding, model.target_embedding):
        assert embedding.tokens.weight.std().item() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("rate", [0.0, 0.5, None])
def test_embeddings_have_a_dropout_of_their_own_or_that_of_the_sublayers(rate):
    model = make_model(dropout=0.25, embedding_dropout=rate, position_encoding="none").train()
    expected = 0.25 if rate is None else rate
    for embedding in (model.source_embedding, model.target_embedding):
        dropped = embedding(torch.zeros(1, 2000, dtype=torch.int64)) == 0
        assert dropped.float().mean().item() == pytest.approx(expected, abs=0.02)


def test_bfloat16_stays_near_float32(batch):
    source, mask, target = batch
    model = make_model()
    expected = model(source, mask, target).log_softmax(-1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(source, mask, target)
    assert logits.dtype == torch.bfloat16
    torch.testing.assert_close(logits.float().log_softmax(-1), expected, atol=0.2, rtol=0.1)


def test_too_long_a_sequence_is_refused(batch):
    source, mask, target = batch
    model = make_model(max_positions=5)
    with pytest.raises(ValueError, match=r"6 tokens is longer than model.max_positions = 5"):
        model(source, mask, target)


def test_tying_all_needs_one_vocabulary():
    config = ModelConfig(**(CONFIG | {"tie_embeddings": "all"}))
    with pytest.raises(ValueError, match=r"tie_embeddings = 'all' needs one joint vocabulary"):
        Transformer(config, 10, 11)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_heads": 3}, r"num_heads = 3 must divide d_model = 16"),
        ({"d_model": 15, "num_heads": 3}, r"d_model = 15 must be even"),
        ({"num_heads": 16, "position_encoding": "rotary"}, r"d_model / num_heads = 1 must be even"),
        ({"norm": "middle"}, r"'pre', 'post' or 'none'"),
        ({"dropout": 1.0}, r"less than 1"),
        ({"d_model": "16"}, r"valid integer"),
    ],
)
def test_impossible_shapes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**(CONFIG | changes))
