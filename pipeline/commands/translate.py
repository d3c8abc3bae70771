"""`translate`: text in, translations out, by the exported translator alone."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from typer.core import TyperCommand

from pipeline.paths import TRANSLATOR

if TYPE_CHECKING:
    from transformer.serving.translator import Translation, Translator


class TextCommand(TyperCommand):
    """A command that takes text: what begins with a dash was perhaps not meant as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As its base does, with a hint where an option is unknown and no known one is like it."""
        given = list(args)  # the parser takes them off the list
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # the parser's own exceptions are not public
            option = getattr(error, "option_name", None)
            if type(error).__name__ != "NoSuchOption" or getattr(error, "possibilities", None):
                raise
            text = next((text for text in given if text.startswith(str(option))), str(option))
            raise typer.BadParameter(
                f"no such option: {option}. If it is a text that begins with a dash, put -- "
                f"before the texts: translate -- {shlex.quote(text)}",
                ctx=ctx,
            ) from None


def translate(
    sentences: Annotated[
        list[str] | None,
        typer.Argument(help="What to translate; without any, standard input, line by line."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A UTF-8 file, one text a line.", exists=True, dir_okay=False),
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
            help="Stop after so many times beam-size ended hypotheses; inf: when none can win.",
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
    import os
    import sys

    from transformer.serving.translator import UntranslatableError

    if sentences and file is not None:
        raise typer.BadParameter("give sentences or a file, not both", param_hint="--file")
    if trace:
        _refuse_with_trace(
            {
                "--json": as_json,
                "--num-best": num_best > 1,
                "--beam-size": beam_size not in (None, 1),
                "--length-penalty": length_penalty is not None,
                "--device": device == "cuda",
                "--precision": precision not in ("auto", "float32"),
            }
        )
    try:
        if trace:
            _trace(model, sentences, file)
            return
        translator = _load(model, device, num_threads, precision)
        options: dict[str, Any] = {"beam_size": beam_size, "num_best": num_best}
        options |= {"length_penalty": length_penalty, "patience": patience}
        number = 0
        for name, texts in _read(sentences, file):
            problem = None
            try:
                answers = translator.translate(texts, **options)
            except UntranslatableError as error:  # what comes before it is still answered
                problem = f"{name} {number + error.index + 1}: {error.reason}"
                answers = translator.translate(texts[: error.index], **options)
            for text, translations in zip(texts, answers, strict=False):
                number += 1
                if not all(translation.is_complete for translation in translations):
                    typer.echo(f"warning: {name} {number}: cut at the length limit", err=True)
                if as_json:
                    answer = _as_json(text, translations, translator)
                elif num_best == 1:
                    answer = translations[0].text + "\n"
                else:
                    answer = ("" if number == 1 else "\n") + _as_table(translations)
                sys.stdout.buffer.write(answer.encode())
            sys.stdout.buffer.flush()
            if problem is not None:
                raise ValueError(problem)
    except BrokenPipeError:
        # The reader has gone; what Python still flushes at its end must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None  # as a shell reports a command that SIGPIPE ended
    except KeyboardInterrupt:
        raise typer.Exit(130) from None  # as a shell reports SIGINT


def _refuse_with_trace(others: dict[str, bool]) -> None:
    if given := [name for name, is_given in others.items() if is_given]:
        raise typer.BadParameter(
            "follows greedy search by PyTorch on the CPU, in float32, and prints text; it does not "
            f"go with {', '.join(given)}",
            param_hint="--trace",
        )


def _trace(model: Path, sentences: list[str] | None, file: Path | None) -> None:
    from pipeline.commands.trace import make_tracer

    tracer, is_first = make_tracer(model), True
    for _, texts in _read(sentences, file):
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


def _read(sentences: list[str] | None, file: Path | None) -> Iterator[tuple[str, list[str]]]:
    # Texts as they arrive, with what a message calls one of them.
    import sys

    from transformer.serving.lines import ByteStream, read_lines

    if sentences:
        yield "sentence", sentences
        return
    if file is None:
        if sys.stdin.isatty():
            typer.echo("One text a line; Ctrl-D ends.", err=True)
        name = "standard input, line"
        for lines in read_lines(cast(ByteStream, sys.stdin.buffer), "standard input"):
            yield name, lines
        return
    with file.open("rb") as stream:
        for lines in read_lines(stream, str(file)):
            yield f"{file}, line", lines


def _as_json(text: str, translations: "Sequence[Translation]", translator: "Translator") -> str:
    import json

    values = {
        "source": text,
        "translations": [
            {"text": best.text, "score": round(best.score, 6), "is_complete": best.is_complete}
            for best in translations
        ],
        "source_language": translator.card.source_language,
        "target_language": translator.card.target_language,
        "model_hash": translator.card.model_hash,
        "precision": translator.precision,
        "provider": translator.provider,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def _as_table(translations: "Sequence[Translation]") -> str:
    return "".join(f"{best.score:.4f}\t{best.text}\n" for best in translations)
