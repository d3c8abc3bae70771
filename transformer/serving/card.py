"""The card of an exported translator: read, then held against the files beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.files import read_json, sha256_file

CARD = "translator.json"
FORMAT = 1


@dataclass(frozen=True)
class Card:
    """What serving needs of `translator.json`. Lengths are in tokens with the end mark."""

    source_language: str
    target_language: str
    # Arguments of `normalise`, as the training text was treated.
    source_normalisation: dict[str, bool]
    beam_size: int
    length_penalty: float
    # At most floor(factor * source tokens) + extra target tokens, never over max_target_tokens.
    max_length_factor: float
    max_length_extra: int
    max_source_tokens: int
    max_target_tokens: int
    target_vocab_size: int
    graph_file: str
    graph_inputs: tuple[str, ...]
    precision: str
    tokenizer_sha256: str
    model_hash: str


def load_card(folder: Path) -> Card:
    """Reads the card and verifies the SHA-256 of every file that it lists.

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
    _verify(folder, path, values)
    return card


def _parse(path: Path, values: dict[str, Any]) -> Card:
    try:
        search, graph = values["search"], values["graph"]
        return Card(
            source_language=str(values["source_language"]),
            target_language=str(values["target_language"]),
            source_normalisation={
                str(name): bool(value) for name, value in values["normalisation"]["source"].items()
            },
            beam_size=int(search["beam_size"]),
            length_penalty=float(search["length_penalty"]),
            max_length_factor=float(search["max_length_factor"]),
            max_length_extra=int(search["max_length_extra"]),
            max_source_tokens=int(values["max_source_tokens"]),
            max_target_tokens=int(values["max_target_tokens"]),
            target_vocab_size=int(values["model"]["target_vocab_size"]),
            graph_file=str(graph["file"]),
            graph_inputs=tuple(map(str, graph["inputs"])),
            precision=str(graph["precision"]),
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


def _verify(folder: Path, path: Path, values: dict[str, Any]) -> None:
    files = values.get("files")
    if not isinstance(files, dict) or values["graph"]["file"] not in files:
        raise ValueError(
            f"{path}: `files` must list the graph {values['graph']['file']!r} with its SHA-256; "
            "export the translator again"
        )
    for name, expected in sorted(files.items()):
        if Path(name).name != name:
            raise ValueError(f"{path}: files.{name!r} must be a plain name in this folder")
        file = folder / name
        if not file.is_file():
            raise ValueError(
                f"{file} is missing, but {CARD} lists it; copy the whole folder, or export again"
            )
        if sha256_file(file) != expected:
            raise ValueError(
                f"{file} is not the file that {CARD} describes (its SHA-256 differs); "
                "it was changed, cut short, or belongs to another translator: "
                "copy the whole folder again, or export again"
            )
