"""The card of an exported translator, translator.json: one schema for its writer and its readers.

A change of what it holds raises `FORMAT`.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import PlainSerializer, model_validator

from transformer.config import ConfigError, Section, parse_section
from transformer.files import read_json, sha256_file
from transformer.search.options import SearchConfig
from transformer.text.clean_config import NormalizationConfig
from transformer.text.special_tokens import SpecialIds

CARD = "translator.json"
FORMAT = 5


class Graph(Section):
    """One graph, held against PyTorch on the test set."""

    # None: it failed, and is not in the folder, for `problems`.
    file: str | None
    passed: bool
    problems: list[str]
    size_bytes: int
    measured_on: Literal["cpu", "cuda"]
    bleu: float
    # Of `bleu`, as sacreBLEU writes it.
    signature: str
    # PyTorch's BLEU minus the graph's, with the 95 % interval of paired resamples.
    bleu_loss: float
    bleu_loss_low: float
    bleu_loss_high: float
    # Of the translations, those that equal PyTorch's.
    identical_share: float
    max_score_difference: float
    max_logit_difference: float


class GraphInterface(Section):
    """What every graph takes and gives, by name, in the graph's order."""

    opset: int
    attention: Literal["fused", "portable"]
    inputs: list[str]
    outputs: list[str]


class ModelFacts(Section):
    """The model that the graphs were made of."""

    num_parameters: int
    source_vocab_size: int
    target_vocab_size: int
    # The params section `model`.
    config: dict[str, Any]


class PytorchScore(Section):
    """PyTorch's score on the test set."""

    bleu: float
    signature: str


class Corpus(Section):
    """Where the training text is from."""

    name: str
    license: str
    origin: str
    revision: str | None
    # Of the raw parts, by name.
    sha256: dict[str, str]


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

    source_language: str
    target_language: str
    special_ids: SideSpecialIds
    normalization: Normalization
    tokenizer_sha256: str
    model_hash: str
    corpus: Corpus


class Card(Provenance):
    """All of translator.json. Lengths are in tokens with the end token."""

    format: int
    # The search's defaults.
    search: SearchConfig
    max_source_tokens: int
    max_target_tokens: int
    interface: GraphInterface
    # What runs on `cpu` and on `cuda` unless a user asks for something else.
    default_precision: dict[str, str]
    # By precision, those that were left out too.
    graphs: dict[str, Graph]
    # Of the int8 graph, the params section `export.shortlist`; None: the whole vocabulary.
    shortlist: dict[str, int] | None
    # SHA-256 by name, of every file but the card and its page.
    files: dict[str, str]
    model: ModelFacts
    pytorch: PytorchScore
    num_test_sentences: int
    # How many the test set has, where the scores are those of a sample; None, as cards of before
    # have it: of all.
    sampled_from: int | None = None

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
        for provider in ("cpu", "cuda"):
            precision = self.default_precision.get(provider)
            if precision not in self.precisions:
                raise ValueError(
                    f"default_precision.{provider} = {precision!r}: allowed are "
                    f"{', '.join(self.precisions)}"
                )
        return self


def load_card(folder: Path) -> Card:
    """Reads the card and verifies the SHA-256 of every file that it lists, but for the graphs.

    A graph is verified when it is opened (`verify_graph`): the others need not even be there.

    Args:
        folder: an exported translator, such as models/translator.

    Raises:
        ValueError: there is no translator; the card is not JSON, of an unknown format, or has
            entries that are missing, unknown or of the wrong type, each of which is told; a listed
            file is missing or differs. The message names folder or file.
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
