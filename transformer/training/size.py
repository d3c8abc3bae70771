"""How large a model is, told before it is made."""

from transformer.model.config import ModelConfig

# A parameter, its gradient and Adam's two moments, float32 each.
TRAINING_BYTES = 4 * 4
_TABLE_BYTES = 4


def count_parameters(config: ModelConfig, source_vocab_size: int, target_vocab_size: int) -> int:
    """How many values a `Transformer` of this shape trains; shared ones count once."""
    width = config.d_model
    norm = 0 if config.norm == "none" else 2 * width
    attention = 4 * width * (width + 1)
    feed_forward = 2 * width * config.d_ff + config.d_ff + width
    encoder = config.num_encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    last_norms = 2 * norm if config.norm == "pre" else 0
    is_tied = config.tie_embeddings != "none"
    tables = width * (0 if config.tie_embeddings == "all" else source_vocab_size)
    tables += width * target_vocab_size
    tables += 0 if is_tied else width * target_vocab_size
    tables += target_vocab_size if config.output_bias else 0
    positions = 2 * width * config.max_positions if config.position_encoding == "learned" else 0
    return encoder + decoder + last_norms + tables + positions


def check_memory(
    config: ModelConfig, source_vocab_size: int, target_vocab_size: int, available: int | None
) -> None:
    """Refuses a model whose weights, gradients and optimizer alone don't fit into memory.

    Args:
        config: its shape.
        source_vocab_size: the most entries that it may have.
        target_vocab_size: likewise.
        available: in bytes, of whoever trains it; None: unknown.

    Raises:
        ValueError: they don't; the message tells how large it would be.
    """
    num_parameters = count_parameters(config, source_vocab_size, target_vocab_size)
    needed = TRAINING_BYTES * num_parameters
    if config.position_encoding.startswith("sinusoidal"):
        needed += 2 * _TABLE_BYTES * config.d_model * config.max_positions
    if available is not None and needed > available:
        raise ValueError(
            f"the model takes {needed / 1e9:,.1f} GB to train, and {available / 1e9:,.1f} GB are "
            f"here: {num_parameters:,} parameters with gradients and optimizer; lower "
            "num_encoder_layers, num_decoder_layers, d_model, d_ff or max_positions, or the sizes "
            "in `vocab`"
        )
