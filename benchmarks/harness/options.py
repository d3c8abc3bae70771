"""What the commands of benchmarks share: lists as options, words on the way, errors."""

from collections.abc import Callable, Iterable

import typer


def choose(text: str, known: Iterable[str], option: str) -> list[str]:
    """Comma-separated names out of known ones.

    Raises:
        typer.BadParameter: others are among them.
    """
    known = list(known)
    names = [name.strip() for name in text.split(",")]
    if unknown := sorted(set(names) - set(known)):
        raise typer.BadParameter(
            f"{', '.join(unknown)}: allowed are {', '.join(known)}", param_hint=option
        )
    return names


def numbers(text: str, option: str) -> list[int]:
    """Comma-separated numbers from 1, each once.

    Raises:
        typer.BadParameter: they are something else.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or len(set(found)) < len(found):
        raise typer.BadParameter(
            f"{text!r}: write different numbers from 1, such as 1,8,32", param_hint=option
        )
    return found


def tell(text: str) -> None:
    """On standard error: standard output is the page's."""
    typer.echo(text, err=True)


def run(main: Callable[..., None] | typer.Typer) -> None:
    """Runs a command; what is the user's to mend is told without a traceback."""
    try:
        main() if isinstance(main, typer.Typer) else typer.run(main)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error
