"""SentencePiece's unigram models as `tokenizers` files that give the same pieces, and back."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from transformer.text.special_tokens import END_OF_VOCABULARY
from transformer.text.tokenizer import Tokenizer

SPACE = "▁"
# Stands before pieces of the other side's model, which have an id in a shared vocabulary and so a
# text, but are never cut out of one: no normalized text has this character.
FOREIGN = "\x01"
# The forms of Unicode that a rule of SentencePiece's makes, before its own table.
_RULES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
# NFKC makes a tilde of a full-width one, which SentencePiece's rules "nmt_" leave: it hides here.
_WIDE_TILDE, _HIDDEN_TILDE = "～", "\U000ffffd"
_UNIGRAM = 1
# Kinds of pieces.
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)


class SentencePieces(NamedTuple):
    """A unigram model: its pieces with their log-probabilities, and how text is normalized."""

    scores: dict[str, float]
    rule: str  # the name of the normalization
    charsmap: bytes  # its table; empty for none
    has_bytes: bool  # unknown characters become the pieces of their bytes


def read_model(path: Path) -> SentencePieces:
    """Reads a `.spm` file.

    Raises:
        ValueError: it is no model, or one that no `tokenizers` file can stand for.
    """
    model = _new_model()
    try:
        model.ParseFromString(path.read_bytes())
    except Exception as error:  # google.protobuf has an exception of its own
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    special = [piece.piece for piece in model.pieces if piece.type == _USER_DEFINED]
    problems = [
        f"{what}; {allowed}"
        for is_wrong, what, allowed in (
            (not model.pieces, "it has no pieces", "a model has some"),
            (trainer.model_type != _UNIGRAM, "it is not a unigram model", "only those are read"),
            (bool(special), f"user-defined pieces such as {special[:1]}", "none are read"),
            (
                normalizer.name not in _RULES,
                f"normalization {normalizer.name!r}",
                f"read are {', '.join(_RULES)}",
            ),
            (
                trainer.treat_whitespace_as_suffix or not normalizer.add_dummy_prefix,
                "a space stands behind its word, or not before the first",
                "a piece begins with the space before it",
            ),
            (
                not (normalizer.remove_extra_whitespaces and normalizer.escape_whitespaces),
                "spaces are kept as they are",
                "runs of them must become one",
            ),
        )
        if is_wrong
    ]
    if problems:
        raise ValueError(f"{path}: " + "; ".join(problems))
    kinds = (_NORMAL, _BYTE)
    return SentencePieces(
        scores={one.piece: one.score for one in model.pieces if one.type in kinds},
        rule=normalizer.name,
        charsmap=normalizer.precompiled_charsmap,
        has_bytes=any(piece.type == _BYTE for piece in model.pieces),
    )


def to_tokenizer(pieces: SentencePieces, ids: Mapping[str, int], where: str) -> Tokenizer:
    """A tokenizer with the same pieces, under the ids of a `vocab.json`.

    A text's normalized form is the model's, as is the path through its pieces: what it takes for
    unknown, or has no id, is the unknown token.

    Args:
        pieces: of this side.
        ids: of all tokens, 0 to n - 1; in a shared vocabulary those of the other side too.
        where: named in errors.

    Raises:
        ValueError: the ids have gaps, or too few of the pieces are among them.
    """
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"{where}: its ids must be 0 to {len(ids) - 1}, each once; the file is damaged, or of "
            "another program"
        )
    known = sum(piece in ids for piece in pieces.scores)
    if 2 * known < len(pieces.scores):
        raise ValueError(
            f"{where}: holds {known} of the {len(pieces.scores)} pieces of the SentencePiece model "
            "beside it; the two are of different models"
        )
    special = {"<unk>", "<pad>", "</s>"}
    rows: list[list[Any]] = [["", 0.0]] * len(ids)
    for piece, id in ids.items():
        is_own = piece in pieces.scores or piece in special
        rows[id] = [piece if is_own else FOREIGN + piece, pieces.scores.get(piece, 0.0)]
    rows.append([END_OF_VOCABULARY, 0.0])
    rows += [[piece, score] for piece, score in pieces.scores.items() if piece not in ids]
    # Tags that choose the target language, such as >>fra<<, are one token.
    tags = [piece for piece in ids if piece.startswith(">>") and piece.endswith("<<")]
    for tag in tags:
        rows[ids[tag]] = [tag, 0.0]
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(ids[tag], tag) for tag in sorted(tags, key=ids.__getitem__)],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(pieces)},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": FOREIGN}, "content": ""},
                *([{"type": "ByteFallback"}] if pieces.has_bytes else []),
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "Unigram",
            "unk_id": ids.get("<unk>"),
            "vocab": rows,
            "byte_fallback": pieces.has_bytes,
        },
    }
    return Tokenizer(json.dumps(value, ensure_ascii=False, indent=1), where)


def from_tokenizer(tokenizer: Tokenizer) -> tuple[SentencePieces, dict[str, int]] | None:
    """What `to_tokenizer` made a tokenizer of; None if it made it of nothing."""
    value = json.loads(tokenizer.json)
    rows = value["model"]["vocab"]
    if value["model"]["type"] != "Unigram" or [END_OF_VOCABULARY, 0.0] not in rows:
        return None
    tables = [one for one in value["normalizer"]["normalizers"] if one["type"] == "Precompiled"]
    names = {one["type"] for one in value["normalizer"]["normalizers"]}
    has_tilde = _HIDDEN_TILDE in tokenizer.json
    rule = "nmt_" * has_tilde + "nfkc" + "_cf" * ("Lowercase" in names) if tables else "identity"
    tags = {token["content"] for token in value["added_tokens"]}
    none = {"<unk>", "<pad>", "</s>", END_OF_VOCABULARY, *tags}
    scores = {p: s for p, s in rows if p not in none and not p.startswith(FOREIGN)}
    ids = {piece.removeprefix(FOREIGN): id for id, (piece, _) in enumerate(rows[: tokenizer.size])}
    charsmap = base64.b64decode(tables[0]["precompiled_charsmap"]) if tables else b""
    return SentencePieces(scores, rule, charsmap, value["model"]["byte_fallback"]), ids


def write_model(path: Path, pieces: SentencePieces) -> None:
    """Writes a `.spm` file that cuts text as the tokenizer of these pieces does."""
    model = _new_model()
    for piece, kind in (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL)):
        model.pieces.add(piece=piece, score=0.0, type=kind)
    for piece, score in pieces.scores.items():
        is_byte = pieces.has_bytes and len(piece) == 6 and piece.startswith("<0x")
        model.pieces.add(piece=piece, score=score, type=_BYTE if is_byte else _NORMAL)
    model.trainer_spec.model_type = _UNIGRAM
    model.trainer_spec.byte_fallback = pieces.has_bytes
    model.normalizer_spec.name = pieces.rule
    model.normalizer_spec.precompiled_charsmap = pieces.charsmap
    path.write_bytes(model.SerializeToString(deterministic=True))


def _new_model() -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2
    except ImportError as error:
        raise ValueError(
            "SentencePiece models need its library: pip install -c constraints.txt -e '.[marian]'"
        ) from error
    return sentencepiece_model_pb2.ModelProto()


def _normalizers(pieces: SentencePieces) -> list[dict[str, Any]]:
    # `tokenizers` looks a character's marks up with it or not at all, where SentencePiece takes the
    # longest match: composed first, as NFKC has them, both find the same.
    has_tilde = pieces.rule.startswith("nmt_")
    steps: list[dict[str, Any]] = []
    if pieces.charsmap:
        steps += [_replace(_WIDE_TILDE, _HIDDEN_TILDE)] if has_tilde else []
        steps += [{"type": "NFKC"}]
        steps += [{"type": "Lowercase"}] if pieces.rule.endswith("_cf") else []
        table = base64.b64encode(pieces.charsmap).decode()
        steps += [{"type": "Precompiled", "precompiled_charsmap": table}]
        steps += [_replace(_HIDDEN_TILDE, _WIDE_TILDE)] if has_tilde else []
    steps += [
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Replace", "pattern": {"Regex": "^ | $"}, "content": ""},
        {"type": "Prepend", "prepend": SPACE},
        _replace(" ", SPACE),
    ]
    return steps


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _added(id: int, content: str) -> dict[str, Any]:
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, "content": content, **dict.fromkeys(flags, False)}
