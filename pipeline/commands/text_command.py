"""A command line that may hold texts."""

import shlex
from typing import Any

import typer
from typer.core import TyperCommand


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
