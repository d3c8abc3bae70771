"""A worker that trains with this project's code, or measures the device's peak.

python -m benchmarks.training.worker WORK KIND
"""

import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.harness.protocol import serve
from benchmarks.training.pace import MakePace, serve_training
from benchmarks.training.work import TrainingWork


def train_ours(
    work: TrainingWork, make_pace: MakePace, compile: bool, precision: str | None
) -> None:
    """The project's trainer, as the stage `train` runs it, but for validation and reports."""
    from transformer.threads import bound_spinning

    bound_spinning()
    import torch

    from benchmarks.training.plain import list_batches
    from benchmarks.training.subject import load_configs
    from transformer.text.ids import load_ids
    from transformer.training.device import choose_precision, tune_process
    from transformer.training.interruption import Resume
    from transformer.training.sentence_batches import make_plan
    from transformer.training.trainer import Trainer

    model_config, config = load_configs(Path(work.folder))
    changes: dict[str, Any] = {"compile": compile}
    if precision is not None:
        changes["precision"] = precision
    config = config.model_copy(update=changes)
    ids = load_ids(Path(work.ids))
    tune_process(config.num_threads)
    dtype = choose_precision(config.precision, torch.device(work.device))
    pace = make_pace(torch.__version__, str(dtype).removeprefix("torch."), work.device)
    train = ids.train
    plan = make_plan(config, train.source_lengths, train.target_lengths)

    def steps() -> Iterator[bool]:
        for indices in list_batches(plan):
            source, target = train.source_lengths[indices], train.target_lengths[indices]
            slots = len(indices) * int(source.max() + target.max())
            pace.before_step(zip(source.tolist(), target.tolist(), strict=True), slots)
            yield False

    asked = steps()
    resume = Resume(is_stop_requested=lambda: next(asked))
    Trainer(config, model_config, ids, resume=resume).run()


def train_plainly(work: TrainingWork, make_pace: MakePace, is_tutorial: bool) -> None:
    """The loop of `benchmarks.training.plain`, on batches of the same number of slots."""
    import numpy as np
    import torch

    from benchmarks.training.plain import TUTORIAL_LENGTH, PlainLoop, list_batches
    from benchmarks.training.subject import load_configs
    from transformer.model.transformer import Transformer
    from transformer.text.ids import load_ids
    from transformer.training.sentence_batches import make_plan
    from transformer.training.variants import Variants, use_variants

    model_config, config = load_configs(Path(work.folder))
    ids, device = load_ids(Path(work.ids)), torch.device(work.device)
    torch.set_num_threads(work.num_threads)
    torch.manual_seed(config.seed)
    train, meta = ids.train, ids.meta
    model = Transformer(model_config, meta.source_vocab_size, meta.target_vocab_size).to(device)
    padded_length = TUTORIAL_LENGTH if is_tutorial else None
    if not is_tutorial:
        batches = list_batches(make_plan(config, train.source_lengths, train.target_lengths))
    else:
        # Of both lengths the longer one: the target has a start mark more.
        use_variants(model, Variants(explicit_length=TUTORIAL_LENGTH + 1), torch.float32)
        order = np.random.default_rng(config.seed).permutation(len(train))
        size = max(1, work.train["batch_tokens"] // TUTORIAL_LENGTH)
        batches = cycle(order[start : start + size] for start in range(0, len(order), size))
    loop = PlainLoop(model, meta, config, padded_length)
    pace = make_pace(torch.__version__, str(loop.precision).removeprefix("torch."), work.device)
    for indices in batches:
        lengths = train.source_lengths[indices], train.target_lengths[indices]
        widest = [padded_length or int(side.max()) for side in lengths]
        pairs = zip(*(side.tolist() for side in lengths), strict=True)
        pace.before_step(pairs, len(indices) * sum(widest))
        loop.step(*loop.batch(train, indices), config.learning_rate)


def load_peak(
    work: TrainingWork, precision: str
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], dict[str, Any]]]:
    """What answers every request with {"flops_per_second"} of a large product."""
    import torch

    from transformer.monitoring.flops import measure_product_peak

    torch.set_num_threads(work.num_threads)
    device, dtype = torch.device(work.device), getattr(torch, precision)
    return {"version": torch.__version__}, lambda _: {
        "flops_per_second": measure_product_peak(device, dtype)
    }


def main(work: TrainingWork, kind: str) -> None:
    """Serves one contender, or the peak of one precision (`peak-float32`)."""
    name, _, precision = kind.partition("-")
    if name == "peak":
        serve(lambda: load_peak(work, precision))
    elif name in ("tutorial", "plain"):
        serve_training(lambda make_pace: train_plainly(work, make_pace, name == "tutorial"))
    else:
        is_compiled = name == "compiled"
        serve_training(
            lambda make_pace: train_ours(work, make_pace, is_compiled, precision or None)
        )


if __name__ == "__main__":
    main(TrainingWork.load(Path(sys.argv[1])), sys.argv[2])
