"""How a training loop is measured: the parent sets its pace.

Workers run in environments of their own, so this module imports the standard library alone.

Beside what every worker tells, the greeting has the "precision" of its products by PyTorch's name.
A worker answers {"kind": "measure", "seconds"} once at least so many seconds of whole steps are
done, with
- "seconds": what they took, data and optimizer included;
- "num_steps", "num_slots": steps, and positions of their padded batches, both sides together;
- "pairs": [source tokens, target tokens, how many such pairs] for each pair of lengths that was
  trained on; each length counts one end token.
"peak_bytes" are of the GPU's memory where it trains on one.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.harness.protocol import Channel


class Pace:
    """Stands between two steps of a training loop.

    Args:
        channel: to the parent.
        greeting: version of the engine, precision of its products.
        synchronize: returns when the device has done what it was told.
    """

    def __init__(
        self,
        channel: Channel,
        greeting: dict[str, Any],
        synchronize: Callable[[], None] = lambda: None,
    ) -> None:
        self._channel, self._greeting, self._synchronize = channel, greeting, synchronize
        self._wanted: float | None = None  # None: before the first request
        self._next: tuple[Counter[tuple[int, int]], int] = Counter(), 0

    def before_step(self, pairs: Iterable[tuple[int, int]], num_slots: int) -> None:
        """To be called before each step, with what it will train on; may wait for long.

        Args:
            pairs: source and target length of each sentence, one end token counted on each side.
            num_slots: positions of both padded matrices.

        Raises:
            SystemExit: the parent has no more requests.
        """
        if self._wanted is None:
            self._channel.greet(self._greeting)
            self._wait()
        else:
            self._num_steps += 1
            self._pairs += self._next[0]
            self._num_slots += self._next[1]
            if self._channel.clock() - self._begin >= self._wanted:
                self._report()
                self._wait()
        self._next = Counter(pairs), num_slots

    def _wait(self) -> None:
        request = self._channel.receive()
        if request is None:
            raise SystemExit
        self._wanted = float(request["seconds"])
        self._num_steps, self._num_slots = 0, 0
        self._pairs: Counter[tuple[int, int]] = Counter()
        self._begin = self._channel.clock()

    def _report(self) -> None:
        self._synchronize()
        self._channel.answer(
            {
                "seconds": self._channel.clock() - self._begin,
                "num_steps": self._num_steps,
                "num_slots": self._num_slots,
                "pairs": [[*pair, count] for pair, count in sorted(self._pairs.items())],
            }
        )


# Takes the engine's version, the precision of its products, and the device, cpu or cuda.
MakePace = Callable[[str, str, str], Pace]


def serve_training(train: Callable[[MakePace], None]) -> None:
    """Runs a training whose loop calls `Pace.before_step`; its failure is the last answer."""
    channel = Channel.open()

    def make_pace(version: str, precision: str, device: str) -> Pace:
        greeting = {"version": version, "precision": precision}
        if device != "cuda":
            return Pace(channel, greeting)
        import torch  # all that train on a GPU have it

        channel.measure_peak = torch.cuda.max_memory_allocated
        return Pace(channel, greeting, torch.cuda.synchronize)

    try:
        train(make_pace)
        channel.fail("its training ended by itself")
    except Exception as error:  # whatever it is, the table tells it
        channel.fail(error)
