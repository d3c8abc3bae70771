"""The command line: `python -m pipeline COMMAND`.

Stage files import nothing heavy until they run, so `--help` answers at once.
"""

import gc
import os
import sys

import typer

from pipeline.commands.adopt import adopt
from pipeline.commands.affected import affected
from pipeline.commands.check import check
from pipeline.commands.compare import compare
from pipeline.commands.experiments import experiments
from pipeline.commands.import_model import import_model
from pipeline.commands.pack import pack
from pipeline.commands.plots import plots
from pipeline.commands.promote import promote
from pipeline.commands.recipe import recipe
from pipeline.commands.repeat import repeat
from pipeline.commands.save_marian import save_marian
from pipeline.commands.serve import serve
from pipeline.commands.sweep import sweep
from pipeline.commands.sync import sync
from pipeline.commands.teacher import teacher
from pipeline.commands.text_command import TextCommand
from pipeline.commands.translate import translate
from pipeline.commands.ui import ui
from pipeline.errors import told_errors
from pipeline.stages.clean import clean
from pipeline.stages.download import download
from pipeline.stages.evaluate import evaluate
from pipeline.stages.export import export
from pipeline.stages.pretrain import pretrain
from pipeline.stages.synthesize import synthesize
from pipeline.stages.tokenize import tokenize
from pipeline.stages.train import train
from pipeline.stages.vocab import vocab
from transformer.threads import bound_spinning

# New objects between two searches for garbage. Python's own 700 suit small programs: importing and
# exporting make millions of objects that stay, and each search would walk through them.
_GARBAGE_THRESHOLDS = (50_000, 20, 20)

app = typer.Typer(
    help="From a parallel corpus to one ONNX file that translates.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for stage in (download, synthesize, clean, vocab, tokenize, pretrain, train, evaluate, export):
    app.command(rich_help_panel="Stages, as `dvc repro` runs them")(stage)
app.command(rich_help_panel="Commands", cls=TextCommand)(translate)
for command in (
    *(recipe, check, affected, experiments, compare, plots, sweep, repeat),
    *(pack, adopt, sync, promote, ui, serve, teacher, save_marian),
):
    app.command(rich_help_panel="Commands")(command)
app.command("import", rich_help_panel="Commands")(import_model)

# DVC's stands in .dvc/config.
_NO_TELEMETRY = {"MLFLOW_DISABLE_TELEMETRY": "true", "HF_HUB_DISABLE_TELEMETRY": "1"}


def main() -> None:
    """Runs a command; what the user can mend is told without a traceback."""
    for name, value in _NO_TELEMETRY.items():
        os.environ.setdefault(name, value)
    bound_spinning()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    try:
        with told_errors(sys.argv[1] if len(sys.argv) > 1 else "pipeline"):
            app()
    finally:
        # The process ends: to look for garbage in what it holds would take seconds. DuckDB, which
        # only `clean` has loaded, would report as leaked what is frozen.
        if "duckdb" not in sys.modules:
            gc.freeze()


if __name__ == "__main__":
    main()
