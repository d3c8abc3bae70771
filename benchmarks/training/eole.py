"""eole's own training loop, at our pace.

python -m benchmarks.training.eole WORK [bfloat16], in the environment of the peers.
"""

import sys
from pathlib import Path
from typing import Any

from benchmarks.training.pace import MakePace, serve_training
from benchmarks.training.work import NEVER, SOURCE, TARGET, TrainingWork, token_names


def configure(work: TrainingWork, precision: str) -> dict[str, Any]:
    """eole's configuration for the work, in a precision of bfloat16 or float32."""
    model, train, optimizer = work.model, work.train, work.train["optimizer"]
    return {
        "seed": 1,
        "share_vocab": True,
        "src_vocab": str(_vocabulary(work)),
        "tgt_vocab": str(_vocabulary(work)),
        "src_vocab_size": work.vocab_size,
        "tgt_vocab_size": work.vocab_size,
        "vocab_size_multiple": 1,
        "save_data": work.folder,
        "overwrite": True,
        "data": {
            "corpus": {
                "path_src": str(work.text / f"train.{SOURCE}"),
                "path_tgt": str(work.text / f"train.{TARGET}"),
                "transforms": [],
            }
        },
        "training": {
            "model_path": str(Path(work.folder) / "eole"),
            "world_size": int(work.device == "cuda"),
            "gpu_ranks": [0] if work.device == "cuda" else [],
            "compute_dtype": {"bfloat16": "bf16", "float32": "fp32"}[precision],
            "num_workers": 0,
            "batch_type": "tokens",
            "batch_size": train["batch_tokens"],
            "accum_count": [1],
            "bucket_size": 262144,
            "normalization": "tokens",
            "optim": "adamw",
            "adam_beta1": optimizer["beta1"],
            "adam_beta2": optimizer["beta2"],
            "weight_decay": optimizer["weight_decay"],
            "learning_rate": train["learning_rate"],
            "max_grad_norm": train["max_grad_norm"],
            "label_smoothing": train["label_smoothing"],
            "dropout": [model["dropout"]],
            "attention_dropout": [model["attention_dropout"]],
            "dropout_steps": [0],
            "param_init_method": "xavier_uniform",
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
        },
        "report_every": NEVER,
        "model": {
            "architecture": "transformer",
            "hidden_size": model["d_model"],
            "transformer_ff": model["d_ff"],
            "heads": model["num_heads"],
            "encoder": {"encoder_type": "transformer", "layers": model["num_encoder_layers"]},
            "decoder": {"decoder_type": "transformer", "layers": model["num_decoder_layers"]},
            "mlp_activation_fn": model["activation"],
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {
                "word_vec_size": model["d_model"],
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
    }


def train(work: TrainingWork, precision: str, make_pace: MakePace) -> None:
    """Runs its training, with the pace kept before each step; no precision is the device's."""
    import importlib.metadata

    import torch
    from eole.bin.run.train import train as train_eole
    from eole.config.run import TrainConfig
    from eole.trainer import Trainer

    torch.set_num_threads(work.num_threads)
    names = token_names(work.vocab_size, 4)
    _vocabulary(work).write_text("".join(f"{name}\t1\n" for name in names))
    precision = precision or ("bfloat16" if work.device == "cuda" else "float32")
    pace = make_pace(importlib.metadata.version("eole"), precision, work.device)
    train_step = Trainer._train_step

    def paced_step(trainer: Any, batches: Any, *rest: Any, **named: Any) -> Any:
        pad = trainer.train_loss.padding_idx
        pairs: list[tuple[int, int]] = []
        slots = 0
        for batch in batches:
            # It gives the source no end token, which is counted all the same.
            source = (batch["srclen"] + 1).tolist()
            target = batch["tgt"][:, 1:].ne(pad).sum(1).tolist()
            pairs += zip(source, target, strict=True)
            slots += batch["src"].numel() + len(source) + batch["tgt"][:, 1:].numel()
        pace.before_step(pairs, slots)
        return train_step(trainer, batches, *rest, **named)

    Trainer._train_step = paced_step
    train_eole(TrainConfig(**configure(work, precision)))


def _vocabulary(work: TrainingWork) -> Path:
    return work.text / "vocabulary.eole"


if __name__ == "__main__":
    task = TrainingWork.load(Path(sys.argv[1]))
    serve_training(lambda make_pace: train(task, "".join(sys.argv[2:]), make_pace))
