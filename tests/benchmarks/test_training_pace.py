"""Between two steps of a loop: what is counted, when it is told, when the loop ends."""

import io
import json

import pytest

from benchmarks.training_pace import Pace


class Loop:
    """Three seconds a step, by a clock that only steps move."""

    def __init__(self, *requests):
        self.now, self.num_synchronised = 0.0, 0
        self.out = io.StringIO()
        requests = "".join(json.dumps({"kind": "measure", "seconds": s}) + "\n" for s in requests)
        self.pace = Pace(
            "9.1", -2.0, self.out, io.StringIO(requests), self._synchronise, lambda: self.now
        )

    def _synchronise(self):
        self.num_synchronised += 1

    def _steps(self):
        for step in range(1000):
            self.pace.before_step([(4, step), (4, step)], 10)
            self.now += 3.0

    def run(self):
        with pytest.raises(SystemExit):
            self._steps()
        return [json.loads(line) for line in self.out.getvalue().splitlines()]


def test_the_greeting_comes_before_the_first_step():
    greeting, *answers = Loop().run()
    assert greeting == {"load_seconds": 2.0, "version": "9.1"}
    assert not answers


def test_a_measurement_holds_whole_steps_for_at_least_the_time_asked():
    _, answer = Loop(7.0).run()
    assert (answer["seconds"], answer["num_steps"], answer["slots"]) == (9.0, 3, 30)
    assert answer["pairs"] == [[4, 0, 2], [4, 1, 2], [4, 2, 2]]


def test_no_seconds_are_one_step():
    _, first, second = Loop(0, 0).run()
    assert (first["num_steps"], second["num_steps"]) == (1, 1)
    assert (first["pairs"], second["pairs"]) == ([[4, 0, 2]], [[4, 1, 2]])


def test_the_device_is_waited_for_once_a_measurement():
    loop = Loop(7.0, 7.0)
    loop.run()
    assert loop.num_synchronised == 2
