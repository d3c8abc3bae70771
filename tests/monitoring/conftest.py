import pytest

from tests.training.conftest import copy_ids, model_config, one_thread, train_config
from transformer.monitoring.throughput import Speed
from transformer.training.reporting import TrainRow, ValidRow

__all__ = ["copy_ids", "model_config", "one_thread", "train_config"]


class Speeds:
    """A reporter that keeps the first step and the speeds that it hears of."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.heard: list[tuple[int, Speed]] = []

    def on_start(self, num_steps: int, num_parameters: int, step: int) -> None:
        self.start = step

    def on_log(self, row: TrainRow, speed: Speed) -> None:
        self.heard.append((row.step, speed))

    def on_validation(self, row: ValidRow) -> None:
        pass

    def on_end(self) -> None:
        pass


@pytest.fixture
def speeds() -> Speeds:
    return Speeds()
