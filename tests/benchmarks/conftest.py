"""Small models with sharp distributions, and measurements without a machine."""

from functools import partial

import pytest
import torch

from benchmarks.harness.rounds import Measurement, Variant
from transformer.text.special_tokens import SpecialIds


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def special():
    return SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)


@pytest.fixture(scope="session")
def make_model(model_maker):
    shape = {"num_encoder_layers": 2, "num_decoder_layers": 1, "max_positions": 24}
    return partial(model_maker, with_biases=True, **shape)


@pytest.fixture(scope="session")
def measured():
    """Measurements of a contender: its speeds round by round, batch 1, greedy by default."""

    def make(contender, speeds, threads=1, cell=(1, 1), **more):
        variant = Variant(contender, threads)
        return [
            Measurement(
                variant,
                cell,
                index,
                0.0,
                {"seconds": 2.0, "num_tokens": int(2 * speed), "peak_bytes": 64 << 20} | more,
            )
            for index, speed in enumerate(speeds)
        ]

    return make
