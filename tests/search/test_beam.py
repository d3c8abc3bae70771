"""Search against greedy search, against brute force, and row by row."""

import itertools
import math

import pytest
import torch

from transformer.search import beam
from transformer.search.beam import SearchInputs, finish, init_state, length_weight
from transformer.search.decode import search

PAD, BOS, EOS, UNK = 0, 1, 2, 3
ROWS = [[4, 5, 6, 7, 2], [8, 2], [2], [9, 9, 4, 2], [11, 10, 9, 8, 7, 6, 5, 4, 2]]


@pytest.fixture
def translate(batch_maker, special, make_options):
    def run(model, rows=ROWS, max_lengths=None, **options):
        lengths = torch.tensor(max_lengths or [12] * len(rows))
        return search(model, *batch_maker(rows), make_options(**options), special, lengths)

    return run


@pytest.fixture
def begin(special):
    """A search's constants and first state, of rows that all have a source."""

    def init(max_lengths, num_beams, num_best, vocab_size, length_penalty=1.0, patience=math.inf):
        inputs = SearchInputs(
            torch.tensor(max_lengths),
            torch.tensor(length_penalty),
            torch.tensor(patience),
            torch.arange(num_beams),
            torch.arange(num_best),
        )
        has_source = torch.ones(len(max_lengths), dtype=torch.bool)
        return init_state(has_source, inputs, vocab_size, special, torch.float32)

    return init


@pytest.fixture
def step(special):
    """One step, as `transformer.search.steps.beam_step` takes it, of given logits."""

    def run(logits, state, constants):
        return beam.step(logits, beam.extend_ancestry(state, constants), constants, special)

    return run


def log_probabilities(model, source, target):
    """log p of each token after a start token and `target`: [T + 1, V], without a cache."""
    with torch.no_grad():
        logits = model(source, None, torch.tensor([[BOS, *target]]))
    return logits.float().log_softmax(-1)[0]


def greedy(model, source, max_length):
    """The likeliest allowed token at each step, by the whole decoder."""
    target, total = [], 0.0
    while len(target) < max_length and EOS not in target:
        log_p = log_probabilities(model, source, target)[-1]
        log_p[[PAD, BOS]] = -torch.inf
        target.append(int(log_p.argmax()))
        total += float(log_p.max())
    return target, total


def brute_force(model, source, max_length, length_penalty):
    """All hypotheses, best first: those with an end token, then those cut at the maximum length."""
    words = [token for token in range(model.output_projection.out_features) if token > EOS]
    ended, cut = [], []
    for prefix in itertools.product(words, repeat=max_length):
        log_p = log_probabilities(model, source, prefix)
        taken = [float(log_p[place, token]) for place, token in enumerate(prefix)]
        for length in range(max_length):
            if all(token == words[0] for token in prefix[length:]):  # each prefix once
                total = sum(taken[:length]) + float(log_p[length, EOS])
                ended.append((total, [*prefix[:length], EOS]))
        cut.append((sum(taken), list(prefix)))

    def rank(hypotheses):
        scored = [(s / ((5 + len(h)) / 6) ** length_penalty, h) for s, h in hypotheses]
        return sorted(scored, key=lambda pair: -pair[0])

    return rank(ended) + rank(cut)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_wide_beam_equals_brute_force(model_maker, translate, seed, length_penalty):
    model = model_maker(seed, target_vocab_size=6)
    rows, num_best = [[4, 5, 2], [7, 2]], 60
    found = translate(
        model,
        rows,
        beam_size=90,
        num_best=num_best,
        length_penalty=length_penalty,
        patience=math.inf,
        max_lengths=[4, 3],
    )
    for row, max_length in enumerate([4, 3]):
        expected = brute_force(model, torch.tensor([rows[row]]), max_length, length_penalty)
        expected = expected[:num_best]
        for place, (score, ids) in enumerate(expected):
            length = int(found.lengths[row, place])
            assert found.target[row, place, :length].tolist() == ids
            assert float(found.scores[row, place]) == pytest.approx(score, abs=1e-4)
        assert (found.lengths[row, len(expected) :] == 0).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_one_beam_is_greedy(model_maker, translate, seed, length_penalty):
    model = model_maker(seed)
    found = translate(model, beam_size=1, length_penalty=length_penalty)
    for row, ids in enumerate(ROWS):
        expected, total = greedy(model, torch.tensor([ids]), 12)
        length = int(found.lengths[row, 0])
        assert found.target[row, 0, :length].tolist() == expected
        weight = float(length_weight(torch.tensor(length), torch.tensor(length_penalty)))
        assert float(found.scores[row, 0]) == pytest.approx(total * weight, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3, 5])
