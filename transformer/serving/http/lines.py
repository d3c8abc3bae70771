"""Plain text as lines, each of which has its own translations."""

import re

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
