"""`clean`: normalised text, filtered and augmented training pairs."""

import typer


def clean() -> None:
    """Normalise the text, filter the training pairs: data/clean."""
    from pipeline.params import load_section
    from pipeline.paths import CLEAN, RAW, REPORTS, SYNTHETIC
    from transformer.text.clean_config import CleanConfig
    from transformer.text.clean_page import write_page
    from transformer.text.cleaning import REJECTS, clean_corpus
    from transformer.text.manifest import check_parts

    config = load_section("clean", CleanConfig)
    check_parts(RAW, "download")
    typer.echo("normalising the text, filtering training pairs")
    report = clean_corpus(config, RAW, CLEAN, SYNTHETIC)
    report.write(REPORTS / "clean.json")
    report.write_reasons(REPORTS / "clean_reasons.csv")
    write_page(REPORTS / "clean.html", report, CLEAN / REJECTS)
    typer.echo(f"train: {report.kept} pairs kept of {report.candidates}")
    for reason, count in report.rejected.items():
        typer.echo(f"  {reason}: {count}")
    num_weighted = sum(origin.weighted for origin in report.origins.values())
    if report.origins and num_weighted != report.kept:
        typer.echo(f"  by the weights of their parts: {num_weighted}")
    typer.echo(f"  examples: {REPORTS / 'clean.html'}")
    if report.augmented:
        typer.echo(f"  sources with noise: {report.augmented}")
        for kind, count in report.noise.items():
            typer.echo(f"    {kind}: {count}")
    typer.echo(f"valid: {report.valid} pairs, test: {report.test} pairs, all kept")
