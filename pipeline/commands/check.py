"""`check`: the whole params file, every problem at once."""

from pathlib import Path

import typer


def check() -> None:
    """Validate params.yaml as a whole, with a teacher if there is one; count a corpus of files."""
    from pipeline.corpus_check import check_corpus, find_unknown_file, is_local
    from pipeline.params import load_section, load_sections
    from pipeline.paths import MONOLINGUAL, PARAMS, SETS, TEACHER
    from pipeline.schema import check_params
    from transformer.config import ConfigError
    from transformer.synthesis.config import SynthesisConfig
    from transformer.text.corpus_config import CorpusConfig
    from transformer.text.vocab_config import VocabConfig
    from transformer.training.config import TrainConfig

    check_params(PARAMS)
    corpus, vocab, train = load_sections(
        ("corpus", CorpusConfig), ("vocab", VocabConfig), ("train", TrainConfig)
    )
    synthesis = load_section("synthesize", SynthesisConfig)
    if synthesis.kind != "none":
        from transformer.synthesis.making import check_translator

        check_translator(synthesis, TEACHER, (corpus.source_language, corpus.target_language))
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
