"""Between two steps of a loop: what is counted, when it is told, when the loop ends."""

import io
import json

import pytest
import torch

from benchmarks.harness.protocol import Channel
from benchmarks.training.pace import Pace, serve_training


class Loop:
    """Three seconds a step, by a clock that only steps move."""

    def __init__(self, *requests):
        self.now, self.num_synchronized = 0.0, 0
        self.out = io.StringIO()
        requests = "".join(json.dumps({"kind": "measure", "seconds": s}) + "\n" for s in requests)
        channel = Channel(self.out, io.StringIO(requests), lambda: self.now)
        channel.measure_peak = lambda: int(self.now) << 20
        self.now = 2.0
        greeting = {"version": "9.1", "precision": "float32"}
        self.pace = Pace(channel, greeting, self._synchronize)

    def _synchronize(self):
        self.num_synchronized += 1

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
    assert greeting == {"load_seconds": 2.0, "version": "9.1", "precision": "float32"}
    assert not answers


def test_a_measurement_holds_whole_steps_for_at_least_the_time_asked():
    _, answer = Loop(7.0).run()
    assert (answer["seconds"], answer["num_steps"], answer["num_slots"]) == (9.0, 3, 30)
    assert answer["pairs"] == [[4, 0, 2], [4, 1, 2], [4, 2, 2]]


def test_no_seconds_are_one_step():
    _, first, second = Loop(0, 0).run()
    assert (first["num_steps"], second["num_steps"]) == (1, 1)
    assert (first["pairs"], second["pairs"]) == ([[4, 0, 2]], [[4, 1, 2]])


def test_the_memory_told_is_what_the_device_used_at_most():
    _, first, second = Loop(0, 0).run()
    assert (first["peak_bytes"], second["peak_bytes"]) == (5 << 20, 8 << 20)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_gpu_is_waited_for_and_its_own_memory_told(monkeypatch, device):
    waits, out = [], io.StringIO()
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waits.append(1))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 7)
    asked = io.StringIO('{"seconds": 0}\n')
    monkeypatch.setattr(Channel, "open", lambda: Channel(out, asked))

    def train(make_pace):
        pace = make_pace("9.1", "bfloat16", device)
        for _ in range(2):
            pace.before_step([(3, 4)], 8)

    with pytest.raises(SystemExit):
        serve_training(train)
    greeting, answer = [json.loads(line) for line in out.getvalue().splitlines()]
    assert greeting["precision"] == "bfloat16"
    assert (answer["peak_bytes"] == 7) is (device == "cuda")
    assert len(waits) == (device == "cuda")


def test_the_device_is_waited_for_once_a_measurement():
    loop = Loop(7.0, 7.0)
    loop.run()
    assert loop.num_synchronized == 2
