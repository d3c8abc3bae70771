"""The two terms of model FLOP utilisation: what a step needs, what the device can do.

Chowdhery et al. 2022 (arXiv:2204.02311, appendix B): only what the model's own definition asks for
counts, so padding, recomputation and everything that is no matrix product count as nothing.
"""

import time
from statistics import median

import numpy as np
import torch
from numpy.typing import ArrayLike

from transformer.model.config import ModelConfig

# Large enough for every known device to reach its best, small enough to be over at once.
_PEAK_SIZE = {"cpu": 2048, "cuda": 8192}
# A processor without instructions for a type, bfloat16 say, takes a minute for so large a product:
# a smaller one that takes so long tells as much.
_LEAST_SIZE = 256
_ENOUGH_SECONDS = 0.1


def training_flops(
    config: ModelConfig,
    target_vocab_size: int,
    source_lengths: ArrayLike,
    target_lengths: ArrayLike,
) -> float:
    """Floating-point operations of forward and backward pass over some pairs, without padding.

    A multiplication with its addition counts as two; the backward pass as twice the forward pass.
    Causal attention counts in full, as is usual.

    Args:
        config: of the model.
        target_vocab_size: entries of the output projection.
        source_lengths: tokens of each source with its end token, [number of pairs].
        target_lengths: likewise.
    """
    source = np.asarray(source_lengths, dtype=np.float64)
    target = np.asarray(target_lengths, dtype=np.float64)
    square, feed_forward = config.d_model**2, 2 * config.d_model * config.d_ff
    encoder, decoder = config.num_encoder_layers, config.num_decoder_layers
    # Weights that each token meets. The memory's keys and values are made of source tokens.
    source_weights = encoder * (4 * square + feed_forward) + decoder * 2 * square
    target_weights = decoder * (6 * square + feed_forward) + target_vocab_size * config.d_model
    # Query with key, weight with value: d_model multiplications each.
    scores = encoder * source**2 + decoder * (target**2 + target * source)
    forward = source * source_weights + target * target_weights + 2 * config.d_model * scores
    return float(3 * 2 * forward.sum())


def measure_product_peak(device: torch.device, dtype: torch.dtype, repeats: int = 9) -> float:
    """FLOP/s of a large square matrix product here and now: the median of `repeats`.

    It takes about a second on a CPU, on all threads that PyTorch has. Where a smaller product
    takes a tenth of a second, that is measured.
    """
    largest = _PEAK_SIZE.get(device.type, _PEAK_SIZE["cpu"])
    size = min(_LEAST_SIZE, largest)
    while size < largest:
        one, another = _time_products(device, dtype, size, 2)  # the first wakes threads
        if min(one, another) > _ENOUGH_SECONDS:
            break
        size *= 2
    seconds = _time_products(device, dtype, size, repeats + 2)
    return 2 * size**3 / median(seconds[2:])


def _time_products(device: torch.device, dtype: torch.dtype, size: int, count: int) -> list[float]:
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    product = torch.empty(size, size, device=device, dtype=dtype)
    seconds = []
    for _ in range(count):  # the first ones choose kernels
        _wait(device)
        started = time.perf_counter()
        torch.mm(left, right, out=product)
        _wait(device)
        seconds.append(time.perf_counter() - started)
    return seconds


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
