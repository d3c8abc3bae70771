"""Joey NMT's own training loop, at our pace.

python -m benchmarks.training.joeynmt WORK, in the environment of the peers.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.training.pace import MakePace, serve_training
from benchmarks.training.work import NEVER, SOURCE, TARGET, TrainingWork, token_names

SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")


def configure(work: TrainingWork) -> dict[str, Any]:
    """Joey NMT's configuration for the work."""
    model, train, optimizer = work.model, work.train, work.train["optimizer"]
    side = {"max_length": work.longest, "level": "word", "voc_file": str(_vocabulary(work))}
    stack = {
        "type": "transformer",
        "num_heads": model["num_heads"],
        "embeddings": {"embedding_dim": model["d_model"], "scale": True, "dropout": 0.0},
        "hidden_size": model["d_model"],
        "ff_size": model["d_ff"],
        "dropout": model["dropout"],
        "layer_norm": model["norm"],
        "activation": model["activation"],
    }
    return {
        "name": "benchmark",
        "model_dir": str(Path(work.folder) / "joeynmt"),
        "use_cuda": work.device == "cuda",
        "fp16": work.device == "cuda",  # it has no bfloat16
        "random_seed": 1,
        "data": {
            "train": str(work.text / "train"),
            "dev": str(work.text / "valid"),
            "dataset_type": "plain",
            "src": side | {"lang": SOURCE},
            "trg": side | {"lang": TARGET},
        },
        "testing": {"beam_size": 1},
        "training": {
            "optimizer": "adamw",
            "adam_betas": [optimizer["beta1"], optimizer["beta2"]],
            "weight_decay": optimizer["weight_decay"],
            "learning_rate": train["learning_rate"],
            "learning_rate_min": 0.0,
            "scheduling": "noam",
            "label_smoothing": train["label_smoothing"],
            "clip_grad_norm": train["max_grad_norm"],
            "normalization": "tokens",
            "batch_type": "token",
            "batch_size": train["batch_tokens"],
            "epochs": NEVER,
            "validation_freq": NEVER,
            "logging_freq": NEVER,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack | {"num_layers": model["num_encoder_layers"]},
            "decoder": stack | {"num_layers": model["num_decoder_layers"]},
        },
    }


def train(work: TrainingWork, make_pace: MakePace) -> None:
    """Runs its training, with the pace kept before each of its steps."""
    import importlib.metadata

    import torch
    from joeynmt.training import TrainManager
    from joeynmt.training import train as train_joeynmt

    torch.set_num_threads(work.num_threads)
    _vocabulary(work).write_text("\n".join([*SPECIAL, *token_names(work.vocab_size, 4)]) + "\n")
    (Path(work.folder) / "joeynmt").mkdir(exist_ok=True)
    precision = "float16" if work.device == "cuda" else "float32"
    pace = make_pace(importlib.metadata.version("joeynmt"), precision, work.device)
    train_step = TrainManager._train_step

    def paced_step(manager: Any, batch: Any) -> Any:
        source = (batch.src != manager.model.pad_index).sum(1).tolist()
        target = batch.trg_mask.squeeze(1).sum(1).tolist()
        slots = batch.src.numel() + batch.trg_input.numel()
        pace.before_step(zip(source, target, strict=True), slots)
        return train_step(manager, batch)

    TrainManager._train_step = paced_step
    train_joeynmt(rank=0, world_size=None, cfg=configure(work), skip_test=True)


def _vocabulary(work: TrainingWork) -> Path:
    return work.text / "vocabulary.joeynmt"


if __name__ == "__main__":
    task = TrainingWork.load(Path(sys.argv[1]))
    serve_training(lambda make_pace: train(task, make_pace))
