"""Scores from outside: a command of the user's that reads texts, and writes numbers."""

import math
import subprocess
from collections.abc import Sequence

from transformer.text.normalize import normalize

LOW_SCORE = "low_score"
_MAX_SHOWN = 200


def score_pairs(
    command: str,
    pairs: Sequence[Sequence[str]],
    lines: Sequence[int],
    field: str = "clean.score.command",
) -> list[float]:
    """What the command says of each pair, or of each row of more texts: a number.

    The shell runs it, in the folder of the project. It reads `source<TAB>target` a line, in UTF-8:
    the text as it came, but for Unicode's and white space's forms, so that no tab or line end is
    in it. It writes a number for each, a line each, in their order, and ends with status 0.

    Args:
        command: as a shell takes it.
        pairs: raw ones; a row of several texts has as many columns.
        lines: where each stands in the corpus, for messages.
        field: of `params.yaml`, which has the command, for messages.

    Raises:
        ValueError: it failed, wrote something else than a number, or too few or too many.
    """
    if not pairs:
        return []
    text = "".join("\t".join(map(_plain, pair)) + "\n" for pair in pairs)
    done = subprocess.run(command, shell=True, input=text.encode(), capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().split("\n")[-1][-_MAX_SHOWN:]
        raise ValueError(
            f"{field} ended with status {done.returncode} ({said or 'it said nothing'})"
        )
    written = done.stdout.decode(errors="replace").removesuffix("\n").split("\n")
    scores = [_parse(one, line, field) for one, line in zip(written, lines, strict=False)]
    if len(written) != len(pairs):
        where = f", none for line {lines[len(written)]}" if len(written) < len(pairs) else ""
        raise ValueError(
            f"{field} wrote {len(written)} lines for {len(pairs)} that it read{where}; "
            "it has to write a number for each"
        )
    return scores


def _plain(text: str) -> str:
    return normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)


def _parse(text: str, line: int, field: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        shown = text[:_MAX_SHOWN]
        raise ValueError(f"line {line}: {field} wrote {shown!r}; it has to write a number")
    return score
