"""What the machine has."""

import os

import pytest

from transformer import machine


def test_cores_and_memory_are_the_systems() -> None:
    assert 1 <= machine.count_cores() <= (os.cpu_count() or 1)
    memory = machine.memory_bytes()
    assert memory is None or memory > 2**27


@pytest.mark.parametrize(
    ("limit", "expected"), [("max\n", None), ("1000000\n", 1_000_000), ("9" * 30, None)]
)
def test_a_containers_limit_counts(tmp_path, monkeypatch, limit, expected) -> None:
    unlimited = tmp_path / "none"
    monkeypatch.setattr(machine, "_CGROUPS", unlimited)
    physical = machine.memory_bytes()
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    assert machine.memory_bytes() == (expected or physical)
