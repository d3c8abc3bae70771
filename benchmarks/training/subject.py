"""The corpus and the model that all contenders train, written where their workers find them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.machine import describe_model
from benchmarks.training.work import NEVER, PARAMS, SOURCE, TARGET, TrainingWork
from pipeline.params import load_sections
from pipeline.recipes import make_params
from transformer.files import atomic_folder
from transformer.model.config import ModelConfig
from transformer.text.ids import Ids, IdsMeta, SplitCounts, hash_files, load_ids
from transformer.text.special_tokens import SpecialIds
from transformer.training.config import TrainConfig

# Layers of each stack, d_model, d_ff, heads. base and big are those of 2017, tiny is for tests.
SHAPES = {
    "tiny": (1, 32, 64, 2),
    "small": (3, 256, 1024, 4),
    "base": (6, 512, 2048, 8),
    "big": (6, 1024, 4096, 16),
}
# Lengths in 32,000 joint BPE pieces of the WMT news test sets, German to English: the logarithm of
# the source's is about normal, and so is that of target over source.
LOG_SOURCE, LOG_RATIO = (3.15, 0.58), (-0.05, 0.17)
LONGEST = 128
# Synthetic ids that are drawn at once.
CHUNK_TOKENS = 1 << 20


@dataclass(frozen=True)
class TrainingSubject:
    """The ids and both sections."""

    ids: Ids
    model: ModelConfig
    config: TrainConfig
    work: TrainingWork

    @property
    def vocab_size(self) -> int:
        """Of the target."""
        return self.ids.meta.target_vocab_size


def prepare(
    folder: Path,
    ids_folder: Path,
    shape: str,
    batch_tokens: int,
    device: str,
    num_threads: int,
) -> TrainingSubject:
    """Writes params, the peers' text and the work into `folder`.

    Args:
        folder: a temporary one.
        ids_folder: as the stage `tokenize` writes it.
        shape: one of `SHAPES`.
        batch_tokens: sentences x longest side of a batch.
        device: cpu or cuda.
        num_threads: of each worker.

    Raises:
        ValueError: there are no ids, or both sides have vocabularies of their own.
    """
    ids = load_ids(ids_folder)
    if not ids.meta.joint:
        raise ValueError(f"{ids_folder}: the benchmark needs one joint vocabulary (vocab.joint)")
    layers, d_model, d_ff, num_heads = SHAPES[shape]
    longest = max(
        int(lengths.max())
        for split in (ids.train, ids.valid)
        for lengths in (split.source_lengths, split.target_lengths)
    )
    changes = {
        "model.num_encoder_layers": layers,
        "model.num_decoder_layers": layers,
        "model.d_model": d_model,
        "model.d_ff": d_ff,
        "model.num_heads": num_heads,
        "model.dropout": 0.1,
        "model.max_positions": max(longest, LONGEST),
        "train.device": device,
        "train.num_threads": num_threads,
        "train.batch_tokens": batch_tokens,
        "train.learning_rate": 0.001,
        "train.max_epochs": NEVER,
        "train.validate_every_steps": NEVER,
        "train.log_every_steps": 50,
        "train.save_every_seconds": NEVER,
    }
    write_params(folder, changes)
    model, config = load_configs(folder)
    work = TrainingWork(
        folder=str(folder.resolve()),
        ids=str(ids_folder.resolve()),
        model=model.model_dump(),
        train=config.model_dump(),
        vocab_size=ids.meta.target_vocab_size,
        longest=longest,
        device=device,
        num_threads=num_threads,
    )
    work.save()
    return TrainingSubject(ids, model, config, work)


def write_params(folder: Path, changes: Mapping[str, Any]) -> None:
    """Writes the recipe `phrasebook` with changes, by dotted name."""
    text = make_params("phrasebook", [f"{key}={value}" for key, value in changes.items()])
    (folder / PARAMS).write_text(text, encoding="utf-8")


def load_configs(folder: Path) -> tuple[ModelConfig, TrainConfig]:
    """The sections `model` and `train` of the params in a folder."""
    sections = ("model", ModelConfig), ("train", TrainConfig)
    return load_sections(*sections, path=folder / PARAMS)


def write_text(subject: TrainingSubject) -> None:
    """The same sentences for peers that read text, one a line; end tokens are left to them.

    A token's name is its id, so that no engine can cut it otherwise.
    """
    folder = subject.work.text
    folder.mkdir(exist_ok=True)
    for name in ("train", "valid"):
        split = getattr(subject.ids, name)
        for side, read in ((SOURCE, split.source), (TARGET, split.target)):
            sentences = (read(index)[:-1].tolist() for index in range(len(split)))
            with (folder / f"{name}.{side}").open("w") as file:
                file.writelines(" ".join(f"t{id}" for id in ids) + "\n" for ids in sentences)


def write_synthetic_ids(folder: Path, vocab_size: int, num_pairs: int, seed: int = 1) -> None:
    """Random ids with the lengths of news text, where no corpus is at hand.

    Words are drawn one by one by Zipf's law with exponent 1: the r-th of n words, which has the
    r-th lowest id, with probability log(1 + 1 / r) / log(n + 1), about 1 / r. Special tokens are
    no words.

    Args:
        folder: a new one, in the form of the stage `tokenize`; it appears whole or not at all.
        vocab_size: of the joint vocabulary, the four special tokens included.
        num_pairs: of the training part; the validation part is a hundredth of it.
        seed: of lengths and ids.
    """
    generator = np.random.default_rng(seed)
    special = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    dtype: Literal["<u2", "<u4"] = "<u2" if vocab_size <= 1 << 16 else "<u4"
    counts = {}
    with atomic_folder(folder) as temporary:
        for name, size in (("train", num_pairs), ("valid", max(1, num_pairs // 100))):
            log_source = generator.normal(*LOG_SOURCE, size)
            log_target = log_source + generator.normal(*LOG_RATIO, size)
            sides: dict[str, Any] = {}
            for side, logs in (("source", log_source), ("target", log_target)):
                lengths = np.exp(logs).round().clip(2, LONGEST).astype(np.int64)
                offsets = np.concatenate([[0], np.cumsum(lengths)])
                offsets.astype("<i8").tofile(temporary / f"{name}.{side}.offsets.bin")
                path, num_tokens = temporary / f"{name}.{side}.bin", int(offsets[-1])
                ids = np.memmap(path, dtype, mode="w+", shape=(num_tokens,))
                for start in range(0, num_tokens, CHUNK_TOKENS):
                    part = ids[start : start + CHUNK_TOKENS]
                    part[:] = _draw_ranks(generator, vocab_size - 4, len(part)) + 3
                ids[offsets[1:] - 1] = special.eos_id
                ids.flush()
                sides |= {f"{side}_tokens": num_tokens, f"longest_{side}": int(lengths.max())}
            counts[name] = SplitCounts(pairs=size, dropped_too_long=0, **sides)
        sizes, hashes = (vocab_size, vocab_size), hash_files(temporary)
        IdsMeta(*sizes, special, special, True, dtype, LONGEST, "synthetic", counts, hashes).write(
            temporary
        )


def _draw_ranks(generator: np.random.Generator, num_words: int, size: int) -> NDArray[np.int64]:
    # From 1 to num_words: whole parts of what has an even logarithm. Rounding may reach the end.
    logs = generator.random(size, dtype=np.float32) * math.log(num_words + 1)
    ranks: NDArray[np.int64] = np.exp(logs).astype(np.int64).clip(max=num_words)
    return ranks


def describe(subject: TrainingSubject) -> str:
    """One paragraph: model, corpus, batches."""
    model, train = subject.model, subject.ids.train
    source, target = np.asarray(train.source_lengths), np.asarray(train.target_lengths)
    return (
        f"Model: {describe_model(model)}, dropout {model.dropout}, "
        f"{subject.vocab_size:,} joint pieces. Corpus: {len(source):,} pairs, "
        f"{source.mean():.1f} source and {target.mean():.1f} target tokens on average. Batches of "
        f"{subject.work.train['batch_tokens']:,} positions on the longer side, padding included."
    )
