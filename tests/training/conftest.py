from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from transformer.model.config import ModelConfig
from transformer.pretraining.in_memory_dataset import Example, InMemoryDataset
from transformer.text.ids import Ids, IdsMeta
from transformer.text.special_tokens import SpecialIds
from transformer.training.config import TrainConfig

VOCAB_SIZE = 20
SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)


def dataset(sources: list[list[int]], targets: list[list[int]]) -> InMemoryDataset:
    """Pairs in memory, in the place of those that are mapped from disk."""
    pairs = zip(sources, targets, strict=True)
    return InMemoryDataset(Example(np.array(source), np.array(target)) for source, target in pairs)


def copies(num_pairs: int, seed: int, longest: int = 7) -> InMemoryDataset:
    """Random sentences of 1..longest tokens whose target is the source."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, longest + 1, num_pairs)
    sentences = [[*generator.integers(4, VOCAB_SIZE, n).tolist(), 3] for n in lengths]
    return dataset(sentences, sentences)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small lose time to a second thread, a lot where other processes want it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_copy_ids() -> Ids:
    """A corpus on which a model learns to copy."""
    meta = IdsMeta(VOCAB_SIZE, VOCAB_SIZE, SPECIAL, SPECIAL, True, "<u2", 16, "abc", {}, {})
    return Ids(copies(400, seed=1), copies(40, seed=2), meta)


@pytest.fixture(scope="session")
def copy_ids() -> Ids:
    return make_copy_ids()


@pytest.fixture(scope="session")
def model_config() -> ModelConfig:
    return ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=1,
        d_model=32,
        num_heads=2,
        d_ff=64,
        dropout=0.1,
        attention_dropout=0.0,
        norm="pre",
        norm_epsilon=1e-5,
        layer_norm_variant="standard",
        position_encoding="sinusoidal",
        max_positions=32,
        activation="relu",
        scale_embeddings=True,
        tie_embeddings="all",
        output_bias=False,
        embedding_dropout=None,
        initial_weights="xavier",
    )


@pytest.fixture(scope="session")
def train_config() -> Callable[..., TrainConfig]:
    """A small config; keyword arguments replace fields."""

    def make(**changes: Any) -> TrainConfig:
        values: dict[str, Any] = {
            "initialize_from": None,
            "initial_embeddings": "random",
            "seed": 1,
            "device": "cpu",
            "precision": "float32",
            "num_processes": 1,
            "num_threads": None,
            "compile": False,
            "deterministic": False,
            "batch_tokens": 128,
            "batch_sentences": None,
            "gradient_accumulation": 1,
            "max_epochs": 100,
            "max_steps": 12,
            "learning_rate": 1e-3,
            "schedule": {"kind": "constant", "warmup_steps": 2},
            "optimizer": {
                "kind": "adamw",
                "beta1": 0.9,
                "beta2": 0.98,
                "epsilon": 1e-9,
                "weight_decay": 0.01,
            },
            "max_grad_norm": 1.0,
            "label_smoothing": 0.1,
            "r_drop": 0.0,
            "segmentation": None,
            "validate_every_steps": 4,
            "early_stopping_patience": None,
            "average_checkpoints": 1,
            "ema_decay": None,
            "accuracy_steps": None,
            "log_every_steps": 5,
            "save_every_seconds": 60.0,
        }
        return TrainConfig.model_validate(values | changes)

    return make
