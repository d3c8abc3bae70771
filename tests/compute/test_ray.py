"""The seam on Ray: a loop's results, whatever dies on the way."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.compute.workers import die, die_once, double, double_slowly, refuse
from transformer.compute.shards import map_shards

pytestmark = pytest.mark.slow
NUMBERS = list(range(8))


@pytest.fixture(autouse=True)
def on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPUTE_ENGINE", "ray")


def test_results_are_those_of_a_loop_in_its_order(cluster: Any) -> None:
    assert list(map_shards(double, NUMBERS)) == list(map(double, NUMBERS))
    assert list(map_shards(double, [])) == []


def test_a_killed_worker_costs_no_result(cluster: Any, tmp_path: Path) -> None:
    function = partial(die_once, tmp_path / "killed", double)
    assert list(map_shards(function, NUMBERS)) == list(map(double, NUMBERS))
    assert (tmp_path / "killed").exists()


def test_a_killed_node_costs_no_result(cluster: Any) -> None:
    other = next(iter(cluster.worker_nodes))
    results = map_shards(double_slowly, NUMBERS)
    first = next(results)
    cluster.remove_node(other, allow_graceful=False)
    assert [first, *results] == list(map(double, NUMBERS))
    cluster.add_node(num_cpus=1)


def test_an_error_names_the_shard(cluster: Any) -> None:
    with pytest.raises(ValueError, match=r"^3: line 7: no source$"):
        list(map_shards(partial(refuse, ValueError), NUMBERS))
    with pytest.raises(OSError, match="line 7") as caught:
        list(map_shards(partial(refuse, OSError), NUMBERS))
    assert caught.value.__notes__ == ["in shard 3"]


def test_a_shard_that_kills_its_workers_is_given_up(cluster: Any) -> None:
    with pytest.raises(ValueError, match=r"^3: .*killed 3 times .*COMPUTE_WORKERS lower"):
        list(map_shards(die, NUMBERS))
