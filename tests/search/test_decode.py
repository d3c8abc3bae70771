"""The loop around the search: its cache, its checks."""

import pytest
import torch

from transformer.search.beam import extend_ancestry, init_state, make_inputs, step
from transformer.search.decode import search
from transformer.search.options import SearchConfig
from transformer.search.steps import visible

ROWS = [[4, 5, 6, 7, 2], [8, 2], [9, 9, 4, 2]]


def search_without_cache(model, source, mask, options, max_length, special):
    """The same steps over logits that the whole decoder computes anew each time."""
    inputs = make_inputs(options, torch.full((len(source),), max_length))
    vocab_size = model.output_projection.out_features
    constants, state = init_state(mask.any(1), inputs, vocab_size, special, torch.float32)
    beam_size = options.beam_size
    memory = model.encode(source, mask).repeat_interleave(beam_size, 0)
    mask = mask.repeat_interleave(beam_size, 0)
    target = start = state.tokens.reshape(-1, 1)
    while not state.is_row_done.all():
        hidden = model.decode(target, memory, mask)[:, -1]
        logits = model.project(hidden).unflatten(0, (-1, beam_size))
        state = step(logits, extend_ancestry(state, constants), constants, special)
        live = state.sequences.unflatten(0, (len(source), -1))[:, options.num_best :]
        target = torch.cat([start, live.flatten(0, 1)], 1)
    return state


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "post", "position_encoding": "learned"},
        {"norm": "none", "tie_embeddings": "all"},
    ],
)
def test_cached_equals_uncached(
    model_maker, batch_maker, make_options, special, beam_size, changes
):
    model, options = model_maker(1, **changes), make_options(beam_size=beam_size)
    source, mask = batch_maker(ROWS)
    found = search(model, source, mask, options, special, torch.full((3,), 15))
    with torch.no_grad():
        state = search_without_cache(model, source, mask, options, 15, special)
    best = state.sequences.unflatten(0, (3, -1))[:, 0]
    best = torch.where(
        state.finished_scores > -torch.inf,
        best,
        state.sequences.unflatten(0, (3, -1))[:, 1],
    )
    assert torch.equal(found.target[:, 0], best[:, : found.target.shape[2]])


def test_tiny_model_learns_to_copy(model_maker, make_options, special):
    """Search with a trained model: sure of its answers, cut nowhere, ended everywhere."""
    model = model_maker(0, sharpness=1.0, d_model=32, norm="pre").train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(250):
        words = torch.randint(4, 12, (32, 5), generator=generator)
        source = torch.cat([words, torch.full((32, 1), 2)], 1)
        target = torch.cat([torch.full((32, 1), 1), source], 1)
        logits = model(source, None, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    words = torch.randint(4, 12, (20, 5), generator=generator)
    source = torch.cat([words, torch.full((20, 1), 2)], 1)
    for beam_size in (1, 4):
        options = make_options(beam_size=beam_size, length_penalty=1.0)
        found = search(model, source, source > 0, options, special)
        right = (found.lengths[:, 0] == 6) & (found.target[:, 0, :6] == source).all(1)
        assert right.float().mean() >= 0.9


def test_row_without_source_sees_one_token():
    has_source, mask = visible(torch.tensor([[True, True], [True, False], [False, False]]))
    assert has_source.tolist() == [True, True, False]
    assert mask.tolist() == [[True, True], [True, False], [True, False]]


def test_limits_follow_from_the_options(model_maker, batch_maker, make_options, special):
    model, options = model_maker(3), make_options(max_length_factor=0.7, max_length_extra=1)
    source, mask = batch_maker(ROWS)
    limits = torch.tensor([4, 2, 3])  # floor(0.7 * length) + 1
    found = search(model, source, mask, options, special)
    expected = search(model, source, mask, options, special, limits)
    assert torch.equal(found.target, expected.target)
    assert (found.lengths[:, 0] <= limits).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 0}, "beam_size = 0: must be 1 or more"),
        ({"num_best": 3, "beam_size": 2}, "num_best = 3: must be from 1 to beam_size = 2"),
        ({"num_best": 0}, "num_best = 0: must be from 1 to"),
        ({"length_penalty": -0.5}, "length_penalty = -0.5: must be from 0 to 5.0"),
        ({"length_penalty": 1e39}, "length_penalty = 1e[+]39: must be from 0 to 5.0"),
        ({"length_penalty": float("nan")}, "length_penalty = nan: must be from 0"),
        ({"patience": 0.5}, "patience = 0.5: must be 1 or more"),
        ({"max_length_factor": -0.1}, "max_length_factor = -0.1: must be finite, 0 or more"),
        ({"max_length_factor": float("inf")}, "max_length_factor = inf: must be finite"),
        ({"max_length_factor": float("nan")}, "max_length_factor = nan: must be finite"),
        ({"max_length_extra": 0}, "max_length_extra = 0: must be 1 or more"),
    ],
)
def test_options_out_of_range_are_refused(make_options, changes, message):
    with pytest.raises(ValueError, match=message):
        make_options(**changes)


def test_a_length_that_the_model_cannot_hold_is_refused(model_maker, make_options, special):
    source = torch.tensor([[4, 2]])
    with pytest.raises(ValueError, match=r"41 tokens is more than model.max_positions = 40"):
        search(model_maker(), source, source > 0, make_options(), special, torch.tensor([41]))


def test_model_in_training_mode_is_refused(model_maker, make_options, special):
    source = torch.tensor([[4, 2]])
    with pytest.raises(ValueError, match="training mode"):
        search(model_maker().train(), source, source > 0, make_options(), special)


VALUES = {"length_penalty": 1.0, "patience": None, "max_length_factor": 2.0, "max_length_extra": 10}


def test_a_hundred_beams_are_the_most():
    assert SearchConfig(beam_size=100, **VALUES).beam_size == 100
    with pytest.raises(ValueError, match="less than or equal to 100"):
        SearchConfig(beam_size=101, **VALUES)


def test_more_beams_than_half_the_vocabulary_are_refused():
    options = SearchConfig(beam_size=19, **VALUES).options(40)
    options.check_vocabulary(38)
    with pytest.raises(ValueError, match=r"beam_size = 19: must be from 1 to 18, half of the 37"):
        options.check_vocabulary(37)
