"""The card of an exported translator: filled in for programs, and as a page for people."""

from collections.abc import Mapping, Sequence

from transformer.export.assemble import OPSET, OUTPUTS
from transformer.export.config import FORMS, ExportConfig
from transformer.export.graph import INPUTS
from transformer.export.verification.gate import Verdict, choose_defaults
from transformer.export.verification.parity import Reference
from transformer.export.verification.report import measure
from transformer.model.transformer import Transformer
from transformer.search.options import SearchConfig
from transformer.serving.card import (
    FORMAT,
    Card,
    DefaultPrecision,
    Graph,
    GraphInterface,
    ModelFacts,
    Provenance,
    PytorchScore,
    ShortlistSizes,
)

README = "README.md"


def make_card(
    model: Transformer,
    provenance: Provenance,
    search: SearchConfig,
    config: ExportConfig,
    reference: Reference,
    verdicts: Sequence[Verdict],
    files: Mapping[str, str],
) -> Card:
    """What translator.json holds; `files` are names with their SHA-256."""
    return Card(
        **dict(provenance),
        format=FORMAT,
        search=search,
        max_source_tokens=model.config.max_positions,
        max_target_tokens=model.config.max_positions,
        interface=GraphInterface(
            opset=OPSET, attention=config.attention, inputs=INPUTS, outputs=OUTPUTS
        ),
        default_precision=DefaultPrecision(**choose_defaults(verdicts)),
        graphs={
            verdict.parity.precision: _describe_graph(verdict, reference) for verdict in verdicts
        },
        shortlist=None if config.shortlist is None else ShortlistSizes(**dict(config.shortlist)),
        files=dict(files),
        model=ModelFacts(
            num_parameters=model.num_parameters(),
            source_vocab_size=model.source_embedding.tokens.num_embeddings,
            target_vocab_size=model.output_projection.out_features,
            config=model.config,
        ),
        pytorch=PytorchScore(bleu=round(reference.bleu, 4), signature=reference.bleu_signature),
        num_test_sentences=len(reference.hypotheses),
        sampled_from=reference.sampled_from,
    )


def _describe_graph(verdict: Verdict, reference: Reference) -> Graph:
    return Graph(
        file=FORMS[verdict.parity.precision].file if verdict.passed else None,
        passed=verdict.passed,
        problems=list(verdict.problems),
        size_bytes=verdict.size_bytes,
        measured_on=verdict.measured_on,
        signature=reference.bleu_signature,
        **measure(verdict.parity),
    )


def write_readme(card: Card) -> str:
    """The card as a page to read."""
    model, config, corpus, search = card.model, card.model.config, card.corpus, card.search
    revision = f", revision {corpus.revision}" if corpus.revision else ""
    base = card.base_model
    origin = (
        ""
        if base is None
        else (
            f"\n| began as | {base.name}{f', revision {base.revision}' if base.revision else ''} |"
            f"\n| licence of that model | {base.license} |"
        )
    )
    synthetic = card.synthetic
    made = (
        ""
        if synthetic is None
        else f"\n| made by a translator | {synthetic.share:.1%} of the training pairs, by "
        f"{synthetic.kind.replace('_', '-')}: model `{synthetic.model_hash}`, trained on "
        f"{synthetic.corpus} ({synthetic.license}) |"
    )
    files = "\n".join(f"| `{name}` | `{digest}` |" for name, digest in sorted(card.files.items()))
    normalization = "; ".join(
        f"{side}: " + (", ".join(name for name, is_on in how if is_on) or "as it is")
        for side, how in card.normalization
    ).replace("_", " ")
    shortlist = (
        "the whole vocabulary"
        if card.shortlist is None
        else f"the {card.shortlist.num_frequent} most frequent tokens and "
        f"{card.shortlist.num_per_token} for each source token"
    )
    default = card.default_precision
    patience = "no patience" if search.patience is None else f"patience {search.patience}"
    tested = f"the test set of {card.num_test_sentences:,} sentences"
    if card.sampled_from is not None:
        tested = f"a sample of {card.num_test_sentences:,} of the test set's {card.sampled_from:,}"
    left_out = "".join(
        f"\n{precision} was left out: {'; '.join(graph.problems)}.\n"
        for precision, graph in card.graphs.items()
        if not graph.passed
    )
    return f"""# {card.source_language} → {card.target_language}

A Transformer that translates single sentences, with its search inside each ONNX file. Everything
that a translator needs is in this folder: `python -m pipeline translate --model FOLDER "..."`.

| | |
|---|---|
| corpus | {corpus.name} ({corpus.origin}{revision}) |
| licence of the corpus | {corpus.license} |{made}{origin}
| parameters | {model.num_parameters:,} |
| layers | {config.num_encoder_layers} encoder, {config.num_decoder_layers} decoder |
| width | {config.d_model}, feed-forward {config.d_ff}, {config.num_heads} heads |
| vocabulary | {model.source_vocab_size:,} source, {model.target_vocab_size:,} target tokens |
| normalisation besides Unicode and spaces | {normalization} |
| longest input | {card.max_source_tokens} tokens, end token included |
| search | beam {search.beam_size}, length penalty {search.length_penalty}, {patience} |
| graphs | opset {card.interface.opset}, {card.interface.attention} attention |
| int8 chooses among | {shortlist} |
| runs by default | {default.cpu} on the CPU, {default.cuda} on CUDA |

## Scores on {tested}

| | on | size | BLEU | below PyTorch's, 95 % in | same translations | largest logit difference |
|---|---|---|---|---|---|---|
| PyTorch | CPU | | {card.pytorch.bleu:.2f} | | | |
{_rows(card.graphs)}

Signature: `{card.pytorch.signature}`.
The intervals are of paired resamples.
{left_out}
## Files

| file | SHA-256 |
|---|---|
{files}

The graphs were made from the model `{card.model_hash}`, which is its tag in MLflow too.

## Limits

The model repeats what its corpus holds, errors and bias included, and translates text unlike that
corpus badly.
"""


def _rows(graphs: Mapping[str, Graph]) -> str:
    return "\n".join(
        f"| {precision} | {graph.measured_on.upper()} | {graph.size_bytes / 1e6:.1f} MB "
        f"| {graph.bleu:.2f} | "
        f"{graph.bleu_loss:.2f}, [{graph.bleu_loss_low:.2f}, {graph.bleu_loss_high:.2f}] "
        f"| {graph.identical_share:.2%} | {graph.max_logit_difference:.1g} |"
        for precision, graph in graphs.items()
    )
