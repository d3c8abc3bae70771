"""`vocab`: tokenizers fitted on the training text."""

import typer


def vocab() -> None:
    """Fit the tokenizers on the training text: models/tokenizer."""
    from pipeline.params import load_section
    from pipeline.paths import CLEAN, REPORTS, TOKENIZER
    from transformer.files import atomic_folder, write_json
    from transformer.text.corpus import part_path
    from transformer.text.manifest import check_parts
    from transformer.text.vocab_config import VocabConfig
    from transformer.text.vocabulary import fit_pair
    from transformer.text.vocabulary_statistics import describe_pair

    config = load_section("vocab", VocabConfig)
    check_parts(CLEAN, "clean", ("train", "valid"))
    typer.echo("fitting the vocabulary to the training text")
    tokenizers = fit_pair(config, part_path(CLEAN, "train"))
    with atomic_folder(TOKENIZER) as folder:
        tokenizers.save(folder)
    typer.echo("counting pieces and unknown ones")
    statistics = describe_pair(tokenizers, CLEAN)
    write_json(REPORTS / "vocab.json", statistics)
    for side in ("source", "target"):
        size, valid = statistics[side]["size"], statistics[side]["valid"]
        typer.echo(
            f"{side}: {size} entries; valid: {valid['pieces_per_word']:.3f} pieces per word, "
            f"{valid['unknown_rate']:.4%} of pieces unknown"
        )
