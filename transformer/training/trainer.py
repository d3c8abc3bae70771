"""The training loop."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.model.weights import model_weights, set_weights
from transformer.text.ids import Ids
from transformer.text.lexicon import fit_lexicon
from transformer.text.pairs import PairDataset
from transformer.training.averaging import MovingAverage, WeightAverage
from transformer.training.batching import Batch
from transformer.training.compilation import compile_ahead, is_compiled
from transformer.training.config import TrainConfig
from transformer.training.device import autocast, choose_device, choose_precision, device_memory
from transformer.training.distributed import SINGLE_PROCESS, Ranks
from transformer.training.forward import Forward, hidden_states, make_loss, score_batch
from transformer.training.interruption import Resume, TrainingStopped
from transformer.training.lexical_embeddings import use_lexicon
from transformer.training.loader import StepBatch, StepBatches, loading
from transformer.training.observer import Observer
from transformer.training.optimizer import make_optimizer, set_learning_rate
from transformer.training.problems import check_lengths, diverged, memory_checked
from transformer.training.reporting import TrainRow, ValidRow
from transformer.training.result import TrainResult, final_result
from transformer.training.schedule import check_warmup, learning_rate
from transformer.training.sentence_batches import make_plan
from transformer.training.size import check_memory
from transformer.training.state import Sums, TrainState, zero_sums
from transformer.training.validation import validate
from transformer.training.variants import Variants, use_variants


class Trainer:
    """Trains a model from its initial weights, or from where an earlier process left, to the end.

    Every random number follows from `config.seed`: the initial weights, the order of batches by
    epoch, dropout by step. On one CPU the same arguments and number of threads give the same bits,
    however often training was stopped on the way. All that changes is in `state`.

    Args:
        config: the section `train`.
        model_config: the section `model`.
        ids: what is trained and validated on.
        observer: hears of training as it goes, on this rank.
        resume: what to go on from, and when to save and stop.
        ranks: the processes that train together. Each makes a trainer from the same arguments,
            but for what saves, which the first alone should have, and gets the same result.
        initialize: called once with the model, its weights drawn, before the first step.
        forward: the way through the model; a translator's if not said otherwise.
        variants: other forms of a step's computation.
        resegment: gives the training pairs of each epoch, where they are not always the same;
            batches are planned by the lengths of the usual ones.

    Raises:
        ValueError: the config does not fit the data or the machine.
    """

    def __init__(
        self,
        config: TrainConfig,
        model_config: ModelConfig,
        ids: Ids,
        observer: Observer | None = None,
        *,
        resume: Resume | None = None,
        ranks: Ranks = SINGLE_PROCESS,
        initialize: Callable[[Transformer], None] | None = None,
        forward: Forward = hidden_states,
        variants: Variants | None = None,
        resegment: Callable[[int], PairDataset] | None = None,
    ) -> None:
        variants = variants or Variants()
        self._config, self._model_config, self._ids = config, model_config, ids
        self._observer, self._resume = observer or Observer(), resume or Resume()
        self._ranks, self._forward = ranks, forward
        self.device = ranks.device(choose_device(config.device))
        self.precision = choose_precision(config.precision, self.device)
        train = ids.train
        self._plan = make_plan(config, train.source_lengths, train.target_lengths)
        self.batches = StepBatches(
            self._plan, resegment or train, ids.meta, config.gradient_accumulation, ranks
        )
        self.num_steps = self._plan.num_batches * config.max_epochs
        if config.max_steps is not None:
            self.num_steps = min(self.num_steps, config.max_steps)
        if self.num_steps:
            check_warmup(config, self.num_steps)
        check_lengths(ids, model_config.max_positions)
        sizes = ids.meta.source_vocab_size, ids.meta.target_vocab_size
        check_memory(model_config, *sizes, device_memory(self.device, ranks.local_world_size))
        self.state = self._begin(initialize)
        use_variants(self.state.model, variants, self.precision)
        self._gradients = ranks.gradients(self.state.model)
        self._is_compiled = is_compiled(config, self.device)
        self._loss_of = make_loss(
            forward,
            config.label_smoothing,
            r_drop=config.r_drop,
            is_compiled=self._is_compiled,
            is_plain=variants.plain_loss,
        )
        self._saved_step, self._last_save = self.state.step, 0.0

    def run(self) -> TrainResult:
        """Trains from the present state to the end.

        Raises:
            DivergedError: the loss or the gradient is not finite.
            PeerLostError: another rank has gone.
            TrainingStopped: as `resume` requested; the state was saved, if `resume` says how.
            ValueError: the device's memory does not hold a batch.
        """
        try:
            self._run()
            return final_result(self.state, self._plan, self._ids, self._model_config)
        finally:
            self._observer.on_end()

    def _run(self) -> None:
        config, state, observer = self._config, self.state, self._observer
        observer.on_start(self.num_steps, state.model.num_parameters(), state.step)
        if not self.num_steps:
            observer.on_validation(self._validate())
            return
        state.model.train()
        self.warm_up()
        observer.on_ready(state.seconds)
        self._last_save = time.monotonic()
        begin = self._last_save - state.seconds  # as if the steps that were lost had never been
        with loading(self.batches, self.device, state.step) as loader:
            while state.step < self.num_steps and not self._is_out_of_patience():
                if self._ranks.any(self._resume.is_stop_requested()):
                    self._save(begin)
                    self._resume.flush()
                    self._ranks.barrier()  # who leaves early may have the others ended as they save
                    raise TrainingStopped(state.step, self.num_steps)
                batch = loader.take()
                self.step(batch)
                observer.on_step(batch, loader.seconds_waited)
                if state.step % self._plan.num_batches == 0:
                    self._close_epoch()
                is_last = state.step == self.num_steps
                is_validation = is_last or self._is_validation_due()
                if is_validation or state.step % config.log_every_steps == 0:
                    observer.on_log(self._read())
                    if is_validation:
                        observer.on_validation(self._validate())
                if not is_last and time.monotonic() - self._last_save >= config.save_every_seconds:
                    self._save(begin)

    def warm_up(self) -> None:
        """Compiles all that steps will run, if they are to be compiled; changes no state.

        Raises:
            ValueError: the device's memory does not hold a batch.
        """
        if self._is_compiled:
            compile_ahead(
                lambda batch: self._loss(batch)[0],
                self._gradients,
                self.batches,
                range(self.state.step, self.num_steps),
                self._config,
                self.device,
            )
            self.state.optimizer.zero_grad()

    def step(self, batch: StepBatch) -> None:
        """One optimizer step. Reads nothing back from the device.

        Raises:
            ValueError: the device's memory does not hold it.
        """
        with memory_checked(self._config, batch, self.state.step + 1):
            self._step(batch)

    def _step(self, step_batch: StepBatch) -> None:
        config, state = self._config, self.state
        set_learning_rate(state.optimizer, self._rate(state.step + 1))

        # Forward and backward, part by part. One count of tokens for the whole step: how it is cut
        # into parts changes nothing.
        num_target_tokens = step_batch.num_target_tokens
        is_accuracy_due = self._is_accuracy_due()
        num_correct = torch.zeros((), device=self.device)

        def loss(part: int, batch: Batch) -> Tensor:
            torch.manual_seed(mask_seed(config.seed, state.step, part))
            value, hidden = self._loss(batch)
            if is_accuracy_due:
                with autocast(self.device, self.precision):
                    num_correct.add_(score_batch(state.model, hidden, batch).num_correct)
            return value / num_target_tokens

        step_loss = self._gradients.backward([partial(loss, *part) for part in step_batch.parts])
        if is_accuracy_due:
            self._ranks.all_reduce(num_correct)
            state.accuracy += num_correct / num_target_tokens

        parameters = list(state.model.parameters())
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if config.max_grad_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, config.max_grad_norm, norm)
        state.optimizer.step()
        state.optimizer.zero_grad()
        state.step += 1
        if state.moving is not None:
            state.moving.update(model_weights(state.model), state.step)

        # What the next row of the curve is made of stays on the device.
        state.num_target_tokens += num_target_tokens
        sums = state.sums
        is_bad = ~torch.isfinite(step_loss + norm) & (sums.first_bad_step == 0)
        state.sums = Sums(
            loss=sums.loss + step_loss * num_target_tokens,
            gradient_norm=sums.gradient_norm + norm,
            first_bad_step=torch.where(is_bad, state.step, sums.first_bad_step),
        )

    def _loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed loss of a batch, and its hidden states [N, D]."""
        with autocast(self.device, self.precision):
            return self._loss_of(self.state.model, batch)

    def _begin(self, initialize: Callable[[Transformer], None] | None) -> TrainState:
        """The state to begin with: a new one, or what an earlier process left."""
        meta = self._ids.meta
        torch.manual_seed(self._config.seed)
        model = Transformer(self._model_config, meta.source_vocab_size, meta.target_vocab_size)
        if self._config.initial_embeddings == "lexicon":
            sizes = meta.source_vocab_size, meta.target_vocab_size
            use_lexicon(model, fit_lexicon(self._ids.train, *sizes))
        if initialize is not None:
            initialize(model)
        model = model.to(self.device)
        optimizer = make_optimizer(self._config.optimizer, model)
        average = WeightAverage(self._config.average_checkpoints)
        accuracy = torch.zeros((), device=self.device)
        state = TrainState(model, optimizer, average, zero_sums(self.device), accuracy)
        if self._config.ema_decay is not None:
            state.moving = MovingAverage(model_weights(model), self._config.ema_decay)
        is_first = self._ranks.is_first
        saved = self._resume.load() if is_first else None
        if saved is not None:
            state.load_state_dict(saved)
        if self._ranks.world_size > 1:
            # Initial weights too: another machine may draw others from the same seed.
            shared = self._ranks.broadcast(state.state_dict() if is_first else None)
            if not is_first:
                state.load_state_dict(shared)
        return state

    def _save(self, begin: float) -> None:
        """Hands on the state, unless it was handed on, or came, as it is."""
        state = self.state
        if self._resume.save is not None and state.step != self._saved_step:
            self._check_sums()
            state.seconds = time.monotonic() - begin
            self._resume.save(state.state_dict())
            self._saved_step = state.step
        self._last_save = time.monotonic()

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
        state = self.state
        last = state.train_rows[-1].step if state.train_rows else 0
        row = TrainRow(
            step=state.step,
            train_loss=state.sums.loss.item() / state.num_target_tokens,
            learning_rate=self._rate(state.step),
            gradient_norm=state.sums.gradient_norm.item() / (state.step - last),
        )
        state.train_rows.append(row)
        state.sums, state.num_target_tokens = zero_sums(self.device), 0
        return row

    def _check_sums(self) -> None:
        if bad := int(self.state.sums.first_bad_step.item()):
            raise diverged(self._ids.train, self.batches.indices(bad - 1), bad, self._rate(bad))

    def _rate(self, step: int) -> float:
        return learning_rate(self._config, self._model_config.d_model, self.num_steps, step)

    def _validate(self) -> ValidRow:
        """Scores the mean of the latest snapshots: what would be saved if training ended here."""
        config, state, model = self._config, self.state, self.state.model
        state.average.add(model_weights(model) if state.moving is None else state.moving.weights)
        mean = state.average.mean()
        latest = {name: value.clone() for name, value in model_weights(model).items()}
        set_weights(model, mean)
        row = validate(
            model,
            self._ids,
            self._plan.batch_tokens,
            self.precision,
            state.step,
            self._ranks,
            self._forward,
        )
        set_weights(model, latest)
        state.valid_rows.append(row)
        if row.valid_loss < state.best_loss:
            state.best_loss, state.best_step = row.valid_loss, state.step
            state.num_bad_validations = 0
            if config.early_stopping_patience is not None:
                state.best_weights = mean
        else:
            state.num_bad_validations += 1
        return row

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
