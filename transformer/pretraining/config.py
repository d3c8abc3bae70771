"""The `pretrain` section: what is learnt from text without translations, before `train`."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from transformer.config import Section
from transformer.text.monolingual import check_name
from transformer.training.config import TrainConfig


class NoPretraining(Section):
    """The stage does nothing."""

    kind: Literal["none"]


class ImportedModel(Section):
    """The weights of a model that was trained elsewhere, as `import` left them in data/imported."""

    kind: Literal["imported"]
    # Of where it was read from: an id on the Hugging Face Hub, or a folder's name.
    name: str = Field(min_length=1)
    # A commit, tag or branch there; null for a folder.
    revision: str | None
    # The model's, which goes onto the translator's card.
    license: str = Field(min_length=1)


class MonolingualFiles(Section):
    """UTF-8 files, plain or gzipped, a sentence a line; null: the side of the training pairs.

    They lie in one folder, which the stage depends on, so that an edited file is seen.
    """

    source: str | None
    target: str | None

    _are_names = field_validator("source", "target")(check_name)


class Pretraining(Section):
    """What the objectives have in common."""

    text: MonolingualFiles
    # How it is trained; as the section `train`, and apart from it.
    train: TrainConfig

    @model_validator(mode="after")
    def _begins_anew_in_one_process(self) -> Self:
        if self.train.initialize_from is not None:
            raise ValueError(
                f"train.initialize_from = {self.train.initialize_from!r}: pretraining begins with "
                "new weights; set it to null here, and to 'pretrained' in the section train"
            )
        if self.train.initial_embeddings != "random":
            raise ValueError(
                f"train.initial_embeddings = {self.train.initial_embeddings!r}: text without "
                "translations has no lexicon; set it to 'random' here"
            )
        if self.train.segmentation is not None:
            raise ValueError(
                "train.segmentation: pretraining makes its tasks of words as they are cut; set it "
                "to null here"
            )
        if self.train.num_processes > 1:
            raise ValueError(
                f"train.num_processes = {self.train.num_processes}: pretraining runs in one "
                "process; set it to 1 here"
            )
        return self


class SpanCorruption(Pretraining):
    """For the whole model: spans of a sentence are cut out, and written by the decoder."""

    kind: Literal["spans"]
    # Of the tokens that are cut out.
    noise_density: float = Field(gt=0, lt=1)
    # Tokens a span.
    mean_span_length: float = Field(ge=1)
    num_sentinels: int = Field(ge=1, le=10**4)
    # So many corruptions of each sentence are drawn; an epoch has them all.
    dupe_factor: int = Field(ge=1, le=1000)
    seed: int = Field(ge=0)


class MaskedModeling(Pretraining):
    """For the encoder: tokens of a source sentence are masked, and named."""

    kind: Literal["masked"]
    # Of the tokens that are selected.
    mask_probability: float = Field(gt=0, le=1)
    # Also tell whether one sentence follows another; for text whose lines do.
    next_sentence: bool
    # So many maskings of each sentence are drawn; an epoch has them all.
    dupe_factor: int = Field(ge=1, le=1000)
    seed: int = Field(ge=0)


class CausalModeling(Pretraining):
    """For the decoder: the next token of a target sentence, without any source."""

    kind: Literal["causal"]


PretrainConfig = Annotated[
    NoPretraining | ImportedModel | SpanCorruption | MaskedModeling | CausalModeling,
    Field(discriminator="kind"),
]
