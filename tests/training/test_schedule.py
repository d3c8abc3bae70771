import pytest

from transformer.training.schedule import check_warmup, learning_rate

STEPS = [1, 2, 9, 10, 11, 50, 100]


def rates(config, num_steps=100):
    return [learning_rate(config, 64, num_steps, step) for step in STEPS]


def test_noam_is_the_formula_of_2017(train_config):
    schedule = {"kind": "noam", "warmup_steps": 10}
    config = train_config(learning_rate=2.0, schedule=schedule, max_steps=100)
    expected = [2.0 * 64**-0.5 * min(s**-0.5, s * 10**-1.5) for s in STEPS]
    assert rates(config) == pytest.approx(expected)


def test_inverse_sqrt_rises_to_its_peak_then_falls_to_its_minimum(train_config):
    schedule = {"kind": "inverse_sqrt", "warmup_steps": 10, "minimum": 4e-4}
    config = train_config(schedule=schedule, max_steps=100)
    expected = [1e-3 * s / 10 if s <= 10 else max(4e-4, 1e-3 * (10 / s) ** 0.5) for s in STEPS]
    assert rates(config) == pytest.approx(expected)
    assert rates(config)[-1] == 4e-4


@pytest.mark.parametrize("warmup", [0, 1, 10])
def test_linear_rises_to_its_peak_then_falls_to_zero_after_the_last_step(train_config, warmup):
    schedule = {"kind": "linear", "warmup_steps": warmup}
    config = train_config(schedule=schedule, max_steps=100)
    peak = max(warmup, 1)
    expected = [1e-3 * s / peak if s <= peak else 1e-3 * (101 - s) / (101 - peak) for s in STEPS]
    assert rates(config) == pytest.approx(expected)
    assert learning_rate(config, 64, 100, 101) == 0


def test_constant_rises_then_stays(train_config):
    config = train_config(schedule={"kind": "constant", "warmup_steps": 10}, max_steps=100)
    assert rates(config) == pytest.approx([1e-4, 2e-4, 9e-4, 1e-3, 1e-3, 1e-3, 1e-3])


def test_a_warm_up_that_the_epochs_do_not_finish_is_refused(train_config):
    config = train_config(max_steps=None, schedule={"kind": "constant", "warmup_steps": 30})
    check_warmup(config, 31)
    with pytest.raises(ValueError, match=r"warmup_steps = 30.* 30 optimizer steps"):
        check_warmup(config, 30)
