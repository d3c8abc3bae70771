"""What searches are tested on: padded batches."""

import pytest
import torch

PAD = 0  # as in the fixture `special`


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Models this small only lose by threads, the more so beside other test processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_batch(rows, pad=PAD):
    """Lists of ids -> padded ids [B, S] and mask [B, S]."""
    width = max(1, *(len(row) for row in rows))
    source = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    mask = torch.tensor([[True] * len(row) + [False] * (width - len(row)) for row in rows])
    return source, mask


@pytest.fixture(scope="session")
def batch_maker():
    return make_batch
