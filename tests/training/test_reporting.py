import math

from transformer.training.reporting import TrainRow, ValidRow, valid_row, write_curve


def test_a_validation_row_is_per_token():
    row = valid_row(7, negative_log_likelihood=6.0, num_correct=1, count=4)
    assert row == ValidRow(7, 1.5, math.exp(1.5), 0.25)


def test_a_hopeless_model_has_a_finite_perplexity():
    assert math.isfinite(valid_row(1, 1e6, 0, 1).perplexity)


def test_a_curve_has_a_header_and_no_timings(tmp_path):
    write_curve(tmp_path / "curve.csv", TrainRow, [TrainRow(5, 1 / 3, 0.001, 2.0)])
    assert (tmp_path / "curve.csv").read_bytes() == (
        b"step,train_loss,learning_rate,gradient_norm\n5,0.333333333,0.001,2\n"
    )
