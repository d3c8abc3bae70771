"""The training loop."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental import _config as symbolic_shapes

from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.monitoring.throughput import Meter
from transformer.text.ids import Ids
from transformer.training.averaging import WeightAverage, model_weights, set_weights
from transformer.training.batching import Batch
from transformer.training.capture import SavedState, capture, restore
from transformer.training.config import TrainConfig
from transformer.training.device import autocast, choose_device, choose_precision
from transformer.training.distributed import Ranks
from transformer.training.interruption import TrainingStopped
from transformer.training.loader import StepBatch, StepBatches, loading
from transformer.training.loss import (
    plain_cross_entropy,
    score_targets,
    smoothed_cross_entropy,
)
from transformer.training.optimizer import make_optimizer, set_learning_rate
from transformer.training.problems import check_lengths, tell_divergence, tell_memory
from transformer.training.reporting import Reporter, TrainRow
from transformer.training.result import TrainResult, final_result
from transformer.training.schedule import check_warmup, learning_rate
from transformer.training.sentence_batches import make_plan
from transformer.training.state import Sums, TrainState, zero_sums
from transformer.training.validation import hidden_states, validate
from transformer.training.variants import Variants, use_variants

ALONE = Ranks()


_Forwarded = tuple[Tensor, Tensor]
# Steps whose batches are looked through for what is to be compiled.
_NUM_LOOKED_AT = 100
# Beyond PyTorch's own limit, of 8, steps are no longer compiled.
_MAX_GRAPHS = 32


class DivergedError(ValueError):
    """The loss or the gradient is infinite or no number; no model was saved."""


@dataclass(frozen=True)
class Resume:
    """How a training leaves behind what it can go on from, and goes on from what was left."""

    # What was left of the same config, model, data and code. A call, so that nothing else holds
    # on to it: it may be several times as large as the model. Of several ranks the first is asked.
    load: Callable[[], SavedState | None] = lambda: None
    save: Callable[[SavedState], None] | None = None  # called between two steps; need not wait
    is_stop_requested: Callable[[], bool] = lambda: False  # asked between two steps
    flush: Callable[[], None] = lambda: None  # returns once what was to be saved is


@dataclass(frozen=True)
class Start:
    """What a training does other than translating from scratch."""

    # Called once with the model, its weights drawn, before the first step.
    initialize: Callable[[Transformer], None] = lambda model: None
    # Model and batch -> a hidden state for each label, [N, D].
    forward: Callable[[Transformer, Batch], Tensor] = hidden_states


AFRESH = Start()
AS_USUAL = Variants()


def train_model(
    config: TrainConfig,
    model_config: ModelConfig,
    ids: Ids,
    reporters: Sequence[Reporter] = (),
    resume: Resume | None = None,
    ranks: Ranks = ALONE,
    peak_flops: float | None = None,
    start: Start = AFRESH,
    variants: Variants = AS_USUAL,
) -> TrainResult:
    """Trains a model from its initial weights, or from where an earlier process left, to the end.

    Every random number follows from `config.seed`: the initial weights, the order of batches by
    epoch, dropout by step. On one CPU the same arguments and number of threads give the same bits,
    however often training was stopped on the way.

    Of several ranks each calls this with the same arguments, but for reporters and what saves,
    which the first alone should have; each gets the same result. `peak_flops` is what this
    rank's device reaches at best, as `measure_product_peak` tells; reporters hear what part of it
    was used.

    Raises:
        DivergedError: the loss or the gradient is not finite.
        PeerLostError: another rank has gone.
        TrainingStopped: as `resume` requested; the state was saved, if `resume` says how.
        ValueError: the config does not fit the data or the machine.
    """
    trainer = Trainer(
        config, model_config, ids, reporters, resume, ranks, peak_flops, start, variants
    )
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
        ranks: Ranks = ALONE,
        peak_flops: float | None = None,
        start: Start = AFRESH,
        variants: Variants = AS_USUAL,
    ) -> None:
        self._config, self._model_config, self._ids = config, model_config, ids
        self._reporters = reporters
        self._resume = resume or Resume()
        self._ranks, self._peak_flops = ranks, peak_flops
        self._start_with = start
        self.device = ranks.place(choose_device(config.device))
        self.precision = choose_precision(config.precision, self.device)
        train = ids.train
        self._plan = make_plan(config, train.source_lengths, train.target_lengths)
        self.batches = StepBatches(self._plan, train, ids.meta, config.gradient_accumulation, ranks)
        self.num_steps = self._plan.num_batches * config.max_epochs
        if config.max_steps is not None:
            self.num_steps = min(self.num_steps, config.max_steps)
        check_warmup(config, self.num_steps)
        check_lengths(ids, model_config.max_positions)
        self.state = self._start()
        use_variants(self.state.model, variants, self.precision)
        self._gradients = ranks.gradients(self.state.model)
        self._saved_step, self._last_save = self.state.step, 0.0
        is_auto = config.compile == "auto"
        self._is_compiled = self.device.type == "cuda" if is_auto else bool(config.compile)
        self._forward = self._make_forward(variants)

    def run(self) -> TrainResult:
        """Trains from the present state to the end."""
        config, state = self._config, self.state
        for reporter in self._reporters:
            reporter.on_start(self.num_steps, state.model.num_parameters(), state.step)
        state.model.train()
        self.warm_up()
        self._last_save = time.monotonic()
        begin = self._last_save - state.seconds  # as if the steps that were lost had never been
        meter = self.meter()
        with loading(self.batches, self.device, state.step) as loader:
            while state.step < self.num_steps and not self._is_out_of_patience():
                if self._ranks.any(self._resume.is_stop_requested()):
                    self._save(begin)
                    self._resume.flush()
                    self._ranks.wait()  # who leaves early may have the others ended as they save
                    raise TrainingStopped(state.step, self.num_steps)
                batch = loader.take()
                self.step(batch)
                meter.add(batch)
                if state.step % self._plan.num_batches == 0:
                    self._close_epoch()
                is_last = state.step == self.num_steps
                is_validation = is_last or self._is_validation_due()
                if is_validation or state.step % config.log_every_steps == 0:
                    row = self._read()
                    speed = meter.read(loader, time.monotonic() - begin)
                    for reporter in self._reporters:
                        reporter.on_log(row, speed)
                    if is_validation:
                        self._validate()
                    meter.restart()
                if not is_last and time.monotonic() - self._last_save >= config.save_every_seconds:
                    self._save(begin)
        return self._finish()

    def warm_up(self) -> None:
        """Compiles all that steps will run, if they are to be compiled; changes no state.

        A graph differs by whether the source is padded, and on a GPU by whether each length is a
        multiple of 8, which the compiler's call of a fused attention depends on. Lengths that
        happen to be equal in the first batch stay two numbers.

        Raises:
            ValueError: the device's memory does not hold a batch.
        """
        if not self._is_compiled:
            return
        torch._dynamo.config.recompile_limit = max(
            _MAX_GRAPHS, torch._dynamo.config.recompile_limit
        )
        found: dict[tuple[bool, ...], StepBatch] = {}
        for step in range(self.state.step, min(self.state.step + _NUM_LOOKED_AT, self.num_steps)):
            step_batch = self.batches.make(step)
            for part in step_batch.parts:
                lengths = part[1].source.shape[1], part[1].target.shape[1]
                kind = tuple(length % 8 == 0 for length in lengths)
                found.setdefault(kind, step_batch._replace(parts=[part]))

        def loss(batch: Batch, is_padded: bool) -> Tensor:
            mask = torch.ones_like(batch.source, dtype=torch.bool) if is_padded else None
            return self._loss(batch._replace(source_mask=mask))[0]

        with symbolic_shapes.patch(use_duck_shape=False):  # type: ignore[attr-defined]
            for kind in itertools.product((False, True), repeat=2):
                # As often on each rank: one without such a batch adds zeros.
                parts = found[kind].to(self.device).parts if kind in found else []
                for is_padded in (False, True):
                    try:
                        self._gradients.add_up([partial(loss, b, is_padded) for _, b in parts])
                    except torch.OutOfMemoryError as error:
                        told = tell_memory(self._config, found[kind], self.state.step + 1)
                        raise ValueError(told) from error
        self.state.optimizer.zero_grad()

    def meter(self) -> Meter:
        """What measures the speed of this training, from now on."""
        vocab_size = self._ids.meta.target_vocab_size
        return Meter(
            self._model_config,
            vocab_size,
            self._ids.train,
            self.device,
            self._ranks,
            self._peak_flops,
        )

    def step(self, batch: StepBatch) -> None:
        """One optimizer step. Reads nothing back from the device.

        Raises:
            ValueError: the device's memory does not hold it.
        """
        config = self._config
        try:
            self._step(batch)
        except torch.OutOfMemoryError as error:
            raise ValueError(tell_memory(config, batch, self.state.step + 1)) from error

    def _start(self) -> TrainState:
        meta = self._ids.meta
        torch.manual_seed(self._config.seed)
        model = Transformer(self._model_config, meta.source_vocab_size, meta.target_vocab_size)
        self._start_with.initialize(model)
        model = model.to(self.device)
        optimizer = make_optimizer(self._config.optimizer, model.parameters())
        average = WeightAverage(self._config.average_checkpoints)
        accuracy = torch.zeros((), device=self.device)
        state = TrainState(model, optimizer, average, zero_sums(self.device), accuracy)
        if self._ranks.is_first:
            saved = self._resume.load()
            if saved is not None:
                restore(state, saved)
        if self._ranks.world_size > 1:
            # Initial weights too: another machine may draw others from the same seed.
            shared = self._ranks.share(capture(state) if self._ranks.is_first else None)
            if not self._ranks.is_first:
                restore(state, shared)
        return state

    def _save(self, begin: float) -> None:
        """Hands on the state, unless it was handed on, or came, as it is."""
        state = self.state
        if self._resume.save is not None and state.step != self._saved_step:
            self._check_sums()
            state.seconds = time.monotonic() - begin
            self._resume.save(capture(state))
            self._saved_step = state.step
        self._last_save = time.monotonic()

    def _step(self, step_batch: StepBatch) -> None:
        config, state = self._config, self.state
        rate = learning_rate(config, self._model_config.d_model, self.num_steps, state.step + 1)
        set_learning_rate(state.optimizer, rate)
        # One count for the whole step: how it is cut into parts changes nothing.
        num_target_tokens = int(self._ids.train.target_lengths[step_batch.indices].sum())
        self._num_correct = torch.zeros((), device=self.device)

        def loss(part: int, batch: Batch) -> Tensor:
            torch.manual_seed(mask_seed(config.seed, state.step, part))
            value, hidden = self._loss(batch)
            if self._is_accuracy_due():
                self._num_correct += self._count_correct(hidden, batch)
            return value / num_target_tokens

        step_loss = self._gradients.add_up([partial(loss, *part) for part in step_batch.parts])
        parameters = list(state.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if config.max_grad_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, config.max_grad_norm, norm)
        if self._is_accuracy_due():
            self._ranks.add_up(self._num_correct)
            state.accuracy += self._num_correct / num_target_tokens
        state.optimizer.step()
        state.optimizer.zero_grad()
        state.step += 1
        state.num_target_tokens += num_target_tokens
        sums = state.sums
        is_bad = ~torch.isfinite(step_loss + norm) & (sums.first_bad_step == 0)
        state.sums = Sums(
            loss=sums.loss + step_loss * num_target_tokens,
            gradient_norm=sums.gradient_norm + norm,
            first_bad_step=torch.where(is_bad, state.step, sums.first_bad_step),
        )

    def _make_forward(self, variants: Variants) -> Callable[[Transformer, Batch], _Forwarded]:
        """Model and batch -> summed loss, hidden states [N, D]; compiled if that is asked for."""
        hidden_states, smoothing = self._start_with.forward, self._config.label_smoothing
        cross_entropy = plain_cross_entropy if variants.plain_loss else smoothed_cross_entropy
        if self._is_compiled and not variants.plain_loss:
            # The usual loss makes its gradients in the forward pass, which no compiler follows.
            hidden_states = torch.compile(hidden_states, dynamic=True)

        def forward(model: Transformer, batch: Batch) -> _Forwarded:
            hidden = hidden_states(model, batch)
            weight, bias = model.output_projection.weight, model.output_projection.bias
            return cross_entropy(hidden, weight, bias, batch.labels, smoothing), hidden

        if self._is_compiled and variants.plain_loss:
            return torch.compile(forward, dynamic=True)
        return forward

    def _loss(self, batch: Batch) -> _Forwarded:
        with autocast(self.device, self.precision):
            return self._forward(self.state.model, batch)

    def _count_correct(self, hidden: Tensor, batch: Batch) -> Tensor:
        projection = self.state.model.output_projection
        with autocast(self.device, self.precision):
            scores = score_targets(hidden, projection.weight, projection.bias, batch.labels)
        return scores.num_correct

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
            train_loss=state.sums.loss.item() / state.num_target_tokens,
            learning_rate=rate,
            gradient_norm=state.sums.gradient_norm.item() / (state.step - last),
        )
        state.train_rows.append(row)
        state.sums, state.num_target_tokens = zero_sums(self.device), 0
        return row

    def _check_sums(self) -> None:
        if bad := int(self.state.sums.first_bad_step.item()):
            rate = learning_rate(self._config, self._model_config.d_model, self.num_steps, bad)
            indices = self.batches.indices(bad - 1)
            raise DivergedError(tell_divergence(self._ids.train, indices, bad, rate))

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
            self._plan.batch_tokens,
            self.precision,
            state.step,
            self._ranks,
            self._start_with.forward,
        )
        set_weights(model, present)
        state.valid_rows.append(row)
        for reporter in self._reporters:
            reporter.on_validation(row)
        if row.valid_loss < state.best_loss:
            state.best_loss, state.best_step, state.num_bad_validations = (
                row.valid_loss,
                state.step,
                0,
            )
            if config.early_stopping_patience is not None:
                state.best_weights = mean
        else:
            state.num_bad_validations += 1

    def _finish(self) -> TrainResult:
        return final_result(self.state, self._plan, self._ids, self._model_config)

    def _is_validation_due(self) -> bool:
        every = self._config.validate_every_steps or self._plan.num_batches
        return self.state.step % every == 0

    def _is_out_of_patience(self) -> bool:
        patience = self._config.early_stopping_patience
        return patience is not None and self.state.num_bad_validations >= patience


def mask_seed(seed: int, step: int, part: int) -> int:
    """The seed of the dropout masks of one part of one step: the same wherever training resumed."""
    words = np.random.SeedSequence([seed, step, part]).generate_state(1, np.uint64)
    return int(words[0]) >> 1  # torch takes signed numbers
