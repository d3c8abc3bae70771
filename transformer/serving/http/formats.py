"""Texts and files with a structure, around the pieces of text that a translator takes.

The one place where formats are known: `translate_texts` and `translate_file` are given a whole and
what translates pieces, and return the whole in the other language.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

from transformer.serving.translator import Translator

# Translates pieces, in order. May be called several times.
Translate = Callable[[list[str]], Sequence[str]]

# What has lines alone, which the service cuts itself: `split_lines`.
PLAIN = "text"
TEXT_FORMATS = (PLAIN,)
# What a file's name can end in.
SUFFIXES = (".txt",)
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


def translate_texts(
    texts: Sequence[str], text_format: str, translator: Translator, translate: Translate
) -> list[str]:
    """Translates texts; their line breaks, blank lines and indentation stay.

    Args:
        texts: of the format.
        text_format: of `TEXT_FORMATS`.
        translator: what it says of itself is used, not its search.
        translate: pieces of text, as many translations in order.

    Raises:
        ValueError: an unknown format.
    """
    if text_format not in TEXT_FORMATS:
        known = ", ".join(TEXT_FORMATS)
        raise ValueError(f"format = {text_format!r} is not supported; there is {known}")
    return [_translate_lines(text, translate) for text in texts]


def translate_file(name: str, data: bytes, translator: Translator, translate: Translate) -> bytes:
    """Translates a file's content, as `translate_texts` does.

    Args:
        name: of the file, for its ending, one of `SUFFIXES`, and for messages.
        data: UTF-8.
        translator: as for `translate_texts`.
        translate: likewise.

    Raises:
        ValueError: an unknown ending; not UTF-8.
    """
    if PurePath(name).suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise ValueError(f"{name}: this kind of file is not supported; there is {known}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: not UTF-8 text (byte {error.start + 1}); convert it first"
        ) from None
    return _translate_lines(text, translate).encode()


def _translate_lines(text: str, translate: Translate) -> str:
    lines, around = split_lines(text)
    pieces = [around[0]]
    for line, after in zip(translate(lines), around[1:], strict=True):
        pieces += [line, after]
    return "".join(pieces)
