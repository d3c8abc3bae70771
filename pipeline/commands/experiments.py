"""`experiments`: what was tried, the best first."""

import typer


def experiments() -> None:
    """List the experiments of all commits with their scores, the best first."""
    import shutil
    import sys

    from pipeline.experiments.overview import list_scored
    from pipeline.experiments.overview_report import describe_experiments
    from pipeline.repository import run_git
    from pipeline.tracking.promotion import champion_digest

    found = list_scored()
    if not found:
        raise ValueError("nothing was scored yet: `dvc repro`, then commit what it wrote")
    # In a pipe each experiment is one line.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    branch = run_git("rev-parse", "--abbrev-ref", "HEAD")
    typer.echo(describe_experiments(found, branch, champion_digest(), width))
