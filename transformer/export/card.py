"""The card of an exported translator: for programs as JSON, for people as Markdown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.decoding.config import SearchConfig
from transformer.export.graph import INPUTS, OPSET, OUTPUTS
from transformer.export.parity import Parity
from transformer.model.transformer import Transformer

FORMAT = 1
GRAPH = "translator.onnx"
CARD = "translator.json"
README = "README.md"


@dataclass(frozen=True)
class Provenance:
    """What a translator's folder tells of its origin, and needs for its use."""

    source_language: str
    target_language: str
    # Per side, source and target: pad, bos, eos and unk.
    special_ids: Mapping[str, Mapping[str, int]]
    # Per side, the arguments of `transformer.text.normalise.normalise`.
    normalisation: Mapping[str, Mapping[str, bool]]
    tokenizer_sha256: str
    model_hash: str
    # name, licence, origin, revision, sha256 of each part.
    corpus: Mapping[str, Any]


def describe(
    model: Transformer,
    provenance: Provenance,
    search: SearchConfig,
    attention: str,
    parity: Parity,
    files: Mapping[str, str],
) -> dict[str, Any]:
    """What translator.json holds; `files` are names with their SHA-256."""
    signature = parity.bleu_signature
    return {
        "format": FORMAT,
        "source_language": provenance.source_language,
        "target_language": provenance.target_language,
        "special_ids": {side: dict(ids) for side, ids in provenance.special_ids.items()},
        "normalisation": {side: dict(how) for side, how in provenance.normalisation.items()},
        "search": search.model_dump(),
        "max_source_tokens": model.config.max_positions,
        "max_target_tokens": model.config.max_positions,
        "graph": {
            "file": GRAPH,
            "opset": OPSET,
            "attention": attention,
            "precision": "float32",
            "inputs": INPUTS,
            "outputs": OUTPUTS,
        },
        "files": dict(files),
        "tokenizer_sha256": provenance.tokenizer_sha256,
        "model": {
            "num_parameters": model.num_parameters(),
            "source_vocab_size": model.source_embedding.tokens.num_embeddings,
            "target_vocab_size": model.projection.out_features,
            "config": model.config.model_dump(),
        },
        "model_hash": provenance.model_hash,
        "corpus": dict(provenance.corpus),
        "scores": {
            "pytorch": {"bleu": round(parity.pytorch_bleu, 4), "signature": signature},
            "onnx_float32": {"bleu": round(parity.onnx_bleu, 4), "signature": signature},
            "num_test_sentences": parity.num_sentences,
            "identical_share": round(parity.identical_share, 6),
            "num_near_ties": parity.num_near_ties,
        },
    }


def write_readme(card: Mapping[str, Any]) -> str:
    """The card as a page to read."""
    source, target = card["source_language"], card["target_language"]
    model, config, corpus = card["model"], card["model"]["config"], card["corpus"]
    search, scores, graph = card["search"], card["scores"], card["graph"]
    revision = f", revision {corpus['revision']}" if corpus["revision"] else ""
    files = "\n".join(
        f"| `{name}` | `{digest}` |" for name, digest in sorted(card["files"].items())
    )
    normalisation = "; ".join(
        f"{side}: " + (", ".join(name for name, is_on in how.items() if is_on) or "as it is")
        for side, how in card["normalisation"].items()
    ).replace("_", " ")
    return f"""# {source} → {target}

A Transformer that translates single sentences, with its search in one ONNX file. Everything that
a translator needs is in this folder: `python -m pipeline translate --model FOLDER "..."`.

| | |
|---|---|
| corpus | {corpus["name"]} ({corpus["origin"]}{revision}) |
| licence of the corpus | {corpus["licence"]} |
| parameters | {model["num_parameters"]:,} |
| layers | {config["num_encoder_layers"]} encoder, {config["num_decoder_layers"]} decoder |
| width | {config["d_model"]}, feed-forward {config["d_ff"]}, {config["num_heads"]} heads |
| vocabulary | {model["source_vocab_size"]:,} source, {model["target_vocab_size"]:,} target tokens |
| normalisation besides Unicode and spaces | {normalisation} |
| longest input | {card["max_source_tokens"]} tokens, end mark included |
| search | beam {search["beam_size"]}, length penalty {search["length_penalty"]} |
| graph | opset {graph["opset"]}, {graph["attention"]} attention, {graph["precision"]} |

## Scores on the test set of {scores["num_test_sentences"]:,} sentences

| | BLEU |
|---|---|
| PyTorch | {scores["pytorch"]["bleu"]:.2f} |
| this graph, float32 | {scores["onnx_float32"]["bleu"]:.2f} |

Signature: `{scores["pytorch"]["signature"]}`.

{scores["identical_share"]:.2%} of the translations are the same in both, token by token. Others,
where two hypotheses score alike up to rounding: {scores["num_near_ties"]}.

## Files

| file | SHA-256 |
|---|---|
{files}

The graph was made from the model `{card["model_hash"]}`, which is its tag in MLflow too.

## Limits

The model repeats what its corpus holds, errors and bias included, and translates text unlike that
corpus badly.
"""
