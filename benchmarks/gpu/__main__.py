"""What a GPU does with this project, part by part.

python -m benchmarks.gpu --help
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.gpu.report import PARTS, write_report
from benchmarks.harness.options import run, tell

# Where a part's cells are listed, unless it has a module of its own name.
MODULES = {"loss": "kernels", "attention": "kernels", "onnx": "graphs"}
# What the usual image for a GPU lacks, with what that needs in turn.
WHEELS = "pydantic,pydantic-core,annotated-types,typing-inspection,typing-extensions,ruamel.yaml"
# As `sysexits.h` has it: try again.
_TRY_AGAIN = 75

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
speed = typer.Typer(help="Training tokens a second of the base or the big model.")
app.add_typer(speed, name="speed")
Output = Annotated[Path, typer.Option(help="For a JSON file of each part.")]
PACKED, RESULTS = Path(".gpu/packed"), Path(".gpu/results")


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(help="New or empty.")],
    project: Annotated[
        Path, typer.Option(help="With the recipe multi30k-de-en, run up to `tokenize`.")
    ],
    translator: Annotated[
        Path, typer.Option(help="A project with a trained model, to be exported.")
    ] = Path(),
    wheels: Annotated[
        str, typer.Option(help="Packages that the other machine lacks, comma-separated.")
    ] = WHEELS,
    python_version: Annotated[str, typer.Option(help="Of the other machine.")] = "3.12",
    tiny: Annotated[bool, typer.Option("--tiny", help="Two reference steps.")] = False,
) -> None:
    """Write one folder with all that the other parts need, on a machine without a GPU."""
    from benchmarks.gpu.packing import pack as write

    names = [name.strip() for name in wheels.split(",") if name.strip()]
    sizes = write(folder, project, translator, names, python_version, tiny)
    for name, size in sizes.items():
        typer.echo(f"{size:8.2f} MiB  {name}")


@app.command()
def report(
    output: Output = RESULTS,
    to: Annotated[
        Path, typer.Option(help="A JSON with all results; a page is written beside it.")
    ] = Path("docs/results/h200.json"),
) -> None:
    """Put the parts together on one page, which judges the targets."""
    typer.echo(write_report(output, to))


def _make_command(part: str) -> Callable[..., None]:
    def measure(
        packed: Annotated[Path, typer.Option(help="The folder that `pack` wrote.")] = PACKED,
        output: Output = RESULTS,
        budget: Annotated[float, typer.Option(help="Seconds after which it stops itself.")] = 540.0,
        device: Annotated[Literal["cuda", "cpu"], typer.Option()] = "cuda",
        tiny: Annotated[
            bool, typer.Option("--tiny", help="A miniature, to show that it runs.")
        ] = False,
    ) -> None:
        begun = time.monotonic()
        from benchmarks.gpu.cells import Setting, describe, run_cells
        from transformer.training.device import choose_device, tune_process

        if not packed.is_dir():
            raise ValueError(f"{packed}: no such folder; `python -m benchmarks.gpu pack` writes it")
        chosen = choose_device(device)
        tune_process(None)
        # Beside the results, which are few and small.
        work = output.absolute().with_name(f"{output.name}-work")
        work.mkdir(parents=True, exist_ok=True)
        setting = Setting(chosen, tiny, packed.absolute(), work, begun + budget)
        name = part.partition("-")[0]
        module = import_module(f"benchmarks.gpu.{MODULES.get(name, name)}")
        cells = module.list_cells(setting, part)
        facts = describe(chosen, packed) | {"is_tiny": tiny}
        if left := run_cells(output / f"{part}.json", cells, facts, setting, tell):
            tell(f"{left} of {len(cells)} cells of {part} are left: call it again")
            raise typer.Exit(_TRY_AGAIN)

    return measure


for _part, _what in PARTS.items():
    _name, _, _shape = _part.partition("-")
    (speed if _shape else app).command(_shape or _name, help=_what)(_make_command(_part))


if __name__ == "__main__":
    run(app)
