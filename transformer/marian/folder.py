"""A MarianMT folder as a model with its tokenizers, and back."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file

from transformer.files import atomic_folder, read_json, write_json
from transformer.marian.config import CONFIG, GENERATION, describe_config, read_config
from transformer.marian.sentencepiece import from_tokenizer, read_model, to_tokenizer, write_model
from transformer.marian.weights import SAFETENSORS, read_state, to_marian, to_ours
from transformer.model.checkpoint import CheckpointInfo
from transformer.model.transformer import Transformer
from transformer.model.weights import set_weights
from transformer.search.options import SearchConfig
from transformer.text.tokenizer import Tokenizer, TokenizerPair

SPM = {"source": "source.spm", "target": "target.spm"}
VOCAB = "vocab.json"
# Beside it, where the target has a vocabulary of its own.
TARGET_VOCAB = "target_vocab.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
# What a Hub id is asked for; nothing else of a folder is read.
FILES = (
    *(CONFIG, GENERATION, SAFETENSORS, "pytorch_model.bin", *SPM.values()),
    *(VOCAB, TARGET_VOCAB, TOKENIZER_CONFIG, "README.md"),
)


class MarianModel(NamedTuple):
    """What a folder holds."""

    model: Transformer  # in evaluation mode
    info: CheckpointInfo
    tokenizers: TokenizerPair
    search: dict[str, Any]  # values of the section `search`
    languages: dict[str, str]  # by side, where the folder says
    license: str | None  # where its README says


def find_folder(model: str, revision: str | None) -> Path:
    """A folder as it is, else what the Hugging Face Hub has under that id, in its cache here.

    Raises:
        ValueError: there is neither, or the Hub can't be reached.
    """
    folder = Path(model)
    if folder.is_dir():
        if revision is not None:
            raise ValueError(f"revision {revision!r} goes with a Hub id, but {model} is a folder")
        return folder
    if folder.exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", model) or model.startswith("."):
        raise ValueError(f"{model}: no such folder, nor an id as the Hub has: OWNER/NAME")
    if revision is None:
        raise ValueError(
            f"{model} is an id on the Hub: name the --revision, best a commit, so that it stays "
            "the same model"
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=list(FILES)))
    except Exception as error:  # its own, those of HTTP and of the system
        raise ValueError(
            f"{model} at revision {revision!r} can't be fetched from the Hugging Face Hub: {error}"
        ) from error


def read_folder(folder: Path) -> MarianModel:
    """Reads a folder as `transformers` and the Hub have it; runs no code of it.

    Raises:
        ValueError: a file is missing or damaged, or they don't belong together: what, by name.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    config = read_config(folder)
    separate = not config.is_shared
    names = [*SPM.values(), VOCAB, *([TARGET_VOCAB] if separate else [])]
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise ValueError(f"{folder}: {', '.join(missing)} missing; a MarianMT folder has them")
    tokenizers = {
        side: _read_tokenizer(
            folder / name, folder / (TARGET_VOCAB if separate and side == "target" else VOCAB)
        )
        for side, name in SPM.items()
    }
    pair = TokenizerPair(tokenizers["source"], tokenizers["target"])
    for side, size in (("source", config.source_vocab_size), ("target", config.target_vocab_size)):
        tokenizer = tokenizers[side]
        found = tokenizer.size, tokenizer.pad_id, tokenizer.eos_id
        if found != (size, config.pad_id, config.eos_id):
            raise ValueError(
                f"{folder}: the {side} vocabulary has {found[0]} tokens, <pad> is {found[1]} and "
                f"</s> is {found[2]}, but by {CONFIG} they are {size}, {config.pad_id} and "
                f"{config.eos_id}; the two are of different models"
            )
    sizes = config.source_vocab_size, config.target_vocab_size
    with torch.device("meta"):  # a size that is not the weights' is told before it takes memory
        shape = Transformer(config.model, *sizes)
    weights = to_ours(read_state(folder), shape, str(folder))
    model = Transformer(config.model, *sizes).eval()
    set_weights(model, weights)
    info = CheckpointInfo(
        model=config.model,
        source_vocab_size=config.source_vocab_size,
        target_vocab_size=config.target_vocab_size,
        source=pair.source.special,
        target=pair.target.special,
        tokenizer_sha256=pair.sha256,
    )
    return MarianModel(
        model, info, pair, config.search, _read_languages(folder), _read_license(folder)
    )


