"""A training that is scored on the way, its clock standing still meanwhile."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.harness.machine import describe_model
from benchmarks.training.plain import PlainLoop, list_batches
from benchmarks.training.subject import load_configs, write_params
from benchmarks.training.work import NEVER, PARAMS
from pipeline.params import load_section
from pipeline.paths import CLEAN, IDS, RAW, TOKENIZER
from transformer.evaluation.scores import score_bleu
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.search.corpus import decode_corpus
from transformer.search.options import SearchConfig
from transformer.text.heldout import encode_sources, read_heldout
from transformer.text.ids import Ids, load_ids
from transformer.text.tokenizer import TokenizerPair
from transformer.training.config import TrainConfig
from transformer.training.device import tune_process
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.schedule import learning_rate
from transformer.training.sentence_batches import Plan, make_plan
from transformer.training.trainer import Trainer

# Who trains, and what of the recipe they change: bfloat16 is ours to offer, the score judges it.
LOOPS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours-bfloat16": {"train.precision": "bfloat16"},
    "plain": {},
}

# The first is the model of the speed benchmark.
RECIPES: dict[str, dict[str, Any]] = {
    "benchmark": {
        "model.num_encoder_layers": 3,
        "model.num_decoder_layers": 3,
        "model.d_model": 256,
        "model.d_ff": 1024,
        "model.dropout": 0.1,
        "train.batch_tokens": 512,
        "train.learning_rate": 0.002,
        "train.schedule.warmup_steps": 200,
        "train.max_epochs": 3,
    },
    "small": {
        "model.num_encoder_layers": 3,
        "model.num_decoder_layers": 2,
        "model.d_model": 128,
        "model.d_ff": 512,
        "model.dropout": 0.05,
        "train.batch_tokens": 768,
        "train.learning_rate": 0.005,
        "train.schedule.warmup_steps": 200,
        "train.max_epochs": 5,
    },
}
# Shares of the steps after which the weights are scored.
CHECKPOINTS = tuple(step / 20 for step in range(10, 21))


class Score(NamedTuple):
    """One checkpoint."""

    step: int
    seconds: float  # of training alone
    bleu: float


@dataclass
class QualityRun:
    """One training, with its scores in order."""

    recipe: str
    loop: str
    model: str  # its shape, in words
    settings: str  # likewise
    target: float
    tokens_per_second: float = 0.0
    scores: list[Score] = field(default_factory=list)

    @property
    def reached(self) -> Score | None:
        """The first score at the target or above."""
        return next((one for one in self.scores if one.bleu >= self.target), None)

    @property
    def best_bleu(self) -> float:
        """Of all scores; 0 where there are none."""
        return max((one.bleu for one in self.scores), default=0.0)

    def summary(self) -> str:
        """One line."""
        if self.reached is None:
            return f"{self.target:g} BLEU not reached; the best was {self.best_bleu:.2f}"
        return f"{self.reached.bleu:.2f} BLEU after {self.reached.seconds / 60:.2f} minutes"


@dataclass(frozen=True)
class Task:
    """What is trained, and how it is scored."""

    ids: Ids
    model: ModelConfig
    config: TrainConfig
    plan: Plan
    score: Callable[[Transformer], float]


class Clock:
    """Counts the seconds of training, and scores the weights at some steps without counting them.

    Args:
        run: where the scores go.
        num_steps: of the whole training, the last of which is not made: nothing would come after.
        score: gives the BLEU of a model in evaluation mode.
        max_seconds: of training, before it is given up.
        now: in seconds.
    """

    def __init__(
        self,
        run: QualityRun,
        num_steps: int,
        score: Callable[[Transformer], float],
        max_seconds: float,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._run, self._score, self._now = run, score, now
        self._max_seconds = max_seconds
        self._last = num_steps - 1
        self._points = {min(round(share * num_steps), self._last) for share in CHECKPOINTS}
        self._begin: float | None = None
        self.seconds = 0.0

    def is_over(self, step: int, model: Transformer) -> bool:
        """To be asked before each step, with the number of steps done and the model as it is."""
        if self._begin is None:
            self._begin = self._now()
        self.seconds = self._now() - self._begin
        is_last = step >= self._last or self.seconds >= self._max_seconds
        if step not in self._points and not is_last:
            return False
        model.eval()
        bleu = self._score(model)
        model.train()
        self._run.scores.append(Score(step, self.seconds, bleu))
        self._begin = self._now() - self.seconds
        return is_last or bleu >= self._run.target


def train_to(
    project: Path,
    folder: Path,
    recipe: str,
    loop: str,
    bleu: float,
    threads: int,
    max_seconds: float,
) -> QualityRun:
    """Trains until the score is reached, or the recipe or the time is over.

    Args:
        project: with data/raw, data/clean, data/ids and models/tokenizer.
        folder: a temporary one.
        recipe: one of `RECIPES`.
        loop: one of `LOOPS`; all take the same batches with the same rates.
        bleu: to be reached on the test set, cased, greedy.
        threads: of PyTorch.
        max_seconds: of training.

    Raises:
        ValueError: the project lacks something.
    """
    task = load_task(project, folder, RECIPES[recipe] | LOOPS[loop], threads)
    config = task.config
    num_steps = task.plan.num_batches * config.max_epochs
    model = f"{describe_model(task.model)}, {task.ids.meta.target_vocab_size:,} pieces"
    settings = (
        f"{config.max_epochs} epochs, {config.batch_tokens} tokens a batch, "
        f"{config.optimizer.kind} {config.learning_rate:g} {config.schedule.kind}, warm-up "
        f"{config.schedule.warmup_steps}, dropout {task.model.dropout:g}"
    )
    run = QualityRun(recipe, loop, model, settings, bleu)
    clock = Clock(run, num_steps, task.score, max_seconds)
    torch.manual_seed(config.seed)
    steps = (_train_plainly if loop == "plain" else _train_ours)(task, clock, num_steps)
    train = task.ids.train
    lengths = np.asarray(train.source_lengths) + np.asarray(train.target_lengths)
    batches = islice(list_batches(task.plan), steps)
    run.tokens_per_second = sum(int(lengths[one].sum()) for one in batches) / clock.seconds
    return run


def load_task(project: Path, folder: Path, changes: dict[str, Any], threads: int) -> Task:
    """Reads the corpus, writes the params, makes the function that scores."""
    training = {
        "train.device": "cpu",
        "train.num_threads": threads,
        "train.validate_every_steps": NEVER,
        "train.save_every_seconds": NEVER,
    }
    write_params(folder, changes | training)
    model, config = load_configs(folder)
    search = load_section("search", SearchConfig, path=folder / PARAMS)
    ids = load_ids(project / IDS)
    plan = make_plan(config, ids.train.source_lengths, ids.train.target_lengths)
    return Task(ids, model, config, plan, _scorer(project, model, search))


def _scorer(
    project: Path, config: ModelConfig, search: SearchConfig
) -> Callable[[Transformer], float]:
    tokenizers = TokenizerPair.load(project / TOKENIZER)
    test = read_heldout(project / RAW, project / CLEAN)
    ids, _ = encode_sources(tokenizers.source, test.sources, config.max_positions)
    target = tokenizers.target
    options = search.options(config.max_positions)
    options = replace(options, beam_size=1, length_penalty=1.0, patience=1.0)

    def score(model: Transformer) -> float:
        found = decode_corpus(
            model,
            ids,
            options,
            batch_tokens=2048,
            source_pad=tokenizers.source.special.pad_id,
            special=target.special,
        )
        texts = [target.decode(best[0].ids) for best in found]
        return score_bleu(texts, test.references, bleu_tokenizer="13a")

    return score


def _train_ours(task: Task, clock: Clock, num_steps: int) -> int:
    tune_process(task.config.num_threads)
    steps = 0

    def is_over() -> bool:
        nonlocal steps
        steps = trainer.state.step
        return clock.is_over(steps, trainer.state.model)

    trainer = Trainer(task.config, task.model, task.ids, resume=Resume(is_stop_requested=is_over))
    assert trainer.num_steps == num_steps
    try:
        trainer.run()
    except TrainingStopped:
        return steps
    raise AssertionError("the clock stops every training before its last step")


def _train_plainly(task: Task, clock: Clock, num_steps: int) -> int:
    torch.set_num_threads(task.config.num_threads or torch.get_num_threads())
    config, meta = task.config, task.ids.meta
    model = Transformer(task.model, meta.source_vocab_size, meta.target_vocab_size).train()
    loop = PlainLoop(model, meta, config)
    for step, indices in enumerate(list_batches(task.plan)):
        if clock.is_over(step, model):
            return step
        rate = learning_rate(config, task.model.d_model, num_steps, step + 1)
        loop.step(*loop.batch(task.ids.train, indices), rate)
    raise AssertionError("the clock stops every training before its last step")
