"""The card of an exported translator: read, then held against the files beside it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.files import read_json, sha256_file

CARD = "translator.json"
FORMAT = 3


@dataclass(frozen=True)
class Graph:
    """One graph of a translator."""

    # None: it was left out at the export, for `problems`.
    file: str | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Card:
    """What serving needs of `translator.json`. Lengths are in tokens with the end mark."""

    source_language: str
    target_language: str
    # Arguments of `normalize`, as the training text was treated.
    source_normalization: dict[str, bool]
    beam_size: int
    length_penalty: float
    # Infinite for none.
    patience: float
    # At most floor(factor * source tokens) + extra target tokens, never over max_target_tokens.
    max_length_factor: float
    max_length_extra: int
    max_source_tokens: int
    max_target_tokens: int
    target_vocab_size: int
    # By precision, those that were left out too.
    graphs: Mapping[str, Graph]
    # By provider, `cpu` and `cuda`.
    default_precision: Mapping[str, str]
    graph_inputs: tuple[str, ...]
    # SHA-256 by name, of every file but the card and its page.
    files: Mapping[str, str]
    tokenizer_sha256: str
    model_hash: str

    @property
    def precisions(self) -> list[str]:
        """Those that can be run."""
        return [name for name, graph in self.graphs.items() if graph.file is not None]


def load_card(folder: Path) -> Card:
    """Reads the card and verifies the SHA-256 of every file that it lists, but for the graphs.

    A graph is verified when it is opened (`verify_graph`): the others need not even be there.

    Args:
        folder: an exported translator, such as models/translator.

    Raises:
        ValueError: there is no translator; the card is not JSON, of an unknown format, or lacks
            an entry; a listed file is missing or differs. The message names folder or file.
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
    card = _parse(path, values)
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


def _parse(path: Path, values: dict[str, Any]) -> Card:
    try:
        search = values["search"]
        card = Card(
            source_language=str(values["source_language"]),
            target_language=str(values["target_language"]),
            source_normalization={
                str(name): bool(value) for name, value in values["normalization"]["source"].items()
            },
            beam_size=int(search["beam_size"]),
            length_penalty=float(search["length_penalty"]),
            patience=math.inf if search["patience"] is None else float(search["patience"]),
            max_length_factor=float(search["max_length_factor"]),
            max_length_extra=int(search["max_length_extra"]),
            max_source_tokens=int(values["max_source_tokens"]),
            max_target_tokens=int(values["max_target_tokens"]),
            target_vocab_size=int(values["model"]["target_vocab_size"]),
            graphs={
                str(name): Graph(
                    None if graph["file"] is None else str(graph["file"]),
                    tuple(map(str, graph["problems"])),
                )
                for name, graph in values["graphs"].items()
            },
            default_precision={
                provider: str(values["default_precision"][provider]) for provider in ("cpu", "cuda")
            },
            graph_inputs=tuple(map(str, values["interface"]["inputs"])),
            files={str(name): str(digest) for name, digest in values["files"].items()},
            tokenizer_sha256=str(values["tokenizer_sha256"]),
            model_hash=str(values["model_hash"]),
        )
    except KeyError as error:
        raise ValueError(
            f"{path}: the entry {error} is missing; export the translator again"
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path}: an entry has the wrong type ({error}); export the translator again"
        ) from None
    _check(path, card)
    return card


def _check(path: Path, card: Card) -> None:
    for name in card.files:
        if Path(name).name != name:
            raise ValueError(f"{path}: files.{name!r} must be a plain name in this folder")
    for precision in card.precisions:
        file = card.graphs[precision].file
        if file not in card.files:
            raise ValueError(
                f"{path}: `files` must list the graph {file!r} with its SHA-256; "
                "export the translator again"
            )
    for provider, precision in card.default_precision.items():
        if precision not in card.precisions:
            raise ValueError(
                f"{path}: default_precision.{provider} = {precision!r}: allowed are "
                f"{', '.join(card.precisions)}; export the translator again"
            )


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