def write_folder(
    folder: Path,
    model: Transformer,
    tokenizers: TokenizerPair,
    search: SearchConfig,
    languages: Mapping[str, str],
) -> None:
    """Writes a model so that `transformers` loads it and translates the same.

    A pair of tokenizers that came out of SentencePiece goes back to it. One joint tokenizer of
    another kind is handed on as it is, for `transformers.PreTrainedTokenizerFast`.

    Args:
        folder: replaced whole, if all goes well.
        model: its shape must be one that MarianMT has.
        tokenizers: the model's.
        search: the defaults that are handed on.
        languages: by side.

    Raises:
        ValueError: MarianMT has no such model or vocabularies: every reason.
    """
    source, target = tokenizers.source, tokenizers.target
    sizes = source.size, target.size
    pieces = {side: from_tokenizer(getattr(tokenizers, side)) for side in SPM}
    is_shared = tokenizers.is_joint or _ids(pieces["source"]) == _ids(pieces["target"])
    config = describe_config(model.config, sizes, target.special, is_shared=is_shared)
    has_pieces = all(value is not None for value in pieces.values())
    if not has_pieces and not tokenizers.is_joint:
        raise ValueError(
            "the vocabularies have no form in MarianMT: it has one for each side from "
            "SentencePiece, or one joint one; set vocab.joint"
        )
    if not has_pieces and "\\\\x0E" in source.json:
        raise ValueError(
            "the vocabulary has no form in MarianMT: it marks capitals, which other programs "
            "don't; set vocab.joint.mark_case to false"
        )
    with atomic_folder(folder) as temporary:
        write_json(temporary / CONFIG, config)
        write_json(temporary / GENERATION, _describe_search(model, tokenizers, search))
        save_file(to_marian(model), temporary / SAFETENSORS, metadata={"format": "pt"})
        (temporary / SAFETENSORS).chmod(0o644)  # safetensors lets nobody else read it
        about: dict[str, Any] = {f"{side}_lang": language for side, language in languages.items()}
        if has_pieces:
            separate = not config["share_encoder_decoder_embeddings"]
            for side, name in SPM.items():
                found = pieces[side]
                assert found is not None, "has_pieces says so"
                write_model(temporary / name, found[0])
                if side == "source" or separate:
                    name = TARGET_VOCAB if side == "target" else VOCAB
                    write_json(temporary / name, found[1])
            about |= {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
        else:
            _write_fast(temporary, source)
            about |= {"tokenizer_class": "PreTrainedTokenizerFast"}
        names = {"pad_token": target.pad_id, "eos_token": target.eos_id, "unk_token": target.unk_id}
        about |= {name: target.pieces([id])[0] for name, id in names.items()}
        write_json(
            temporary / TOKENIZER_CONFIG, about | {"model_max_length": model.config.max_positions}
        )


def _read_tokenizer(spm: Path, vocab: Path) -> Tokenizer:
    ids = read_json(vocab)
    if not isinstance(ids, dict) or not all(type(id) is int for id in ids.values()):
        raise ValueError(f"{vocab}: expected a mapping of tokens to ids")
    return to_tokenizer(read_model(spm), ids, str(vocab))


def _read_languages(folder: Path) -> dict[str, str]:
    path = folder / TOKENIZER_CONFIG
    values = read_json(path) if path.is_file() else {}
    found = {side: values.get(f"{side}_lang") for side in SPM} if isinstance(values, dict) else {}
    return {side: language for side, language in found.items() if isinstance(language, str)}


def _read_license(folder: Path) -> str | None:
    # In the lines between the two rules that a model's page on the Hub begins with.
    path = folder / "README.md"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    header = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    found = re.search(r"^license: *['\"]?([\w.+-]+)", header[1], re.MULTILINE) if header else None
    return found[1] if found else None


def _ids(pieces: tuple[Any, dict[str, int]] | None) -> dict[str, int] | None:
    return None if pieces is None else pieces[1]


def _describe_search(
    model: Transformer, tokenizers: TokenizerPair, search: SearchConfig
) -> dict[str, Any]:
    special = tokenizers.target.special
    return {
        "num_beams": search.beam_size,
        "length_penalty": search.length_penalty,
        "early_stopping": search.patience == 1.0,
        "max_length": model.config.max_positions,
        "bad_words_ids": [[id] for id in sorted({special.pad_id, special.bos_id})],
        "pad_token_id": special.pad_id,
        "eos_token_id": special.eos_id,
        "forced_eos_token_id": special.eos_id,
        "decoder_start_token_id": special.bos_id,
    }


def _write_fast(folder: Path, tokenizer: Tokenizer) -> None:
    value = json.loads(tokenizer.json)
    eos = tokenizer.pieces([tokenizer.eos_id])[0]
    single = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": eos, "type_id": 0}}]
    value["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": single,
        "special_tokens": {eos: {"id": eos, "ids": [tokenizer.eos_id], "tokens": [eos]}},
    }
    write_json(folder / "tokenizer.json", value)
