"""`export`: the checkpoint as ONNX files that translate, held against PyTorch."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from transformer.export.config import ExportConfig
    from transformer.export.shortlist.choose import Shortlist
    from transformer.model.checkpoint import CheckpointInfo
    from transformer.text.lexicon import Lexicon


def export() -> None:
    """Write the translator; fail if it strays from PyTorch on the test set."""
    from pipeline.params import load_sections
    from pipeline.paths import (
        CHECKPOINT,
        CLEAN,
        IDS,
        METRICS,
        RAW,
        REPORTS,
        SETS,
        TOKENIZER,
        TRANSLATOR,
    )
    from pipeline.repository import CHECKED_IDS
    from pipeline.tracking.export import track_export
    from transformer.evaluation.config import EvaluateConfig
    from transformer.evaluation.sets import fingerprint, read_sets
    from transformer.export.config import ExportConfig
    from transformer.export.folder.provenance import collect_provenance
    from transformer.export.folder.write import export_translator
    from transformer.export.verification.parity import TestSet
    from transformer.export.verification.report import headline_metrics, summarize
    from transformer.files import write_json
    from transformer.model.checkpoint import load_with_tokenizers, model_hash
    from transformer.pretraining.config import PretrainConfig
    from transformer.search.options import SearchConfig
    from transformer.serving.card import BaseModel
    from transformer.text.alignment import fit_table
    from transformer.text.clean_config import CleanConfig
    from transformer.text.corpus import part_path, read_side
    from transformer.text.heldout import Heldout, encode_sources, read_heldout
    from transformer.text.ids import load_ids
    from transformer.text.lexicon import fit_lexicon
    from transformer.text.manifest import check_parts, read_manifest
    from transformer.text.synthetic import read_share
    from transformer.text.word_list import most_frequent_words

    clean, pretrain = load_sections(("clean", CleanConfig), ("pretrain", PretrainConfig))
    search, evaluate, config = load_sections(
        ("search", SearchConfig), ("evaluate", EvaluateConfig), ("export", ExportConfig)
    )
    model, info, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER)
    search.options(info.model.max_positions).check_vocabulary(info.target_vocab_size)
    check_parts(RAW, "download", ("test",))
    check_parts(CLEAN, "clean", ("train", "test"))
    manifest = read_manifest(RAW)
    test = read_heldout(RAW, CLEAN, evaluate.num_sentences)
    further = read_sets(evaluate, RAW, SETS, clean.source)

    def make_test_set(texts: Heldout, sha256: str | None = None) -> TestSet:
        sources, _ = encode_sources(tokenizers.source, texts.sources, info.model.max_positions)
        return TestSet(
            sources=sources,
            references=texts.references,
            decode=tokenizers.target.decode,
            bleu_tokenizer=evaluate.bleu_tokenizer,
            num_bootstrap=evaluate.num_bootstrap,
            batch_tokens=evaluate.batch_tokens,
            sampled_from=texts.sampled_from,
            sha256=sha256,
        )

    typer.echo("the words of the training text, and what each token may translate to")
    words, base_model = None, None
    if pretrain.kind == "imported":  # most words that it knows stand in text that nobody has here
        base_model = BaseModel(**pretrain.model_dump(exclude={"kind"}))
    else:
        words = most_frequent_words(read_side(part_path(CLEAN, "train"), "source"))
    alignment, shortlist = None, None
    if base_model is None or config.shortlist is not None:
        pairs = load_ids(IDS, CHECKED_IDS).train
        sizes = info.source_vocab_size, info.target_vocab_size
        lexicon = fit_lexicon(pairs, *sizes)
        alignment = fit_table(lexicon, pairs, *sizes)
        shortlist = _make_shortlist(lexicon, config, info, is_joint=tokenizers.is_joint)
    reference, verdicts = export_translator(
        TRANSLATOR,
        REPORTS,
        model,
        tokenizer_files={path.name: path for path in sorted(TOKENIZER.glob("*.json"))},
        words=words,
        alignment=alignment,
        provenance=collect_provenance(
            manifest, clean, info, model_hash(CHECKPOINT), base_model, read_share(CLEAN)
        ),
        test=make_test_set(test),
        sets={name: make_test_set(one, fingerprint(one)) for name, one in further.items()},
        search=search,
        config=config,
        shortlist=shortlist,
        tell=typer.echo,
    )
    typer.echo(f"{summarize(reference, verdicts)}\n-> {TRANSLATOR}")
    write_json(METRICS / "export.json", headline_metrics(reference, verdicts))
    typer.echo("telling MLflow")
    track_export(model_hash(CHECKPOINT))


def _make_shortlist(
    lexicon: "Lexicon", config: "ExportConfig", info: "CheckpointInfo", *, is_joint: bool
) -> "Shortlist | None":
    from transformer.export.shortlist.choose import make_shortlist

    if config.shortlist is None or "int8" not in config.precisions:
        return None
    return make_shortlist(
        lexicon,
        config.shortlist,
        source_vocab_size=info.source_vocab_size,
        target_vocab_size=info.target_vocab_size,
        special=info.target,
        is_joint=is_joint,
    )
