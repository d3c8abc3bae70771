"""What `translate` reads and prints."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import typer

from transformer.files import atomic_write
from transformer.serving.corpus import Answered, answer
from transformer.serving.documents import translate_file
from transformer.serving.lines import ByteStream, read_lines
from transformer.serving.translator import Translation, Translator

# Unknown words of one text that a warning names.
_MAX_NAMED = 8


@contextmanager
def exits_as_a_filter() -> Iterator[None]:
    """Ctrl-C, and a reader of the output that has gone, end the command quietly, as in a shell."""
    try:
        yield
    except BrokenPipeError:
        # What Python still flushes at its end must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from None  # as a shell reports a command that SIGPIPE ended
    except KeyboardInterrupt:
        raise typer.Exit(130) from None  # as a shell reports SIGINT


def read_texts(
    sentences: Sequence[str] | None, file: Path | None
) -> Iterator[tuple[str, list[str]]]:
    """Texts in batches as they arrive, each with what a message calls one of its texts.

    Args:
        sentences: the texts themselves; without any, those of the file.
        file: a text a line; None: standard input.
    """
    if sentences:
        yield "sentence", list(sentences)
        return
    if file is None:
        if sys.stdin is None:
            raise ValueError("standard input is closed; give sentences, or --file")
        if sys.stdin.isatty():
            typer.echo("One text a line; Ctrl-D ends.", err=True)
        name = "standard input, line"
        for lines in read_lines(cast(ByteStream, sys.stdin.buffer), "standard input"):
            yield name, lines
        return
    with file.open("rb") as stream:
        for lines in read_lines(stream, str(file)):
            yield f"{file}, line", lines


def answer_each(
    translator: Translator, batches: Iterable[tuple[str, list[str]]], options: Mapping[str, Any]
) -> Iterator[Answered]:
    """Translates batches as they arrive, up to the first text that can't be.

    Args:
        translator: what translates.
        batches: as `read_texts` has them.
        options: of `Translator.translate`.
    """
    number = 1
    for name, texts in batches:
        found = answer(translator, name, number, texts, options)
        yield found
        if found.problem is not None:
            return
        number += len(texts)


def write_answers(
    translator: Translator, answered: Iterable[Answered], *, num_best: int, as_json: bool
) -> None:
    """Prints the translations of each text as soon as its batch is done.

    Args:
        translator: what translates.
        answered: the batches.
        num_best: the best translation, or a table of several.
        as_json: an object for each text instead.

    Standard error is warned of a translation cut at its limit, and of words that the training text
    never had.

    Raises:
        ValueError: a text can't be translated; what comes before it is still answered.
    """
    for name, first, texts, answers, problem in answered:
        for number, (text, translations) in enumerate(
            zip(texts, answers, strict=True), start=first
        ):
            if not all(translation.is_complete for translation in translations):
                typer.echo(f"warning: {name} {number}: cut at the length limit", err=True)
            if unknown := translator.unknown_words(text):
                typer.echo(f"warning: {name} {number}: {_tell_unknown(unknown)}", err=True)
            if as_json:
                shown = _as_json(text, translations, unknown, translator)
            elif num_best == 1:
                shown = translations[0].text + "\n"
            else:
                shown = ("" if number == 1 else "\n") + _as_table(translations)
            sys.stdout.buffer.write(shown.encode())
        sys.stdout.buffer.flush()
        if problem is not None:
            raise ValueError(problem)


def write_document(
    translator: Translator, file: Path, output: Path, options: Mapping[str, Any]
) -> None:
    """Translates a file as its suffix says, and writes it whole, or not at all.

    Args:
        translator: what translates.
        file: what is translated.
        output: where it goes.
        options: of `Translator.translate`.

    Raises:
        ValueError: it is of no known kind, or damaged, or has what can't be translated.
    """

    def translate(sentences: list[str]) -> list[str]:
        answers = translator.translate(sentences, **options)
        for sentence, (best, *_) in zip(sentences, answers, strict=True):
            if not best.is_complete:
                typer.echo(f"warning: cut at the length limit: {sentence}", err=True)
        return [best.text for best, *_ in answers]

    content = translate_file(str(file), file.read_bytes(), translator, translate)
    with atomic_write(output) as temporary:
        temporary.write_bytes(content)


def _tell_unknown(words: Sequence[str]) -> str:
    named = ", ".join(f"'{word}'" for word in words[:_MAX_NAMED])
    more = f" and {len(words) - _MAX_NAMED} more" if len(words) > _MAX_NAMED else ""
    return f"not in the training text: {named}{more}; carried over or guessed"


def _as_json(
    text: str, translations: Sequence[Translation], unknown: Sequence[str], translator: Translator
) -> str:
    values = {
        "source": text,
        "unknown_words": unknown,
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


def _as_table(translations: Sequence[Translation]) -> str:
    return "".join(f"{best.score:.4f}\t{best.text}\n" for best in translations)
