"""Texts and files with a structure, around the pieces of text that a translator takes.

The one place where formats are known: each is a function that is given the whole and a translator
of pieces, and returns the whole in the other language.
"""

import re
from collections.abc import Callable, Mapping, Sequence

# Translates pieces, in order. May be called several times.
TranslatePieces = Callable[[Sequence[str]], Sequence[str]]
TextFormat = Callable[[str, TranslatePieces], str]
FileFormat = Callable[[bytes, TranslatePieces], bytes]

# What has lines alone, which the service cuts itself: `split_lines`.
PLAIN = "text"
_BREAKS = re.compile(r"(\r\n|\r|\n)")


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """The lines of a text, and what stands around them: indentation and line breaks.

    Returns:
        n lines without space at their edges, and the n + 1 strings before, between and after them.
    """
    lines: list[str] = []
    around = [""]
    for part in _BREAKS.split(text):
        line = part.strip()
        if not line:
            around[-1] += part
            continue
        before, after = part.split(line, 1)
        around[-1] += before
        lines.append(line)
        around.append(after)
    return lines, around


def translate_lines(text: str, translate: TranslatePieces) -> str:
    """A text line by line; its line breaks, blank lines and indentation stay."""
    lines, around = split_lines(text)
    pieces = [around[0]]
    for line, after in zip(translate(lines), around[1:], strict=True):
        pieces += [line, after]
    return "".join(pieces)


def _translate_text_file(content: bytes, translate: TranslatePieces) -> bytes:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start + 1}); convert it first") from None
    return translate_lines(text, translate).encode()


# By the `format` of a request, besides PLAIN.
TEXT_FORMATS: Mapping[str, TextFormat] = {}
# By the ending of a file's name.
FILE_FORMATS: Mapping[str, FileFormat] = {".txt": _translate_text_file}
