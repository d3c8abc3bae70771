"""`check`: the whole params file, every problem at once."""

import typer


def check() -> None:
    """Validate params.yaml as a whole, with what it names; count what a corpus of files gives."""
    from pipeline.corpus_check import check_corpus, find_unknown_files, is_local, list_inputs
    from pipeline.params import load_section, load_sections, read_params
    from pipeline.paths import MONOLINGUAL, PARAMS, SETS, TEACHER
    from pipeline.schema import check_params
    from transformer.config import ConfigError
    from transformer.evaluation.config import EvaluateConfig
    from transformer.synthesis.config import SynthesisConfig
    from transformer.text.corpus_config import CorpusConfig
    from transformer.text.monolingual import find_file
    from transformer.text.vocab_config import VocabConfig
    from transformer.training.config import TrainConfig

    check_params(PARAMS)
    corpus, vocab, train = load_sections(
        ("corpus", CorpusConfig), ("vocab", VocabConfig), ("train", TrainConfig)
    )
    languages = corpus.source_language, corpus.target_language
    synthesis = load_section("synthesize", SynthesisConfig)
    if synthesis.kind != "none":
        from transformer.synthesis.making import check_translator

        check_translator(synthesis, TEACHER, languages)
    if synthesis.kind == "back_translation":
        find_file(MONOLINGUAL, synthesis.text, "synthesize.text")
    evaluate = load_section("evaluate", EvaluateConfig)
    if evaluate.sets:
        from transformer.evaluation.sets import check_sets

        check_sets(evaluate, SETS, languages)
    if is_local(corpus):
        found = check_corpus(corpus, vocab, train, is_all=synthesis.kind == "none")
        for fact in found.facts:
            typer.echo(fact)
        if found.problems:
            raise ConfigError(list(found.problems), str(PARAMS))
    if unknown := find_unknown_files(list_inputs(read_params())):
        typer.echo(f"note: {unknown}", err=True)
    typer.echo(f"{PARAMS} is right.")
