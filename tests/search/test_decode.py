"""The loop around the search: its cache, its checks."""

import math

import pytest
import torch

from transformer.search.beam import init_state, step
from transformer.search.config import SearchConfig
from transformer.search.decode import search, visible

ROWS = [[4, 5, 6, 7, 2], [8, 2], [9, 9, 4, 2]]


def search_without_cache(model, source, mask, beam_size, max_length, special):
    """The same steps over logits that the whole decoder computes anew each time."""
    plan, state = init_state(
        mask.any(1),
        torch.full((len(source),), max_length),
        torch.tensor(0.6),
        torch.tensor(math.inf),
        torch.arange(beam_size),
        torch.arange(1),
        model.output_projection.out_features,
        special,
    )
    memory = model.encode(source, mask).repeat_interleave(beam_size, 0)
    mask = mask.repeat_interleave(beam_size, 0)
    target = state.tokens.reshape(-1, 1)
    while not state.is_row_done.all():
        hidden = model.decode(target, memory, mask)[:, -1]
        logits = model.project(hidden).unflatten(0, (-1, beam_size))
        state = step(logits, state, plan, special)
        target = torch.cat(
            [target[(state.parents + plan.beam_offsets).flatten()], state.tokens.reshape(-1, 1)], 1
        )
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
def test_cached_equals_uncached(model_maker, batch_maker, special, beam_size, changes):
    model = model_maker(1, **changes)
    source, mask = batch_maker(ROWS)
    found = search(
        model,
        source,
        mask,
        beam_size=beam_size,
        length_penalty=0.6,
        patience=math.inf,
        max_lengths=torch.full((3,), 15),
        num_best=1,
        special=special,
    )
    with torch.no_grad():
        state = search_without_cache(model, source, mask, beam_size, 15, special)
    best = state.sequences.unflatten(0, (3, -1))[:, 0]
    best = torch.where(
        state.finished_scores > -torch.inf,
        best,
        state.sequences.unflatten(0, (3, -1))[:, 1],
    )
    assert torch.equal(found.target[:, 0], best[:, : found.target.shape[2]])


def test_tiny_model_learns_to_copy(model_maker, batch_maker, special):
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
        found = search(
            model,
            source,
            source > 0,
            beam_size=beam_size,
            length_penalty=1.0,
            patience=math.inf,
            max_lengths=torch.full((20,), 20),
            num_best=1,
            special=special,
        )
        right = (found.lengths[:, 0] == 6) & (found.target[:, 0, :6] == source).all(1)
        assert right.float().mean() >= 0.9


def test_row_without_source_sees_one_token():
    has_source, mask = visible(torch.tensor([[True, True], [True, False], [False, False]]))
    assert has_source.tolist() == [True, True, False]
    assert mask.tolist() == [[True, True], [True, False], [True, False]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam_size": 0}, "beam_size = 0: allowed are 1 and more"),
        ({"num_best": 3}, "num_best = 3: allowed are 1 to beam_size = 2"),
        ({"num_best": 0}, "num_best = 0: allowed are 1 to"),
        ({"length_penalty": -0.5}, "length_penalty = -0.5: allowed are 0 and more"),
        ({"patience": 0.5}, "patience = 0.5: allowed are 1 and more"),
        ({"length_penalty": float("nan")}, "length_penalty = nan"),
        ({"max_lengths": torch.tensor([41])}, "41 tokens is more than model.max_positions = 40"),
    ],
)
def test_settings_out_of_range_are_refused(model_maker, special, settings, message):
    values = {
        "beam_size": 2,
        "num_best": 1,
        "length_penalty": 0.6,
        "patience": 2.0,
        "max_lengths": torch.tensor([5]),
    }
    source = torch.tensor([[4, 2]])
    with pytest.raises(ValueError, match=message):
        search(model_maker(), source, source > 0, special=special, **(values | settings))


def test_model_in_training_mode_is_refused(model_maker, special):
    source = torch.tensor([[4, 2]])
    model = model_maker().train()
    with pytest.raises(ValueError, match="training mode"):
        search(
            model,
            source,
            source > 0,
            beam_size=1,
            num_best=1,
            length_penalty=0.0,
            patience=math.inf,
            max_lengths=torch.tensor([3]),
            special=special,
        )


def test_more_beams_than_half_the_vocabulary_are_refused():
    config = SearchConfig(
        beam_size=19, length_penalty=1.0, patience=None, max_length_factor=2.0, max_length_extra=10
    )
    config.check_vocabulary(38)
    with pytest.raises(ValueError, match=r"search.beam_size = 19: at most 18, half of the 37"):
        config.check_vocabulary(37)
