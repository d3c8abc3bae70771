"""`translate`: text in, translations out, by the exported translator alone."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipeline.paths import TRANSLATOR

if TYPE_CHECKING:
    from transformer.serving.translator import Translator


def translate(
    sentences: Annotated[
        list[str] | None,
        typer.Argument(help="What to translate; without any, standard input, line by line."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A UTF-8 file, one text a line.", exists=True, dir_okay=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where the translation of --file goes, as a document of its own kind, by its "
            "suffix: .txt .md .html .xml .po .xliff .srt.",
            dir_okay=False,
        ),
    ] = None,
    beam_size: Annotated[
        int | None,
        typer.Option(min=1, help="Hypotheses kept; 1 is greedy.", show_default="the model's"),
    ] = None,
    num_best: Annotated[
        int,
        typer.Option(min=1, help="Translations of each text, with scores, a blank line between."),
    ] = 1,
    length_penalty: Annotated[
        float | None,
        typer.Option(min=0, help="More favours longer ones.", show_default="the model's"),
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Stop after so many times beam-size ended hypotheses, or when no better one "
            "is likely; inf: when none can win.",
            show_default="the model's",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per text.")] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace", help="Tell greedy search step by step; reads the checkpoint, loads PyTorch."
        ),
    ] = False,
    model: Annotated[Path, typer.Option(help="An exported translator's folder.")] = TRANSLATOR,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="auto takes CUDA where it works.")
    ] = "auto",
    precision: Annotated[
        Literal["auto", "float32", "int8", "float16"],
        typer.Option(help="auto takes the smaller graph where it proved as good."),
    ] = "auto",
    num_threads: Annotated[
        int | None, typer.Option(min=1, help="On the CPU.", show_default="one per core")
    ] = None,
) -> None:
    """Translate sentences, a file, or standard input, a line for each line."""
    from pipeline.commands.answers import (
        answer_each,
        exits_as_a_filter,
        read_texts,
        write_answers,
        write_document,
    )
    from transformer.serving.corpus import LineShard, cut_lines, translate_shards

    if sentences and file is not None:
        raise typer.BadParameter("give sentences or a file, not both", param_hint="--file")
    if output is not None and (file is None or num_best > 1 or as_json):
        raise typer.BadParameter(
            "takes the one translation of a --file, without --json and --num-best",
            param_hint="--output",
        )
    if trace:
        _refuse_with_trace(
            {
                "--output": output is not None,
                "--json": as_json,
                "--num-best": num_best > 1,
                "--beam-size": beam_size not in (None, 1),
                "--length-penalty": length_penalty is not None,
                "--device": device == "cuda",
                "--precision": precision not in ("auto", "float32"),
            }
        )
    options: dict[str, Any] = {"beam_size": beam_size, "num_best": num_best}
    options |= {"length_penalty": length_penalty, "patience": patience}
    with exits_as_a_filter():
        if trace:
            _trace(model, read_texts(sentences, file))
        else:
            translator = _load(model, device, num_threads, precision)
            if file is not None and output is not None:
                write_document(translator, file, output, options)
                return
            shards: list[LineShard] = []
            if file is not None and file.is_file() and num_threads is None:
                shards = cut_lines(file)
            if len(shards) > 1 and translator.provider == "cpu":
                answered = translate_shards(model, shards, options, translator.precision)
            else:
                answered = answer_each(translator, read_texts(sentences, file), options)
            write_answers(translator, answered, num_best=num_best, as_json=as_json)


def _refuse_with_trace(others: Mapping[str, bool]) -> None:
    if given := [name for name, is_given in others.items() if is_given]:
        raise typer.BadParameter(
            "follows greedy search by PyTorch on the CPU, in float32, and prints text; it does not "
            f"go with {', '.join(given)}",
            param_hint="--trace",
        )


def _trace(model: Path, batches: Iterable[tuple[str, list[str]]]) -> None:
    from pipeline.commands.trace import make_tracer

    tracer, is_first = make_tracer(model), True
    for _, texts in batches:
        for text in texts:
            typer.echo(("" if is_first else "\n") + tracer(text))
            is_first = False


def _load(
    model: Path, device: Literal["auto", "cpu", "cuda"], num_threads: int | None, precision: str
) -> "Translator":
    import warnings

    from transformer.serving.translator import Translator

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        translator = Translator(model, device, num_threads, precision)
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    return translator