def test_batch_equals_one_by_one(model_maker, translate, beam_size):
    model = model_maker(1)
    limits = [12, 3, 1, 7, 20]
    together = translate(model, ROWS, beam_size=beam_size, num_best=beam_size, max_lengths=limits)
    for row, ids in enumerate(ROWS):
        alone = translate(
            model,
            [ids],
            beam_size=beam_size,
            num_best=beam_size,
            max_lengths=[limits[row]],
        )
        width = alone.target.shape[2]
        assert torch.equal(together.target[row, :, :width], alone.target[0])
        assert (together.target[row, :, width:] == PAD).all()
        assert torch.equal(together.lengths[row], alone.lengths[0])
        torch.testing.assert_close(together.scores[row], alone.scores[0], atol=1e-5, rtol=0)


def test_row_of_padding_gets_an_empty_answer_and_disturbs_no_other(model_maker, translate):
    model = model_maker(2)
    with_empty = translate(model, [[], ROWS[0], []], num_best=2)
    without = translate(model, [ROWS[0]], num_best=2)
    assert with_empty.lengths[[0, 2]].tolist() == [[0, 0], [0, 0]]
    assert with_empty.scores[0].tolist() == [0.0, -torch.inf]
    assert (with_empty.target[[0, 2]] == PAD).all()
    assert torch.equal(with_empty.target[1], without.target[0])


def test_batch_of_padding_only_gets_empty_answers(model_maker, translate):
    found = translate(model_maker(), [[], []])
    assert found.target.shape == (2, 1, 0)


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_fewer_best_are_the_first_of_more(model_maker, translate, length_penalty):
    model = model_maker(3)
    more = translate(model, num_best=5, beam_size=5, length_penalty=length_penalty)
    for num_best in range(1, 5):
        few = translate(
            model,
            num_best=num_best,
            beam_size=5,
            length_penalty=length_penalty,
            patience=math.inf,
        )
        torch.testing.assert_close(few.scores, more.scores[:, :num_best])
        assert torch.equal(few.lengths, more.lengths[:, :num_best])


def test_scores_are_normalised_log_probabilities(model_maker, translate):
    model = model_maker(4)
    found = translate(model, num_best=4, length_penalty=1.0)
    assert (found.scores.diff(dim=1) <= 0).all()
    for row, ids in enumerate(ROWS):
        for place in range(4):
            target = found.target[row, place, : found.lengths[row, place]].tolist()
            log_p = log_probabilities(model, torch.tensor([ids]), target)
            total = sum(float(log_p[i, token]) for i, token in enumerate(target))
            expected = total / ((5 + len(target)) / 6)
            assert float(found.scores[row, place]) == pytest.approx(expected, abs=1e-4)


def test_padding_and_start_mark_are_never_generated(model_maker, translate):
    model = model_maker(5, target_vocab_size=7)
    with torch.no_grad():
        model.output_projection.bias[[PAD, BOS]] = 20.0
    found = translate(model, beam_size=5, num_best=5)
    for row in range(len(ROWS)):
        for place in range(5):
            ids = found.target[row, place, : found.lengths[row, place]]
            assert len(ids) > 0
            assert not ((ids == PAD) | (ids == BOS)).any()


def test_answer_without_end_mark_is_cut_at_its_own_limit(model_maker, translate):
    model = model_maker(6)
    with torch.no_grad():
        model.output_projection.bias[EOS] = -100.0
    limits = [5, 1, 9, 2, 3]
    found = translate(model, num_best=2, max_lengths=limits)
    assert found.lengths.tolist() == [[limit, limit] for limit in limits]
    assert not (found.target == EOS).any()


def test_finished_answers_come_before_cut_ones(special, begin, step):
    """Two words, an end token of little probability: one ended hypothesis, then a cut one."""
    constants, state = begin([2], 2, 2, 5, length_penalty=0.0)
    first = torch.tensor([0.0, 0.0, 0.01, 0.39, 0.6]).log().expand(1, 2, 5)
    second = torch.tensor([0.0, 0.0, 0.45, 0.0, 0.55]).log().expand(1, 2, 5)
    for logits in (first, second):
        assert not state.is_row_done
        state = step(logits, state, constants)
    assert state.is_row_done
    result = finish(state, constants, special)
    assert result.target.tolist() == [[[4, 2], [4, 4]]]
    torch.testing.assert_close(result.scores, torch.tensor([[0.27, 0.33]]).log())


def test_search_stops_as_soon_as_nothing_can_win(special, begin, step):
    """With a penalty of 1 and at most 4 tokens, a live sum is divided by 9/6 at most."""
    constants, state = begin([4], 3, 1, 6)
    # Ended: log 0.5 / (6/6) = -0.69. Live: log 0.35 / (9/6) = -0.70 at best, so it can't win.
    log_p = torch.tensor([0.0, 0.0, 0.5, 0.05, 0.1, 0.35]).log().expand(1, 3, 6)
    assert bool(step(log_p, state, constants).is_row_done)
    # Live: log 0.36 / (9/6) = -0.68 could.
    log_p = torch.tensor([0.0, 0.0, 0.5, 0.04, 0.1, 0.36]).log().expand(1, 3, 6)
    assert not bool(step(log_p, state, constants).is_row_done)


