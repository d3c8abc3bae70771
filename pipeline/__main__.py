"""The command line: `python -m pipeline COMMAND`.

Stage files import nothing heavy until they run, so `--help` answers at once.
"""

import sys

import typer

from pipeline.adopt import adopt
from pipeline.affected import affected
from pipeline.check import check
from pipeline.clean import clean
from pipeline.compare import compare
from pipeline.download import download
from pipeline.evaluate import evaluate
from pipeline.export import export
from pipeline.pack import pack
from pipeline.plots import plots
from pipeline.pretrain import pretrain
from pipeline.promote import promote
from pipeline.recipe import recipe
from pipeline.sweep import sweep
from pipeline.sync import sync
from pipeline.tokenize import tokenize
from pipeline.train import train
from pipeline.translate import TextCommand, translate
from pipeline.ui import ui
from pipeline.vocab import vocab
from transformer.threads import bound_spinning

app = typer.Typer(
    help="From a parallel corpus to one ONNX file that translates.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for stage in (download, clean, vocab, tokenize, pretrain, train, evaluate, export):
    app.command(rich_help_panel="Stages, as `dvc repro` runs them")(stage)
app.command(rich_help_panel="Commands", cls=TextCommand)(translate)
for command in (recipe, check, affected, compare, plots, sweep, pack, adopt, sync, promote, ui):
    app.command(rich_help_panel="Commands")(command)


def main() -> None:
    """Runs a command; a `ValueError` is the user's to mend, so it is told without a traceback."""
    bound_spinning()
    try:
        app()
    except (ValueError, FileNotFoundError) as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)


if __name__ == "__main__":
    main()
