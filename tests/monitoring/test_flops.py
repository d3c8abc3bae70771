"""The count of operations is held against PyTorch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from transformer.model.transformer import Transformer
from transformer.monitoring import flops
from transformer.monitoring.flops import measure_product_peak, training_flops
from transformer.training.variants import Variants, use_variants

VOCAB_SIZE = 20


@pytest.mark.parametrize("layers", [(1, 1), (3, 2)])
def test_the_count_is_pytorchs_own(model_config, layers):
    sizes = {"num_encoder_layers": layers[0], "num_decoder_layers": layers[1]}
    config = model_config.model_copy(update=sizes)
    model = Transformer(config, VOCAB_SIZE, VOCAB_SIZE)
    # In products, which PyTorch's counter can see into.
    use_variants(model, Variants(explicit_length=9), torch.float32)
    source, target = torch.randint(4, VOCAB_SIZE, (5, 9)), torch.randint(4, VOCAB_SIZE, (5, 7))
    with FlopCounterMode(display=False) as counter:
        model(source, None, target).sum().backward()
    assert training_flops(config, VOCAB_SIZE, [9] * 5, [7] * 5) == counter.get_total_flops()


def test_each_pair_counts_by_its_own_length(model_config):
    apart = [training_flops(model_config, VOCAB_SIZE, [s], [t]) for s, t in ((3, 8), (11, 2))]
    assert training_flops(model_config, VOCAB_SIZE, [3, 11], [8, 2]) == sum(apart)


def test_the_peak_is_near_what_a_product_of_that_size_takes(monkeypatch):
    monkeypatch.setattr(flops, "_PEAK_SIZE", {"cpu": 64})
    clock = iter(range(1000))
    monkeypatch.setattr(flops.time, "perf_counter", lambda: 0.5 * next(clock))
    assert measure_product_peak(torch.device("cpu"), torch.float32) == 2 * 64**3 / 0.5


def test_a_type_that_a_processor_is_slow_with_is_measured_on_a_smaller_product(monkeypatch):
    sizes = []

    def time_products(device, dtype, size, count):
        sizes.append(size)
        return [size**3 / 1e8] * count

    monkeypatch.setattr(flops, "_time_products", time_products)
    found = measure_product_peak(torch.device("cpu"), torch.bfloat16)
    assert found == pytest.approx(2e8)
    assert sizes == [256, 256]
    sizes.clear()
    monkeypatch.setattr(flops, "_ENOUGH_SECONDS", 1.0)
    assert measure_product_peak(torch.device("cpu"), torch.bfloat16) == pytest.approx(2e8)
    assert sizes == [256, 512, 512]
