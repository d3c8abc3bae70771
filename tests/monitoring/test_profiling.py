"""A profile tells where the time of a step goes, and nothing of it is lost."""

import gzip
import json
import re

import pytest

from transformer.monitoring.profiling import (
    NUM_TRACED,
    SUMMARY,
    TRACE,
    group_of,
    profile_training,
)
from transformer.monitoring.throughput import Meter
from transformer.training.distributed import Ranks
from transformer.training.trainer import Trainer


@pytest.fixture(scope="module")
def profiled(train_config, model_config, copy_ids, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile") / "new"
    trainer = Trainer(train_config(), model_config, copy_ids)
    meter = Meter(model_config, copy_ids, trainer.device, Ranks(), 1e10)
    text = profile_training(trainer, meter, folder, is_first=True)
    assert (folder / SUMMARY).read_text() == text
    return folder, text


def rows_of(text, title):
    table = text.split(f"| {title} |")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")[2:]]


def test_a_browser_can_open_the_trace_and_finds_each_step_in_it(profiled):
    folder, _ = profiled
    events = json.loads(gzip.decompress((folder / TRACE).read_bytes()))["traceEvents"]
    names = [event["name"] for event in events if event.get("ph") == "X"]
    assert names.count("Optimizer.step#AdamW.step") == NUM_TRACED
    assert names.count("aten::_scaled_dot_product_flash_attention_for_cpu") == 3 * NUM_TRACED


def test_the_groups_add_up_to_the_whole_step(profiled):
    _, text = profiled
    groups = rows_of(text, "group")
    traced = float(re.search(r"\((\d\.\d+) with the profiler on\)", text)[1])
    assert sum(float(row[1]) for row in groups) == pytest.approx(1000 * traced, rel=0.01, abs=0.1)
    shares = {row[0]: float(row[2].rstrip("%")) for row in groups}
    assert sum(shares.values()) == pytest.approx(100, abs=1)
    assert shares["other"] < 25
    assert {"matrix products", "attention", "optimizer", "normalization", "dropout"} <= set(shares)


def test_the_page_tells_speed_and_memory(profiled):
    _, text = profiled
    figures = dict(row for row in rows_of(text, "figure"))
    assert re.fullmatch(r"\d+\.\d% of the peak", figures["FLOP utilisation"])
    assert re.fullmatch(r"[\d,]+ MiB", figures["peak memory"])
    assert int(figures["real source + target tokens a second"].replace(",", "")) > 100


def test_another_rank_takes_the_same_steps_and_writes_nothing(
    profiled, train_config, model_config, copy_ids, tmp_path
):
    trainer = Trainer(train_config(), model_config, copy_ids)
    meter = Meter(model_config, copy_ids, trainer.device, Ranks())
    assert profile_training(trainer, meter, tmp_path / "none", is_first=False) == ""
    assert trainer.state.step == 35
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("aten::addmm", "matrix products"),
        ("aten::mm", "matrix products"),
        ("aten::bmm", "matrix products"),
        ("aten::baddbmm", "matrix products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "attention"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "autograd's bookkeeping"),
        ("AddmmBackward0", "autograd's bookkeeping"),
        ("torch::autograd::AccumulateGrad", "autograd's bookkeeping"),
        ("aten::_fused_adamw_", "optimizer"),
        ("gloo:all_reduce", "exchange between ranks"),
        ("nccl:all_reduce", "exchange between ranks"),
        ("_LinearCrossEntropy", "softmax and loss"),
        ("aten::native_layer_norm_backward", "normalization"),
        ("aten::embedding_dense_backward", "embedding"),
        ("aten::transpose", "views"),
        ("aten::copy_", "copies and memory"),
        ("aten::mul_", "elementwise"),
        ("aten::threshold_backward", "elementwise"),
        ("aten::unheard_of", "other"),
    ],
)
def test_operators_are_grouped_by_kind(name, group):
    assert group_of(name) == group
