"""`tokenize`: text to token ids."""

import typer


def tokenize() -> None:
    """Turn training and validation text into token ids: data/ids."""
    from pipeline.params import load_section
    from pipeline.paths import CLEAN, IDS, REPORTS, TOKENIZER
    from transformer.files import atomic_folder
    from transformer.text.manifest import check_parts
    from transformer.text.tokenizer import TokenizerPair
    from transformer.text.tokenizing import write_corpus_ids
    from transformer.text.vocab_config import TokenizeConfig

    config = load_section("tokenize", TokenizeConfig)
    tokenizers = TokenizerPair.load(TOKENIZER)
    check_parts(CLEAN, "clean", ("train", "valid"))
    typer.echo("cutting the text into tokens")
    with atomic_folder(IDS) as folder:
        meta = write_corpus_ids(CLEAN, folder, tokenizers, config.max_tokens)
    meta.write_report(REPORTS / "tokenize.json")
    for part, counts in meta.counts.items():
        typer.echo(
            f"{part}: {counts.pairs} pairs, {counts.source_tokens} source and "
            f"{counts.target_tokens} target tokens, {counts.dropped_too_long} pairs too long"
        )
