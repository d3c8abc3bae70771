"""Time to quality: the clock stands still while weights are scored."""

import pytest

from benchmarks.time_to_quality.__main__ import judge_runs, write_report
from benchmarks.time_to_quality.training import Clock, QualityRun, Score


class Training:
    """One second a step; scoring takes a hundred seconds, and gives the next of some scores."""

    def __init__(self, scores, num_steps=40, max_seconds=1e9):
        self.now, self.scores, self.num_trained = 0.0, iter(scores), 0
        self.run = QualityRun("small", "ours", "a model", "some settings", 32.0)
        self.clock = Clock(self.run, num_steps, self._score, max_seconds, lambda: self.now)

    def _score(self, model):
        self.now += 100.0
        return next(self.scores)

    def train(self, model):
        while not self.clock.is_over(self.num_trained, model):
            self.now += 1.0
            self.num_trained += 1
        return self.run


@pytest.fixture
def model(model_maker):
    return model_maker(0)


def test_seconds_are_those_of_the_steps_alone(model):
    run = Training([10.0, 20.0, 32.5]).train(model)
    assert [(one.step, one.seconds) for one in run.scores] == [(20, 20.0), (22, 22.0), (24, 24.0)]
    assert run.reached == Score(24, 24.0, 32.5)


def test_it_ends_before_the_last_step_with_a_score(model):
    training = Training([1.0] * 11)
    assert training.train(model).reached is None
    assert training.num_trained == 39
    assert training.run.scores[-1].step == 39


def test_a_training_that_takes_too_long_is_given_up_with_a_score(model):
    run = Training([5.0], max_seconds=7.0).train(model)
    assert run.scores == [Score(7, 7.0, 5.0)]


def test_the_model_trains_on_after_a_score(model):
    training = Training([1.0] * 11)
    training.train(model)
    assert model.training


def test_the_page_tells_who_reached_the_score_when():
    runs = [
        QualityRun("small", "ours", "m", "s", 32.0, 9000.0, [Score(5, 60.0, 30), Score(9, 90, 33)]),
        QualityRun("small", "plain", "m", "s", 32.0, 4000.0, [Score(5, 200.0, 31.5)]),
    ]
    page = write_report(runs, 32.0, ["a note"])
    assert "| small | ours | m | s | 1.50 | 9 | 33.00 | 9,000 |" in page
    assert "| small | plain | m | s | – | – | 31.50 | 4,000 |" in page
    assert judge_runs(runs).is_met
    assert judge_runs(runs[1:]).is_met is None
