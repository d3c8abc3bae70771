"""The training loop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.text.ids import Ids
from transformer.training.averaging import WeightAverage, model_weights, set_weights
from transformer.training.batching import Batch, Integers, make_batch, split_batch
from transformer.training.capture import SavedState, capture, restore
from transformer.training.checkpoint import CheckpointInfo
from transformer.training.config import TrainConfig
from transformer.training.device import autocast, choose_device, choose_precision
from transformer.training.objective import score_targets, smoothed_cross_entropy
from transformer.training.optimizer import make_optimizer, set_learning_rate
from transformer.training.reporting import Reporter, Speed, TrainRow, ValidRow
from transformer.training.schedule import check_warmup, learning_rate
from transformer.training.sentence_batches import make_plan
from transformer.training.state import Sums, TrainState, zero_sums
from transformer.training.stopping import TrainingStopped
from transformer.training.validation import hidden_states, validate


class DivergedError(ValueError):
    """The loss or the gradient is infinite or no number; no model was saved."""


@dataclass(frozen=True)
class TrainResult:
    """A trained model, on the CPU in eval mode, and its figures."""

    model: Transformer
    info: CheckpointInfo  # goes into the checkpoint
    train_rows: list[TrainRow]
    valid_rows: list[ValidRow]
    summary: dict[str, Any]  # for a metrics file: no timings


@dataclass(frozen=True)
class Resume:
    """How a training leaves behind what it can go on from, and goes on from what was left."""

    # What was left of the same config, model, data and code. A call, so that nothing else holds
    # on to it: it may be several times as large as the model.
    load: Callable[[], SavedState | None] = lambda: None
    save: Callable[[SavedState], None] | None = None  # called between two steps
    is_stop_requested: Callable[[], bool] = lambda: False  # asked between two steps


@dataclass(frozen=True)
class Start:
    """What a training does other than translating from scratch."""

    # Called once with the model, its weights drawn, before the first step.
    initialise: Callable[[Transformer], None] = lambda model: None
    # Model and batch -> a hidden state for each label, [N, D].
    forward: Callable[[Transformer, Batch], Tensor] = hidden_states


AFRESH = Start()


def train_model(
    config: TrainConfig,
    model_config: ModelConfig,
    ids: Ids,
    reporters: Sequence[Reporter] = (),
    resume: Resume | None = None,
    start: Start = AFRESH,
) -> TrainResult:
    """Trains a model from its initial weights, or from where an earlier process left, to the end.

    Every random number follows from `config.seed`: the initial weights, the order of batches by
    epoch, dropout by step. On one CPU the same arguments and number of threads give the same bits,
    however often training was stopped on the way.

    Raises:
        DivergedError: the loss or the gradient is not finite.
        TrainingStopped: as `resume` requested; the state was saved, if `resume` says how.
        ValueError: the config does not fit the data or the machine.
    """
    trainer = Trainer(config, model_config, ids, reporters, resume, start)
    try:
        return trainer.run()
    finally:
        for reporter in reporters:
            reporter.on_end()


class Trainer:
    """Runs the loop; all that changes is in `state`."""

    def __init__(
        self,
        config: TrainConfig,
        model_config: ModelConfig,
        ids: Ids,
        reporters: Sequence[Reporter] = (),
        resume: Resume | None = None,
        start: Start = AFRESH,
    ) -> None:
        self._config, self._model_config, self._ids = config, model_config, ids
        self._reporters = reporters
        self._resume = resume or Resume()
        self._start_with = start
        self._device = choose_device(config.device)
        self._precision = choose_precision(config.precision, self._device)
        train = ids.train
        self._plan = make_plan(config, train.source_lengths, train.target_lengths)
        self._slots = self._plan.batch_tokens
        self._epoch = (0, self._plan.epoch(0))
        self.num_steps = self._plan.num_batches * config.max_epochs
        if config.max_steps is not None:
            self.num_steps = min(self.num_steps, config.max_steps)
        check_warmup(config, self.num_steps)
        self._check_lengths()
        self.state = self._start()
        saved = self._resume.load()
        if saved is not None:
            restore(self.state, saved)
        self._saved_step, self._last_save = self.state.step, 0.0
        is_compiled = self._device.type == "cuda" if config.compile == "auto" else config.compile
        self._hidden_states = (
            torch.compile(start.forward, dynamic=True) if is_compiled else start.forward
        )

    def run(self) -> TrainResult:
        """Trains from the present state to the end."""
        config, state = self._config, self.state
        for reporter in self._reporters:
            reporter.on_start(self.num_steps, state.model.num_parameters(), state.step)
        state.model.train()
        mark = self._last_save = time.monotonic()
        begin = mark - state.seconds  # as if the steps that were lost had never been
        num_tokens = 0
        while state.step < self.num_steps and not self._is_out_of_patience():
            if self._resume.is_stop_requested():
                self._save(begin)
                raise TrainingStopped(state.step, self.num_steps)
            indices = self.batch_indices(state.step)
            self._guarded_step(indices)
            lengths = self._ids.train.source_lengths, self._ids.train.target_lengths
            state.num_targets += int(lengths[1][indices].sum())
            num_tokens += int(lengths[0][indices].sum() + lengths[1][indices].sum())
            if state.step % self._plan.num_batches == 0:
                self._close_epoch()
            is_last = state.step == self.num_steps
            is_validation = is_last or self._is_validation_due()
            if is_validation or state.step % config.log_every_steps == 0:
                row = self._read()
                now = time.monotonic()
                speed = Speed(num_tokens / max(now - mark, 1e-9), now - begin)
                for reporter in self._reporters:
                    reporter.on_log(row, speed)
                num_tokens = 0
                if is_validation:
                    self._validate()
                mark = time.monotonic()
            if not is_last and time.monotonic() - self._last_save >= config.save_every_seconds:
                mark += self._save(begin)
        return self._finish()

    def batch_indices(self, step: int) -> Integers:
        """The sentences of the optimizer step that follows `step` done ones."""
        epoch, position = divmod(step, self._plan.num_batches)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self._plan.epoch(epoch))
        return self._epoch[1][position]

    def _start(self) -> TrainState:
        meta = self._ids.meta
        torch.manual_seed(self._config.seed)
        model = Transformer(self._model_config, meta.source_vocab_size, meta.target_vocab_size)
        self._start_with.initialise(model)
        model = model.to(self._device)
        optimizer = make_optimizer(self._config.optimizer, model.parameters())
        average = WeightAverage(self._config.average_checkpoints)
        accuracy = torch.zeros((), device=self._device)
        return TrainState(model, optimizer, average, zero_sums(self._device), accuracy)

    def _save(self, begin: float) -> float:
        """Hands on the state, unless it was handed on, or came, as it is; returns the seconds."""
        state, start = self.state, time.monotonic()
        if self._resume.save is not None and state.step != self._saved_step:
            self._check_sums()
            state.seconds = start - begin
            self._resume.save(capture(state))
            self._saved_step = state.step
        self._last_save = time.monotonic()
        return self._last_save - start

    def _guarded_step(self, indices: Integers) -> None:
        try:
            self._step(indices)
        except torch.OutOfMemoryError as error:
            name = "batch_tokens" if self._config.batch_sentences is None else "batch_sentences"
            raise ValueError(
                f"out of memory at step {self.state.step + 1}, {self._describe(indices)}; lower "
                f"train.{name} = {getattr(self._config, name)} and raise "
                "train.gradient_accumulation by the same factor, which keeps the result"
            ) from error

    def _step(self, indices: Integers) -> None:
        """One optimizer step. Reads nothing back from the device."""
        config, state, meta = self._config, self.state, self._ids.meta
        rate = learning_rate(config, self._model_config.d_model, self.num_steps, state.step + 1)
        set_learning_rate(state.optimizer, rate)
        # One count for the whole step: how it is cut into parts changes nothing.
        num_targets = int(self._ids.train.target_lengths[indices].sum())
        step_loss = torch.zeros((), device=self._device)
        self._num_correct = torch.zeros((), device=self._device)
        for part, sentences in enumerate(split_batch(indices, config.gradient_accumulation)):
            batch = make_batch(
                self._ids.train,
                sentences,
                meta.source.pad_id,
                meta.target.pad_id,
                meta.target.bos_id,
            ).to(self._device)
            torch.manual_seed(mask_seed(config.seed, state.step, part))
            loss = self._loss(batch) / num_targets
            loss.backward()  # type: ignore[no-untyped-call]
            step_loss += loss.detach()
        parameters = list(state.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if config.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, config.clip_norm, norm)
        state.accuracy += self._num_correct / num_targets
        state.optimizer.step()
        state.optimizer.zero_grad(set_to_none=True)
        state.step += 1
        sums = state.sums
        is_bad = ~torch.isfinite(step_loss + norm) & (sums.first_bad_step == 0)
        state.sums = Sums(
            loss=sums.loss + step_loss * num_targets,
            gradient_norm=sums.gradient_norm + norm,
            first_bad_step=torch.where(is_bad, state.step, sums.first_bad_step),
        )

    def _loss(self, batch: Batch) -> Tensor:
        model = self.state.model
        with autocast(self._device, self._precision):
            hidden = self._hidden_states(model, batch)
            weight, bias = model.projection.weight, model.projection.bias
            if self._is_accuracy_due():
                self._num_correct += score_targets(hidden, weight, bias, batch.labels).num_correct
            return smoothed_cross_entropy(
                hidden, weight, bias, batch.labels, self._config.label_smoothing
            )

    def _is_accuracy_due(self) -> bool:
        """Whether the step that follows is one of the last ones of its epoch."""
        num_left = self._plan.num_batches - self.state.step % self._plan.num_batches
        return num_left <= (self._config.accuracy_steps or 0)

    def _close_epoch(self) -> None:
        """Reads the accuracy of an epoch's last steps."""
        config, state = self._config, self.state
        if config.accuracy_steps is not None:
            num_steps = min(config.accuracy_steps, self._plan.num_batches)
            state.accuracies.append(state.accuracy.item() / num_steps)
            state.accuracy.zero_()

    def _read(self) -> TrainRow:
        """Waits for the device, and reads what gathered since the row before."""
        self._check_sums()
        config, state = self._config, self.state
        last = state.train_rows[-1].step if state.train_rows else 0
        rate = learning_rate(config, self._model_config.d_model, self.num_steps, state.step)
        row = TrainRow(
            step=state.step,
            train_loss=state.sums.loss.item() / state.num_targets,
            learning_rate=rate,
            gradient_norm=state.sums.gradient_norm.item() / (state.step - last),
        )
        state.train_rows.append(row)
        state.sums, state.num_targets = zero_sums(self._device), 0
        return row

    def _check_sums(self) -> None:
        if bad := int(self.state.sums.first_bad_step.item()):
            raise DivergedError(self._tell_divergence(bad))

    def _validate(self) -> None:
        """Scores the mean of the latest snapshots: what would be saved if training ended here."""
        config, state, model = self._config, self.state, self.state.model
        state.average.add(model_weights(model))
        mean = state.average.mean()
        present = {name: value.clone() for name, value in model_weights(model).items()}
        set_weights(model, mean)
        row = validate(
            model,
            self._ids.valid,
            self._ids.meta,
            self._slots,
            self._precision,
            state.step,
            self._start_with.forward,
        )
        set_weights(model, present)
        state.valid_rows.append(row)
        for reporter in self._reporters:
            reporter.on_validation(row)
        if row.valid_loss < state.best_loss:
            state.best_loss, state.best_step, state.num_worse = row.valid_loss, state.step, 0
            if config.early_stopping_patience is not None:
                state.best_weights = mean
        else:
            state.num_worse += 1

    def _finish(self) -> TrainResult:
        state, train = self.state, self._ids.train
        weights = state.best_weights
        final = state.valid_rows[-1]
        if weights is None:
            weights = state.average.mean()
        else:
            final = next(row for row in state.valid_rows if row.step == state.best_step)
        set_weights(state.model, weights)
        summary = {
            "steps": state.step,
            "epochs": round(state.step / self._plan.num_batches, 4),
            "saved_step": final.step,
            "valid_loss": round(final.valid_loss, 6),
            "valid_perplexity": round(final.perplexity, 6),
            "valid_accuracy": round(final.accuracy, 6),
            "best_valid_loss": round(state.best_loss, 6),
            "best_step": state.best_step,
            "train_loss": round(state.train_rows[-1].train_loss, 6),
            **self._name_accuracies(),
            "num_parameters": state.model.num_parameters(),
            "steps_per_epoch": self._plan.num_batches,
            "padding_share": round(self._plan.padding_share(), 6),
            "source_tokens_per_epoch": int(train.source_lengths.sum()),
            "target_tokens_per_epoch": int(train.target_lengths.sum()),
        }
        meta = self._ids.meta
        info = CheckpointInfo(
            model=self._model_config,
            source_vocab_size=meta.source_vocab_size,
            target_vocab_size=meta.target_vocab_size,
            source=meta.source,
            target=meta.target,
            tokenizer_sha256=meta.tokenizer_sha256,
        )
        model = state.model.cpu().eval()
        return TrainResult(model, info, state.train_rows, state.valid_rows, summary)

    def _name_accuracies(self) -> dict[str, dict[str, float]]:
        shares = enumerate(self.state.accuracies, start=1)
        named = {f"epoch_{epoch}": round(share, 6) for epoch, share in shares}
        return {"train_accuracy": named} if named else {}

    def _is_validation_due(self) -> bool:
        every = self._config.validate_every_steps or self._plan.num_batches
        return self.state.step % every == 0

    def _is_out_of_patience(self) -> bool:
        patience = self._config.early_stopping_patience
        return patience is not None and self.state.num_worse >= patience

    def _check_lengths(self) -> None:
        limit = self._model_config.max_positions
        for split, pairs in (("train", self._ids.train), ("valid", self._ids.valid)):
            for side in ("source", "target"):
                longest = int(getattr(pairs, f"{side}_lengths").max())
                if longest > limit:
                    raise ValueError(
                        f"the longest {side} of {split} has {longest} tokens, but "
                        f"model.max_positions = {limit}; raise it, or lower tokenize.max_tokens "
                        "(which drops long pairs from train only)"
                    )

    def _describe(self, indices: Integers) -> str:
        train = self._ids.train
        source, target = train.source_lengths[indices].max(), train.target_lengths[indices].max()
        return f"batch of {len(indices)} pairs, up to {source} source and {target} target tokens"

    def _tell_divergence(self, step: int) -> str:
        rate = learning_rate(self._config, self._model_config.d_model, self.num_steps, step)
        return (
            f"the loss or its gradient was not finite at step {step}, "
            f"{self._describe(self.batch_indices(step - 1))}, learning rate {rate:.3g}; "
            "no model was saved. Try a lower train.learning_rate, more "
            "train.schedule.warmup_steps, a smaller train.clip_norm, model.norm = 'pre', or "
            "train.precision = 'float32'"
        )


def mask_seed(seed: int, step: int, part: int) -> int:
    """The seed of the dropout masks of one part of one step: the same wherever training resumed."""
    words = np.random.SeedSequence([seed, step, part]).generate_state(1, np.uint64)
    return int(words[0]) >> 1  # torch takes signed numbers
