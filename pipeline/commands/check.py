"""`check`: the whole params file, every problem at once."""

from pathlib import Path

import typer


def check() -> None:
    """Validate params.yaml as a whole, and count what a corpus of files gives."""
    from pipeline.corpus_check import check_corpus, find_unknown_file, is_local
    from pipeline.params import load_sections
    from pipeline.paths import MONOLINGUAL, PARAMS, SETS
    from pipeline.schema import check_params
    from transformer.config import ConfigError
    from transformer.text.corpus_config import CorpusConfig
    from transformer.text.vocab_config import VocabConfig
    from transformer.training.config import TrainConfig

    check_params(PARAMS)
    corpus, vocab, train = load_sections(
        ("corpus", CorpusConfig), ("vocab", VocabConfig), ("train", TrainConfig)
    )
    if is_local(corpus):
        found = check_corpus(corpus, vocab, train)
        for fact in found.facts:
            typer.echo(fact)
        if found.problems:
            raise ConfigError(list(found.problems), str(PARAMS))
    for path in (Path(corpus.path), MONOLINGUAL, SETS):
        if unknown := find_unknown_file(path):
            typer.echo(f"note: {unknown}", err=True)
    typer.echo(f"{PARAMS} is right.")
