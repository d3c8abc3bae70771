"""Hostile text for the translator that serves: from Python, from standard input."""

import json
import math
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.robustness.artifacts import SENTENCES
from benchmarks.robustness.cases import Result, judge
from benchmarks.robustness.child import Process, pipeline_command
from benchmarks.robustness.mutations import damage_bytes
from benchmarks.robustness.project import Project
from transformer.serving.translator import Translator

_PIECES = (
    *("!", "?", ".", ")", "(", '"', "«", "’", "-", "…", "...", "M.", "etc.", "1.", " ", "\u00a0"),
    *(
        "\n",
        "\r\n",
        "\t",
        "\0",
        "\x1b[2J",
        "\x7f",
        "\u200b",
        "\u200d",
        "\u202e",
        "\ufeff",
        "\u2028",
    ),
    *("</s>", "<pad>", "<unk>", "<s>", "[SEP]", "%s", "{0}", "&amp;", "<script>", "'; --", "../"),
    *(
        "e\u0301",
        "\u0301",
        "ﬁ",
        "Ⅷ",
        "½",
        "ß",
        "İ",
        "ǆ",
        "한",
        "語",
        "ไทย",
        "עברית",
        "\U0001f468\u200d",
    ),
    *(
        "\ud800",
        "\udfff",
        "\uffff",
        "\U0010ffff",
        "\ue000",
        "http://a.b/c?d=e#f",
        "a@b.c",
        "1,000.5",
    ),
    *("un", "l’", "Le", "MAJUSCULES", "a" * 300, "9" * 400, "the quick"),
)


def hostile(random: Random) -> str:
    """A text of odd pieces, some of them very often."""
    text: list[str] = []
    for _ in range(random.randrange(1, 12)):
        piece = random.choice([*_PIECES, chr(random.randrange(0x110000)), *SENTENCES])
        many = random.choice([1, 1, 1, 2, 5, random.randrange(400)])
        text.append(piece * many)
        text.append(random.choice(["", " "]))
    return "".join(text)


def python(random: Random, project: Project, folder: Path) -> Result:
    """`Translator.translate` on a hostile text between two good ones, which must not suffer."""
    translator = _load(project.folder / "models/translator")
    text = hostile(random)
    options: dict[str, Any] = {}
    if random.random() < 0.3:
        options = {
            "beam_size": random.choice([1, 2, 7, 0, -1, 10**6, 2**70]),
            "num_best": random.choice([1, 2, 0, -3, 10**6]),
            "length_penalty": random.choice([0.0, 1.0, -1.0, 1e39, math.inf, math.nan]),
            "patience": random.choice([1.0, 2.0, 0.5, math.inf, math.nan, 1e39]),
        }
    good = SENTENCES[:2]

    def run() -> None:
        from pipeline.errors import told_errors

        with told_errors("translate"):
            translator.unknown_words(text)
            found = translator.translate([good[0], text, good[1]], **options)
            assert all(answer.text.encode() is not None for answers in found for answer in answers)
            print(json.dumps([found[0][0].text, found[2][0].text]))

    ended = Process(run, folder).wait()
    what = f"{len(text)} characters: {ascii(text)[:200]}, {options}"
    if options:
        return judge(what, ended)
    wanted = {"neighbors": json.dumps(_reference(project.folder)) + "\n"}
    return judge(what, ended, wanted, {"neighbors": ended.output})


def command(random: Random, project: Project, folder: Path) -> Result:
    """`python -m pipeline translate` on noise: a line for each line, or a message."""
    lines = "\n".join(hostile(random).replace("\n", " ") for _ in range(random.randrange(1, 5)))
    raw = lines.encode("utf-8", random.choice(["surrogatepass", "replace"]))
    what = "well-formed"
    if random.random() < 0.5:
        what, raw = damage_bytes(random, raw)
    arguments = ["translate", "--model", str(project.folder / "models/translator")]
    arguments += ["--num-threads", "1"]
    if random.random() < 0.3:
        (folder / "text").write_bytes(raw)
        ended = Process(pipeline_command([*arguments, "--file", "text"]), folder).wait()
    else:
        ended = Process(pipeline_command(arguments), folder, stdin=raw).wait()
    what = f"{what}: {raw[:200]!r}"
    num_lines = len(raw.removesuffix(b"\n").split(b"\n")) if raw else 0
    return judge(what, ended, {"lines": str(num_lines)}, {"lines": str(ended.output.count("\n"))})


@cache
def _load(folder: Path) -> Translator:
    # float32, so that a text's translation does not hang on what else is in its batch. One thread,
    # so that there is none to fork.
    return Translator(folder, "cpu", num_threads=1, precision="float32")


@cache
def _reference(folder: Path) -> list[str]:
    return [
        answers[0].text for answers in _load(folder / "models/translator").translate(SENTENCES[:2])
    ]
