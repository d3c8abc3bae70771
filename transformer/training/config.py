"""The `train` section: how the model is fitted."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from transformer.config import Section
from transformer.text.segmentation_config import SegmentationConfig


class NoamSchedule(Section):
    """Linear warm-up, then the inverse square root, scaled by the width (2017, section 5.3).

    `learning_rate` is a factor here, 1.0 in the paper.
    """

    kind: Literal["noam"]
    warmup_steps: int = Field(ge=1)


class InverseSqrtSchedule(Section):
    """Linear warm-up to `learning_rate`, then falling with the inverse square root of the step."""

    kind: Literal["inverse_sqrt"]
    warmup_steps: int = Field(ge=1)
    # Never below this once warmed up.
    minimum: float = Field(ge=0)


class LinearSchedule(Section):
    """Linear warm-up to `learning_rate`, then a straight line to zero at the last step."""

    kind: Literal["linear"]
    warmup_steps: int = Field(ge=0)


class ConstantSchedule(Section):
    """Linear warm-up to `learning_rate`, then that."""

    kind: Literal["constant"]
    warmup_steps: int = Field(ge=0)


ScheduleConfig = Annotated[
    NoamSchedule | InverseSqrtSchedule | LinearSchedule | ConstantSchedule,
    Field(discriminator="kind"),
]


class AdamConfig(Section):
    """Adam, or AdamW with decoupled weight decay (Loshchilov & Hutter 2019)."""

    kind: Literal["adamw", "adam"]
    beta1: float = Field(ge=0, lt=1)
    beta2: float = Field(ge=0, lt=1)
    epsilon: float = Field(gt=0)
    # On matrices only: not on biases, nor on a norm's scale.
    weight_decay: float = Field(ge=0)


class MuonConfig(Section):
    """Muon for the matrices of the layers, AdamW for embeddings, biases and norms.

    Both have the same learning rate and weight decay; see `transformer.training.muon`.
    """

    kind: Literal["muon"]
    momentum: float = Field(ge=0, lt=1)
    # AdamW's, as above.
    beta1: float = Field(ge=0, lt=1)
    beta2: float = Field(ge=0, lt=1)
    epsilon: float = Field(gt=0)
    weight_decay: float = Field(ge=0)


OptimizerConfig = Annotated[AdamConfig | MuonConfig, Field(discriminator="kind")]


class TrainConfig(Section):
    """Everything that `train` reads beside the data and the model."""

    # null: initial weights are drawn. pretrained: those of the stage `pretrain` take their place,
    # as far as they fit.
    initialize_from: Literal["pretrained"] | None
    # random: drawn. lexicon: a source token begins near what may translate it, by IBM Model 1 of
    # the training text; see transformer.training.lexical_embeddings.
    initial_embeddings: Literal["random", "lexicon"]
    # Of the initial weights, the order of batches, every dropout mask.
    seed: int = Field(ge=0, lt=2**32)
    # auto: CUDA where there is one, else the CPU.
    device: Literal["auto", "cpu", "cuda"]
    # Of the matrix products; weights stay float32. auto: bfloat16 on CUDA, float32 on the CPU.
    precision: Literal["auto", "float32", "bfloat16"]
    # Processes that train together on this machine, each on a device of its own, or on its share
    # of the CPU's cores. Those that torchrun starts count themselves.
    num_processes: int = Field(ge=1, le=1024)
    # CPU threads of each process; null leaves it to PyTorch, and shares the cores between several
    # processes. Another number may change the last bits of a result.
    num_threads: int | None = Field(ge=1, le=1024)
    # torch.compile. auto: on CUDA only; on a CPU its warm-up costs more than it gains.
    compile: Literal["auto"] | bool
    # The same bits from the same start on one GPU, resumed or not; slower. A CPU has them anyway.
    deterministic: bool
    # The size of a batch: sentences x max(source length, target length), padding included, of
    # sentences of similar length; or so many sentences drawn at random. One of the two is null.
    batch_tokens: int | None = Field(ge=1, le=10**8)
    batch_sentences: int | None = Field(ge=1, le=10**8)
    # So many batches, one after the other or on several processes, make one optimizer step of as
    # many times the size. Half the batch_tokens with twice this is the same training in less
    # memory. Where there are more processes than batches, each batch is cut further.
    gradient_accumulation: int = Field(ge=1, le=10**6)
    # The end comes with whichever is reached first. 0 epochs: the weights stay as they begin, which
    # is for a model that was trained already.
    max_epochs: int = Field(ge=0)
    max_steps: int | None = Field(ge=1)
    learning_rate: float = Field(gt=0)
    schedule: ScheduleConfig
    optimizer: OptimizerConfig
    # Gradients are scaled down to this norm; null leaves them.
    max_grad_norm: float | None = Field(gt=0)
    # The share of the label's probability that is spread over the vocabulary.
    label_smoothing: float = Field(ge=0, lt=1)
    # R-Drop (Liang et al. 2021): each batch is passed twice, and this times the divergence between
    # the two predictions is added to the loss; 5 in the paper. 0: one pass.
    r_drop: float = Field(ge=0, le=1000)
    # Cut the training text's words into other pieces in each epoch; null: always alike.
    segmentation: SegmentationConfig | None
    # null: at the end of each epoch.
    validate_every_steps: int | None = Field(ge=1)
    # Stop after this many validations without a lower loss, and keep the weights of the lowest.
    # null: train to the end, and keep the last weights.
    early_stopping_patience: int | None = Field(ge=1)
    # Validate and save the mean of the weights at this many latest validations; 1 is no averaging.
    average_checkpoints: int = Field(ge=1, le=1000)
    # These weights are an exponential moving average of each step's, with this decay (0.999 is the
    # mean of about the last thousand); null: the latest step's.
    ema_decay: float | None = Field(gt=0, lt=1)
    # Measure the token accuracy of training, dropout on, as the mean over so many last optimizer
    # steps of each epoch; null: not at all. It costs a second pass over their logits.
    accuracy_steps: int | None = Field(ge=1)
    # How often metrics are read from the device, in optimizer steps.
    log_every_steps: int = Field(ge=1)
    # A training that is killed loses at most this much work, and the step or validation that it
    # was at. 0 saves after every step. Changes no result.
    save_every_seconds: float = Field(ge=0)

    @model_validator(mode="after")
    def _one_batch_size(self) -> Self:
        sizes = {"batch_tokens": self.batch_tokens, "batch_sentences": self.batch_sentences}
        if sum(size is not None for size in sizes.values()) != 1:
            found = ", ".join(
                f"{name} = {'null' if size is None else size}" for name, size in sizes.items()
            )
            raise ValueError(f"{found}: set one of them, and the other to null")
        return self

    @model_validator(mode="after")
    def _warm_up_ends_before_training(self) -> Self:
        warmup = self.schedule.warmup_steps
        if self.max_steps is not None and warmup >= self.max_steps:
            raise ValueError(
                f"schedule.warmup_steps = {warmup} must be below max_steps = {self.max_steps}: "
                "the learning rate would never reach its peak; lower one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _minimum_is_below_peak(self) -> Self:
        if self.schedule.kind == "inverse_sqrt" and self.schedule.minimum > self.learning_rate:
            raise ValueError(
                f"schedule.minimum = {self.schedule.minimum} is above learning_rate = "
                f"{self.learning_rate}; the minimum can be the learning rate at most"
            )
        return self

    @model_validator(mode="after")
    def _validations_happen(self) -> Self:
        every = self.validate_every_steps
        if self.max_steps is not None and every is not None and every > self.max_steps:
            raise ValueError(
                f"validate_every_steps = {every} is above max_steps = {self.max_steps}: no "
                "validation would happen before the last step; lower it, or set null for each epoch"
            )
        return self
