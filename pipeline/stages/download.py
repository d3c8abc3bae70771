"""`download`: a corpus of any kind into one raw form."""

import typer


def download() -> None:
    """Fetch or make the corpus: data/raw."""
    from pipeline.params import load_section
    from pipeline.paths import RAW
    from pipeline.received import find_doubts
    from transformer.text.collection import collect
    from transformer.text.corpus_config import CorpusConfig

    config = load_section("corpus", CorpusConfig)
    typer.echo(f"reading the {config.kind} corpus {config.name}")
    manifest = collect(config, RAW)
    for part, count in manifest.counts.items():
        typer.echo(f"{part}: {count} pairs, {manifest.num_empty[part]} with an empty side")
    for name, origin in manifest.origins.items():
        told = ", ".join(f"{part} {count}" for part, count in origin.counts.items())
        typer.echo(f"  {name}: {told}")
    for doubt in find_doubts(config, manifest):
        typer.secho(f"warning: {doubt}", err=True, fg=typer.colors.YELLOW)
    if manifest.num_left_out:
        typer.echo(
            f"left out: {manifest.num_left_out} pairs with a sentence or an origin of another part"
        )
