"""`export`: the checkpoint as ONNX files that translate, held against PyTorch."""

import typer


def export() -> None:
    """Write the translator; fail if it strays from PyTorch on the test set."""
    from pipeline.params import load_section, load_sections
    from pipeline.paths import CHECKPOINT, CLEAN, IDS, METRICS, RAW, REPORTS, TOKENIZER, TRANSLATOR
    from pipeline.tracking.translation import track_export
    from transformer.evaluation.config import EvaluateConfig
    from transformer.export.config import ExportConfig
    from transformer.export.folder.write import export_translator
    from transformer.export.shortlist.choose import make_shortlist
    from transformer.export.verification.parity import TestSet
    from transformer.export.verification.report import list_metrics, summarize
    from transformer.files import write_json
    from transformer.model.checkpoint import load_with_tokenizers, model_hash
    from transformer.search.options import SearchConfig
    from transformer.serving.card import Corpus, Normalization, Provenance, SideSpecialIds
    from transformer.text.clean_config import CleanConfig
    from transformer.text.heldout import encode_sources, read_heldout
    from transformer.text.ids import load_ids
    from transformer.text.manifest import read_manifest

    clean = load_section("clean", CleanConfig)
    search, evaluate, config = load_sections(
        ("search", SearchConfig), ("evaluate", EvaluateConfig), ("export", ExportConfig)
    )
    model, info, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER)
    search.options(info.model.max_positions).check_vocabulary(info.target_vocab_size)
    manifest, test = read_manifest(RAW), read_heldout(RAW, CLEAN)
    sources, _ = encode_sources(tokenizers.source, test.sources, info.model.max_positions)
    shortlist = None
    if config.shortlist is not None and "int8" in config.precisions:
        shortlist = make_shortlist(
            load_ids(IDS).train,
            config.shortlist,
            source_vocab_size=info.source_vocab_size,
            target_vocab_size=info.target_vocab_size,
            marks=info.target,
            is_joint=tokenizers.is_joint,
        )
    reference, verdicts = export_translator(
        TRANSLATOR,
        REPORTS,
        model,
        tokenizer_files={path.name: path for path in sorted(TOKENIZER.glob("*.json"))},
        provenance=Provenance(
            source_language=manifest.source_language,
            target_language=manifest.target_language,
            special_ids=SideSpecialIds(source=info.source, target=info.target),
            normalization=Normalization(source=clean.source, target=clean.target),
            tokenizer_sha256=tokenizers.sha256,
            model_hash=model_hash(CHECKPOINT),
            corpus=Corpus(
                name=manifest.name,
                license=manifest.license,
                origin=manifest.origin,
                revision=manifest.revision,
                sha256=dict(manifest.sha256),
            ),
        ),
        test=TestSet(
            sources=sources,
            references=test.references,
            decode=tokenizers.target.decode,
            bleu_tokenizer=evaluate.bleu_tokenizer,
            num_bootstrap=evaluate.num_bootstrap,
            batch_tokens=evaluate.batch_tokens,
        ),
        search=search,
        config=config,
        shortlist=shortlist,
    )
    typer.echo(f"{summarize(reference, verdicts)}\n-> {TRANSLATOR}")
    metrics = list_metrics(reference, verdicts)
    bleu = {k: v for k, v in metrics.items() if k.endswith("_bleu") and k != "pytorch_bleu"}
    write_json(METRICS / "export.json", {k: round(v, 2) for k, v in bleu.items()})
    track_export(model_hash(CHECKPOINT))
