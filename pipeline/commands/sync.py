"""`sync`: MLflow brought level with the results that DVC has put here."""

import typer


def sync() -> None:
    """Log to MLflow what it lacks of the present results."""
    from pipeline.tracking.syncing import sync_workspace

    synced = sync_workspace()
    typer.echo(f"{synced.run_name}  run {synced.run_id}")
    if synced.version is not None:
        typer.echo(f"translator, version {synced.version}")
    elif "export" not in synced.left_out:
        typer.echo(
            "the translator is not registered: that takes data/raw, data/clean, "
            "and an export on the whole test set (evaluate.num_sentences: null)",
            err=True,
        )
    for stage, reason in synced.left_out.items():
        typer.echo(f"{stage} is left out: {reason}", err=True)
    if synced.lock is not None:
        typer.echo(f"level with dvc.lock {synced.lock[:12]}")
