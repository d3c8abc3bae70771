"""One measurement of a training."""

from types import SimpleNamespace

from benchmarks.training.run import measure_once
from transformer.monitoring.flops import training_flops


class FakeWorker:
    """Answers like a worker."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def ask(self, kind, **values):
        self.log.append((self.name, kind, values.get("seconds")))
        pairs = [[3, 4, 2], [7, 5, 1]]
        answer = {"seconds": 2.0, "num_steps": 1, "num_slots": 30, "pairs": pairs}
        return answer | {"cpu_seconds": 0.5, "flops_per_second": 5e9}


def test_the_peak_and_a_step_come_before_the_measurement(model_maker):
    log, model = [], model_maker(0).config
    subject = SimpleNamespace(model=model, vocab_size=9)
    found = measure_once(FakeWorker(log, "a"), FakeWorker(log, "peak"), subject, 8.0)
    assert log == [("peak", "peak", None), ("a", "measure", 0), ("a", "measure", 8.0)]
    assert (found["source_tokens"], found["target_tokens"], found["num_tokens"]) == (13, 13, 26)
    assert found["flops"] == training_flops(model, 9, [3, 3, 7], [4, 4, 5])
    assert (found["peak_flops"], found["cpu_seconds"]) == (5e9, 1.5)
