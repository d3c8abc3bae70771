"""The card of an exported translator: for programs as JSON, for people as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.export.assembly.assemble import OPSET
from transformer.export.config import ExportConfig, Precision
from transformer.export.graph import INPUTS, OUTPUTS
from transformer.export.verification.gate import Verdict, choose_defaults
from transformer.export.verification.parity import Reference
from transformer.export.verification.report import measure
from transformer.model.transformer import Transformer
from transformer.search.config import SearchConfig

FORMAT = 3
GRAPHS: dict[Precision, str] = {
    "float32": "translator.onnx",
    "int8": "translator.int8.onnx",
    "float16": "translator.float16.onnx",
}
CARD = "translator.json"
README = "README.md"


@dataclass(frozen=True)
class Provenance:
    """What a translator's folder tells of its origin, and needs for its use."""

    source_language: str
    target_language: str
    # Per side, source and target: pad, bos, eos and unk.
    special_ids: Mapping[str, Mapping[str, int]]
    # Per side, the arguments of `transformer.text.normalize.normalise`.
    normalization: Mapping[str, Mapping[str, bool]]
    tokenizer_sha256: str
    model_hash: str
    # name, licence, origin, revision, sha256 of each part.
    corpus: Mapping[str, Any]


def describe(
    model: Transformer,
    provenance: Provenance,
    search: SearchConfig,
    config: ExportConfig,
    reference: Reference,
    verdicts: Sequence[Verdict],
    files: Mapping[str, str],
) -> dict[str, Any]:
    """What translator.json holds; `files` are names with their SHA-256."""
    return {
        "format": FORMAT,
        "source_language": provenance.source_language,
        "target_language": provenance.target_language,
        "special_ids": {side: dict(ids) for side, ids in provenance.special_ids.items()},
        "normalization": {side: dict(how) for side, how in provenance.normalization.items()},
        "search": search.model_dump(),
        "max_source_tokens": model.config.max_positions,
        "max_target_tokens": model.config.max_positions,
        "interface": {
            "opset": OPSET,
            "attention": config.attention,
            "inputs": INPUTS,
            "outputs": OUTPUTS,
        },
        "default_precision": choose_defaults(verdicts),
        "graphs": {
            verdict.parity.precision: _describe_graph(verdict, reference) for verdict in verdicts
        },
        # Of the int8 graph; None: it chooses among the whole vocabulary.
        "shortlist": None if config.shortlist is None else config.shortlist.model_dump(),
        "files": dict(files),
        "tokenizer_sha256": provenance.tokenizer_sha256,
        "model": {
            "num_parameters": model.num_parameters(),
            "source_vocab_size": model.source_embedding.tokens.num_embeddings,
            "target_vocab_size": model.output_projection.out_features,
            "config": model.config.model_dump(),
        },
        "model_hash": provenance.model_hash,
        "corpus": dict(provenance.corpus),
        "pytorch": {"bleu": round(reference.bleu, 4), "signature": reference.bleu_signature},
        "num_test_sentences": len(reference.hypotheses),
    }


def _describe_graph(verdict: Verdict, reference: Reference) -> dict[str, Any]:
    precision = verdict.parity.precision
    return {
        # None: it failed, and is not in the folder.
        "file": GRAPHS[precision] if verdict.passed else None,
        "size_bytes": verdict.size_bytes,
        "signature": reference.bleu_signature,
        "measured_on": verdict.measured_on,
        "passed": verdict.passed,
        "problems": list(verdict.problems),
        **measure(verdict.parity),
    }


def write_readme(card: Mapping[str, Any]) -> str:
    """The card as a page to read."""
    source, target = card["source_language"], card["target_language"]
    model, config, corpus = card["model"], card["model"]["config"], card["corpus"]
    search, interface = card["search"], card["interface"]
    revision = f", revision {corpus['revision']}" if corpus["revision"] else ""
    files = "\n".join(
        f"| `{name}` | `{digest}` |" for name, digest in sorted(card["files"].items())
    )
    normalization = "; ".join(
        f"{side}: " + (", ".join(name for name, is_on in how.items() if is_on) or "as it is")
        for side, how in card["normalization"].items()
    ).replace("_", " ")
    defaults = card["default_precision"]
    listed = card["shortlist"]
    words = (
        "the whole vocabulary"
        if listed is None
        else f"the {listed['num_frequent']} most frequent tokens and {listed['num_per_token']} for "
        "each source token"
    )
    patience = "no patience" if search["patience"] is None else f"patience {search['patience']}"
    left_out = "".join(
        f"\n{precision} was left out: {'; '.join(graph['problems'])}.\n"
        for precision, graph in card["graphs"].items()
        if not graph["passed"]
    )
    return f"""# {source} → {target}

A Transformer that translates single sentences, with its search inside each ONNX file. Everything
that a translator needs is in this folder: `python -m pipeline translate --model FOLDER "..."`.

| | |
|---|---|
| corpus | {corpus["name"]} ({corpus["origin"]}{revision}) |
| licence of the corpus | {corpus["license"]} |
| parameters | {model["num_parameters"]:,} |
| layers | {config["num_encoder_layers"]} encoder, {config["num_decoder_layers"]} decoder |
| width | {config["d_model"]}, feed-forward {config["d_ff"]}, {config["num_heads"]} heads |
| vocabulary | {model["source_vocab_size"]:,} source, {model["target_vocab_size"]:,} target tokens |
| normalisation besides Unicode and spaces | {normalization} |
| longest input | {card["max_source_tokens"]} tokens, end mark included |
| search | beam {search["beam_size"]}, length penalty {search["length_penalty"]}, {patience} |
| graphs | opset {interface["opset"]}, {interface["attention"]} attention |
| int8 chooses among | {words} |
| runs by default | {defaults["cpu"]} on the CPU, {defaults["cuda"]} on CUDA |

## Scores on the test set of {card["num_test_sentences"]:,} sentences

| | on | size | BLEU | below PyTorch's, 95 % in | same translations | largest logit difference |
|---|---|---|---|---|---|---|
| PyTorch | CPU | | {card["pytorch"]["bleu"]:.2f} | | | |
{_rows(card["graphs"])}

Signature: `{card["pytorch"]["signature"]}`.
The intervals are of paired resamples.
{left_out}
## Files

| file | SHA-256 |
|---|---|
{files}

The graphs were made from the model `{card["model_hash"]}`, which is its tag in MLflow too.

## Limits

The model repeats what its corpus holds, errors and bias included, and translates text unlike that
corpus badly.
"""


def _rows(graphs: Mapping[str, Mapping[str, Any]]) -> str:
    return "\n".join(
        f"| {precision} | {graph['measured_on'].upper()} | {graph['size_bytes'] / 1e6:.1f} MB "
        f"| {graph['bleu']:.2f} | "
        f"{graph['bleu_loss']:.2f}, [{graph['bleu_loss_low']:.2f}, {graph['bleu_loss_high']:.2f}] "
        f"| {graph['identical_share']:.2%} | {graph['max_logit_difference']:.1g} |"
        for precision, graph in graphs.items()
    )
