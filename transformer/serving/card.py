"""The card of an exported translator, translator.json: one schema for its writer and its readers.

It is sealed: an entry holds the SHA-256 of all others. A change of what it holds raises `FORMAT`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, model_validator

from transformer.config import ConfigError, Section, parse_section
from transformer.files import read_json, sha256_file, write_json
from transformer.files import seal as seal_by
from transformer.model.config import ModelConfig
from transformer.search.options import SearchConfig
from transformer.text.clean_config import NormalizationConfig
from transformer.text.corpus_config import Language, Name
from transformer.text.special_tokens import SpecialIds
from transformer.text.synthetic_share import SyntheticShare

CARD = "translator.json"
FORMAT = 7
# Beside the fields of `Card`, the SHA-256 of their values.
SEAL = "sha256"
# What every graph takes, as `SearchOptions.graph_inputs` makes it, and what it gives.
INPUTS = ("source", "max_length", "length_penalty", "patience", "beam_size", "num_best")
OUTPUTS = ("target", "scores", "lengths")

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Precision = Annotated[str, Field(pattern="^(float32|int8|float16)$")]
_Count = Annotated[int, Field(ge=1)]
_Bleu = Annotated[float, Field(ge=0, le=100)]
_BleuLoss = Annotated[float, Field(ge=-100, le=100)]
_Difference = Annotated[float, Field(ge=0)]


class Graph(Section):
    """One graph, held against PyTorch on the test set."""

    # None: it failed, and is not in the folder, for `problems`.
    file: str | None
    passed: bool
    problems: list[str]
    size_bytes: _Count
    measured_on: Literal["cpu", "cuda"]
    bleu: _Bleu
    # Of `bleu`, as sacreBLEU writes it.
    signature: str
    # PyTorch's BLEU minus the graph's, with the 95 % interval of paired resamples.
    bleu_loss: _BleuLoss
    bleu_loss_low: _BleuLoss
    bleu_loss_high: _BleuLoss
    # Of the translations, those that equal PyTorch's.
    identical_share: float = Field(ge=0, le=1)
    max_score_difference: _Difference
    max_logit_difference: _Difference

    @model_validator(mode="after")
    def _is_there_if_it_passed(self) -> Self:
        if self.passed != (self.file is not None) or self.passed == bool(self.problems):
            raise ValueError(
                f"passed = {self.passed}, file = {self.file!r}, problems = {self.problems}: what "
                "passed has a file and no problems, what failed has problems and no file"
            )
        return self


class GraphInterface(Section):
    """What every graph takes and gives, by name, in the graph's order."""

    opset: int = Field(ge=1, le=100)
    attention: Literal["fused", "portable"]
    inputs: list[str]
    outputs: list[str]

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for what, known in (("inputs", INPUTS), ("outputs", OUTPUTS)):
            names: Sequence[str] = getattr(self, what)
            if sorted(names) != sorted(known):
                missing = ", ".join(name for name in known if name not in names) or "none"
                unknown = ", ".join(name for name in names if name not in known) or "none"
                raise ValueError(
                    f"{what} = {names}: missing {missing}, unknown {unknown}; each of "
                    f"{', '.join(known)} must stand once"
                )
        return self


class ShortlistSizes(Section):
    """The params section `export.shortlist`."""

    num_frequent: _Count
    num_per_token: int = Field(ge=2)


class DefaultPrecision(Section):
    """What runs unless a user asks for something else."""

    cpu: Precision
    cuda: Precision


class ModelFacts(Section):
    """The model that the graphs were made of."""

    num_parameters: _Count
    source_vocab_size: _Count
    target_vocab_size: _Count
    # The params section `model`.
    config: ModelConfig


class PytorchScore(Section):
    """PyTorch's score on the test set."""

    bleu: _Bleu
    signature: str


class Corpus(Section):
    """Where the training text is from."""

    name: Name
    license: Name
    origin: str
    revision: str | None
    # Of the raw parts, by name.
    sha256: dict[str, Sha256]


class BaseModel(Section):
    """A model that was trained elsewhere, with whose weights the training began."""

    name: Name
    revision: str | None
    license: Name


class Normalization(Section):
    """How each side's training text was treated; a source is treated alike."""

    source: NormalizationConfig
    target: NormalizationConfig


_SpecialIds = Annotated[SpecialIds, PlainSerializer(SpecialIds._asdict)]


class SideSpecialIds(Section):
    """The special tokens of each side's vocabulary."""

    source: _SpecialIds
    target: _SpecialIds


class Provenance(Section):
    """What a translator's folder tells of its origin, and needs for its use."""

    source_language: Language
    target_language: Language
    special_ids: SideSpecialIds
    normalization: Normalization
    tokenizer_sha256: Sha256
    model_hash: Sha256
    corpus: Corpus
    # None: the training began with weights of its own.
    base_model: BaseModel | None = None
    # None: people wrote all of the training text, as far as is known.
    synthetic: SyntheticShare | None = None