def test_of_equal_scores_the_lower_beam_wins(special, begin, step):
    constants, state = begin([9], 3, 1, 8, length_penalty=0.0)
    state = state._replace(live_scores=torch.zeros(1, 3))
    logits = torch.full((1, 3, 8), -50.0)
    logits[0, [0, 1, 2], [7, 5, 4]] = 0.0  # each beam is sure of another token
    state = step(logits, state, constants)
    own = torch.eye(3).log()  # each grew from the beam in its own place
    assert torch.equal(state.ancestry, own)
    assert state.tokens.tolist() == [[7, 5, 4]]


def test_steps_after_the_end_change_nothing(special, begin, step):
    torch.manual_seed(0)
    constants, state = begin([3, 5], 3, 2, 9, length_penalty=0.6)
    while not state.is_row_done.all():
        state = step(3 * torch.randn(2, 3, 9), state, constants)
    before = finish(state, constants, special)
    for _ in range(3):
        state = step(3 * torch.randn(2, 3, 9), state, constants)
    after = finish(state, constants, special)
    width = before.target.shape[2]
    assert torch.equal(after.target[:, :, :width], before.target)
    assert torch.equal(after.scores, before.scores)
    assert torch.equal(after.lengths, before.lengths)


def test_improbable_early_ends_do_not_stop_the_search(special, begin, step):
    """Two beams, two poor ends on the way; the sure hypothesis of three words still wins."""
    constants, state = begin([9], 2, 1, 6)
    word = torch.tensor([0.0, 0.0, 0.05, 0.01, 0.02, 0.92]).log().expand(1, 2, 6)
    end = torch.tensor([0.0, 0.0, 0.97, 0.01, 0.01, 0.01]).log().expand(1, 2, 6)
    for logits in (word, word, word, end):
        assert not bool(state.is_row_done)
        state = step(logits, state, constants)
    assert finish(state, constants, special).target.tolist() == [[[5, 5, 5, 2]]]


@pytest.mark.parametrize("num_beams", [2, 3])
@pytest.mark.parametrize("patience", [1.0, 1.5, 2.0])
def test_patience_stops_the_search_after_so_many_ended_hypotheses(begin, step, patience, num_beams):
    constants, state = begin([30], num_beams, 1, 6, patience=patience)
    endless_constants, endless = begin([30], num_beams, 1, 6)
    # A sure word; ends that are improbable, and yet the second best of each step.
    logits = torch.tensor([0.0, 0.0, 0.05, 0.01, 0.02, 0.92]).log().expand(1, num_beams, 6)
    num_ended = 0
    while not state.is_row_done:
        ends = state.live_scores + logits[:, :, EOS]
        state = step(logits, state, constants)
        endless = step(logits, endless, endless_constants)
        num_ended += int(((ends >= state.live_scores[:, -1:]) & ends.isfinite()).sum())
        assert bool(state.is_row_done) == (num_ended >= patience * num_beams)
        assert torch.equal(state.finished_scores, endless.finished_scores)
    assert not endless.is_row_done


@pytest.mark.parametrize("end", [0.3, 0.6])
def test_patience_gives_up_what_a_fifth_of_its_score_would_not_let_win(begin, step, end):
    constants, state = begin([60], 2, 1, 6, patience=100.0)
    endless_constants, endless = begin([60], 2, 1, 6)
    probabilities = torch.tensor([0.0, 0.0, 0.0, 0.02, 0.03, 0.95 - end])
    probabilities[EOS] = end
    logits = probabilities.log().expand(1, 2, 6)
    num_steps = 0
    while not endless.is_row_done:
        endless = step(logits, endless, endless_constants)
        if not state.is_row_done:
            state = step(logits, state, constants)
            num_steps += 1
            least = float(state.live_scores[0, 0]) * 6 / (5 + num_steps) / 1.2
            assert bool(state.is_row_done) == (least <= float(state.finished_scores[0, 0]))
    assert num_steps < int(endless.num_steps)
    assert torch.equal(state.finished_scores, endless.finished_scores)


def test_a_sentence_alone_is_searched_for_as_among_others(begin, step, special):
    generator = torch.Generator().manual_seed(0)
    constants, state = begin([9], 3, 2, 7, patience=2.0)
    alone = state
    while not state.is_row_done:
        logits = torch.randn(1, 3, 7, generator=generator)
        state = step(logits, state, constants)
        extended = beam.extend_ancestry(alone, constants)
        alone = beam.step(logits, extended, constants, special, is_alone=True)
        for found, expected in zip(alone, state, strict=True):
            assert torch.equal(found, expected)
