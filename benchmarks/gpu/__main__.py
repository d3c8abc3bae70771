"""What a GPU does with this project, part by part.

python -m benchmarks.gpu --help
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

# The module of each part, and what it measures.
PARTS = {
    "check": ("check", "Losses against a CPU's, bandwidth, peak, attention's kernels, one resume."),
    "multi30k": ("multi30k", "The packed project trained to the end, and scored."),
    "speed": ("speed", "Training tokens a second of the base or the big model, by batch and form."),
    "resume": ("resume", "Whether training repeats, and goes on after a kill, to the bit."),
    "loss": ("loss", "The loss, ours and the compiler's."),
    "attention": ("attention", "Attention's kernels at the lengths of sentences."),
    "onnx": ("graphs", "The exported graphs, beside PyTorch."),
}
# What the usual image for a GPU lacks, with what that needs in turn.
WHEELS = "pydantic,pydantic-core,annotated-types,typing-inspection,typing-extensions,ruamel.yaml"
# As `sysexits.h` has it: try again.
_TRY_AGAIN = 75

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
Packed = Annotated[Path, typer.Option(help="The folder that `pack` wrote.")]
Output = Annotated[Path, typer.Option(help="For a JSON file of each part.")]
Budget = Annotated[float, typer.Option(help="Seconds after which it stops itself.")]
DeviceName = Annotated[Literal["cuda", "cpu"], typer.Option()]
Tiny = Annotated[bool, typer.Option("--tiny", help="A miniature, to show that it runs.")]
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
    from benchmarks.gpu.report import write_report

    typer.echo(write_report(output, to))


@app.command(help=PARTS["speed"][1])
def speed(
    shape: Annotated[Literal["base", "big"], typer.Argument()],
    packed: Packed = PACKED,
    output: Output = RESULTS,
    budget: Budget = 540.0,
    device: DeviceName = "cuda",
    tiny: Tiny = False,
) -> None:
    """Measures one shape."""
    _measure("speed", packed, output, budget, device, tiny, shape)


def _make_command(part: str) -> Callable[..., None]:
    def measure(
        packed: Packed = PACKED,
        output: Output = RESULTS,
        budget: Budget = 540.0,
        device: DeviceName = "cuda",
        tiny: Tiny = False,
    ) -> None:
        _measure(part, packed, output, budget, device, tiny)

    return measure


for _part, (_, _help) in PARTS.items():
    if _part != "speed":
        app.command(_part, help=_help)(_make_command(_part))


def _measure(
    part: str,
    packed: Path,
    output: Path,
    budget: float,
    device: str,
    is_tiny: bool,
    shape: str | None = None,
) -> None:
    begun = time.monotonic()
    from benchmarks.gpu.cells import Setting, run_cells
    from benchmarks.gpu.machine import describe
    from transformer.training.device import choose_device, tune_process

    if not packed.is_dir():
        raise ValueError(f"{packed}: no such folder; `python -m benchmarks.gpu pack` writes it")
    chosen = choose_device(device)
    tune_process(None)
    # Beside the results, which are few and small.
    work = output.absolute().with_name(f"{output.name}-work")
    work.mkdir(parents=True, exist_ok=True)
    setting = Setting(chosen, is_tiny, packed.absolute(), work, begun + budget)
    module = import_module(f"benchmarks.gpu.{PARTS[part][0]}")
    cells = module.list_cells(setting) if shape is None else module.list_cells(setting, shape)
    name = part if shape is None else f"{part}-{shape}"
    facts = describe(chosen, packed) | {"is_tiny": is_tiny}
    left = run_cells(output / f"{name}.json", cells, facts, setting, _tell)
    if left:
        _tell(f"{left} of {len(cells)} cells of {name} are left: call it again")
        raise typer.Exit(_TRY_AGAIN)


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def main() -> None:
    """Runs a command; what is the user's to mend is told without a traceback."""
    try:
        app()
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