class Card(Provenance):
    """All of translator.json. Lengths are in tokens with the end token."""

    format: int
    # The search's defaults.
    search: SearchConfig
    max_source_tokens: _Count
    max_target_tokens: _Count
    interface: GraphInterface
    default_precision: DefaultPrecision
    # By precision, those that were left out too.
    graphs: dict[Precision, Graph]
    # Of the int8 graph; None: the whole vocabulary.
    shortlist: ShortlistSizes | None
    # SHA-256 by name, of every file but the card and its page.
    files: dict[str, Sha256]
    model: ModelFacts
    pytorch: PytorchScore
    num_test_sentences: _Count
    # How many the test set has, where the scores are those of a sample; None, as cards of before
    # have it: of all.
    sampled_from: _Count | None = None

    @property
    def precisions(self) -> list[str]:
        """Those that can be run."""
        return [name for name, graph in self.graphs.items() if graph.file is not None]

    @model_validator(mode="after")
    def _files_belong_together(self) -> Self:
        for name in self.files:
            if Path(name).name != name:
                raise ValueError(f"files.{name!r} must be a plain name in this folder")
        for graph in self.graphs.values():
            if graph.file is not None and graph.file not in self.files:
                raise ValueError(f"`files` must list the graph {graph.file!r} with its SHA-256")
        for provider, precision in self.default_precision:
            if precision not in self.precisions:
                raise ValueError(
                    f"default_precision.{provider} = {precision!r}: allowed are "
                    f"{', '.join(self.precisions)}"
                )
        for side, special in self.special_ids:
            size: int = getattr(self.model, f"{side}_vocab_size")
            if not all(0 <= id < size for id in special):
                raise ValueError(
                    f"special_ids.{side} = {tuple(special)}: not all in the vocabulary of {size}"
                )
        return self


def seal(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a card with the SHA-256 of all but the seal itself."""
    return seal_by(values, SEAL)


def save_card(folder: Path, card: Card) -> None:
    """Writes `translator.json`, sealed."""
    write_json(folder / CARD, seal(card.model_dump()))


def load_card(folder: Path) -> Card:
    """Reads the card, verifies its seal and the SHA-256 of every listed file but the graphs.

    A graph is verified when it is opened (`verify_graph`): the others need not even be there.

    Args:
        folder: an exported translator, such as models/translator.

    Raises:
        ValueError: there is no translator; the card is not JSON, of an unknown format, was edited,
            or has entries that are missing, unknown, of the wrong type or out of range, each of
            which is told; a listed file is missing or differs. The message names folder or file.
    """
    path = folder / CARD
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no translator: {CARD} is missing; "
            "run `dvc repro` to make one, or name another folder"
        )
    values = read_json(path)
    found = values.get("format") if isinstance(values, dict) else None
    if found != FORMAT:
        raise ValueError(
            f"{path}: format = {found!r}, but this version reads format {FORMAT} only; "
            "export the translator again with this version, or use the version that wrote it"
        )
    if values.get(SEAL) != seal(values)[SEAL]:
        raise ValueError(
            f"{path} was changed after the export (its SHA-256 differs): a card is not to be "
            "edited; copy the whole folder again, or set the params and export again"
        )
    values = {name: value for name, value in values.items() if name != SEAL}
    card, problems = parse_section(Card, "card", values)
    if card is None:
        raise ValueError(f"{ConfigError(problems, str(path))}\nexport the translator again")
    graphs = {graph.file for graph in card.graphs.values()}
    for name in sorted(card.files):
        if name not in graphs:
            _verify(folder, card, name)
    return card


def verify_graph(folder: Path, card: Card, precision: str) -> Path:
    """The graph's file, once its SHA-256 has proved right.

    Raises:
        ValueError: there is no graph of this precision, or its file is missing or differs.
    """
    graph = card.graphs.get(precision)
    if graph is None or graph.file is None:
        reason = "" if graph is None else f"; it was left out: {'; '.join(graph.problems)}"
        raise ValueError(
            f"precision = {precision!r}: {folder} holds {', '.join(card.precisions)} alone{reason}"
        )
    return _verify(folder, card, graph.file)


def _verify(folder: Path, card: Card, name: str) -> Path:
    file = folder / name
    if not file.is_file():
        raise ValueError(
            f"{file} is missing, but {CARD} lists it; copy the whole folder, or export again"
        )
    if sha256_file(file) != card.files[name]:
        raise ValueError(
            f"{file} is not the file that {CARD} describes (its SHA-256 differs); "
            "it was changed, cut short, or belongs to another translator: "
            "copy the whole folder again, or export again"
        )
    return file
