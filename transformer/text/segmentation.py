"""Other ways to cut a word into a vocabulary's pieces than the usual one, drawn at random."""

import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from transformer.text.tokenizer import Tokenizer

# A word in the vocabulary's own characters -> the ids of its pieces.
Segment = Callable[[str, Random], list[int]]


def bpe_dropout(tokenizer: Tokenizer, probability: float) -> Segment:
    """BPE that passes over each possible merge with a probability, at each turn (Provilkov 2020).

    Characters stay whole, where the vocabulary has pieces for them. arXiv:1910.13267.

    Raises:
        ValueError: the tokenizer is of another kind.
    """
    model = _model(tokenizer, "BPE", "bpe_dropout")
    ids: dict[str, int] = model["vocab"]
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    ranks = {(left, right): rank for rank, (left, right) in enumerate(pairs)}
    characters = _splitter(tokenizer)

    def segment(word: str, draw: Random) -> list[int]:
        pieces = [
            piece for one in characters(word) for piece in _merge(list(one), ranks, draw, 0.0)
        ]
        return [ids[piece] for piece in _merge(pieces, ranks, draw, probability)]

    return segment


def unigram_sampling(tokenizer: Tokenizer, alpha: float) -> Segment:
    """A segmentation drawn by its probability to the power of `alpha` (Kudo 2018).

    0 draws all evenly; a large number takes the best. arXiv:1804.10959, section 3.

    Raises:
        ValueError: the tokenizer is of another kind.
    """
    model = _model(tokenizer, "Unigram", "unigram_sampling")
    rows = enumerate(model["vocab"])
    pieces = {piece: (id, alpha * score) for id, (piece, score) in rows if id != model["unk_id"]}
    longest = max(map(len, pieces))

    def segment(word: str, draw: Random) -> list[int]:
        # ways[j]: the pieces that end at j, each with where it begins and the log of the sum over
        # all segmentations of word[:j] that end with it.
        ways: list[list[tuple[int, int, float]]] = [[]]
        totals = [0.0]
        for end in range(1, len(word) + 1):
            ending = [
                (begin, *pieces[word[begin:end]])
                for begin in range(max(0, end - longest), end)
                if word[begin:end] in pieces and totals[begin] > -math.inf
            ]
            ways.append([(begin, id, totals[begin] + score) for begin, id, score in ending])
            totals.append(_log_sum([score for *_, score in ways[-1]]))
        chosen: list[int] = []
        end = len(word)
        while end:
            weights = [math.exp(score - totals[end]) for *_, score in ways[end]]
            [(end, id, _)] = draw.choices(ways[end], weights)
            chosen.append(id)
        return chosen[::-1]

    return segment


def _merge(
    pieces: list[str], ranks: dict[tuple[str, str], int], draw: Random, probability: float
) -> list[str]:
    """Byte-pair encoding, each possible merge left out of a turn with `probability`."""
    while True:
        possible = [
            (rank, place)
            for place, pair in enumerate(pairwise(pieces))
            if (rank := ranks.get(pair)) is not None
            and (not probability or draw.random() >= probability)
        ]
        if not possible:
            return pieces
        _, place = min(possible)
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


def _log_sum(values: Sequence[float]) -> float:
    highest = max(values, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(sum(math.exp(value - highest) for value in values))


def _splitter(tokenizer: Tokenizer) -> Callable[[str], list[str]]:
    """Cuts a word into what stands for one character each: several signs, where they are bytes."""
    if '"ByteLevel"' not in tokenizer.json:
        return list
    # The bytes that GPT-2's alphabet shows as themselves; others follow from 256 on.
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in shown]
    inner = {chr(byte) for byte in shown if byte & 0xC0 == 0x80}
    inner |= {chr(256 + place) for place, byte in enumerate(hidden) if byte & 0xC0 == 0x80}

    def split(word: str) -> list[str]:
        characters: list[str] = []
        for sign in word:
            if sign in inner and characters:
                characters[-1] += sign
            else:
                characters.append(sign)
        return characters

    return split


def _model(tokenizer: Tokenizer, kind: str, wanted_by: str) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(tokenizer.json)["model"]
    if model["type"] != kind:
        raise ValueError(
            f"train.segmentation.kind = {wanted_by!r} needs a vocabulary of the kind {kind}, but "
            f"this one is of the kind {model['type']}; set train.segmentation to null"
        )
    return model
