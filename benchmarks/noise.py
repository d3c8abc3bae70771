"""What a translator makes of sentences as people type them: BLEU with each kind of noise.

python -m benchmarks.noise --help
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from sacrebleu.metrics import BLEU

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run
from benchmarks.harness.report import markdown_table, write_page
from pipeline.paths import RAW, TRANSLATOR
from transformer.files import atomic_write
from transformer.serving.translator import Translator
from transformer.text.corpus import part_path, read_pairs
from transformer.text.noise import KINDS, add_noise
from transformer.text.normalize import normalize

_SPACE_BEFORE_MARKS = re.compile(" *([?!:;]+)(?= |$)")
_QUOTED = re.compile('"([^"]*)"')


def _shape_quotes(text: str, _: Random) -> str:
    return _QUOTED.sub("« \\1 »", text).replace("'", "’")


def _space_marks(text: str, _: Random, *, space: str) -> str:
    return _SPACE_BEFORE_MARKS.sub(f"{space}\\1", text)


def _repeat_marks(text: str, _: Random) -> str:
    return re.sub("[?!]$", lambda mark: mark[0] * 3, text)


def _part_ligatures(text: str, _: Random) -> str:
    return text.replace("œ", "oe").replace("Œ", "Oe")


FORMS: dict[str, Callable[[str, Random], str]] = {
    "none": lambda text, _: text,
    **{kind: partial(add_noise, kind) for kind in KINDS},
    "typographic quotes": _shape_quotes,
    "narrow space before marks": partial(_space_marks, space="\u202f"),
    "no space before marks": partial(_space_marks, space=""),
    "repeated marks": _repeat_marks,
    "oe for œ": _part_ligatures,
}


def main(
    translator: Annotated[
        list[Path] | None,
        typer.Option(help="Exported; again for more.", show_default=str(TRANSLATOR)),
    ] = None,
    data: Annotated[
        Path, typer.Option(help="With the raw test part, whose capitals and quotes are typed.")
    ] = RAW,
    num: Annotated[int, typer.Option(min=1, help="Sentences, evenly spaced in the test part.")] = (
        500
    ),
    seed: Annotated[int, typer.Option(min=0, help="Of the typos.")] = 1,
    bleu_tokenizer: Annotated[str, typer.Option(help="sacreBLEU's.")] = "13a",
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Score translators on the test source with each kind of noise alone, beside none."""
    folders = translator or [TRANSLATOR]
    pairs = list(read_pairs(part_path(data, "test")))
    num = min(num, len(pairs))
    chosen = [pairs[row * len(pairs) // num] for row in range(num)]
    references = [target for _, target in chosen]
    sources = make_sources([source for source, _ in chosen], seed)
    metric = BLEU(tokenize=bleu_tokenizer)
    rows = [[name, str(_num_changed(texts, sources["none"]))] for name, texts in sources.items()]
    notes = []
    for folder in folders:
        model = Translator(folder)
        for row, texts in zip(rows, sources.values(), strict=True):
            translations = [answers[0].text for answers in model.translate(texts)]
            row.append(f"{metric.corpus_score(translations, [references]).score:.2f}")
        notes.append(
            f"`{folder}`: model {model.card.model_hash[:12]}, {model.precision} on "
            f"{model.provider}."
        )
    table = markdown_table(
        ["noise", "sentences changed", *(f"`{folder}`" for folder in folders)],
        rows,
        num_text_columns=1,
    )
    about = (
        f"BLEU ({metric.get_signature()}) of {num} sentences of the test part. Each row: one kind "
        "of noise on every sentence that it finds something to do in."
    )
    page = write_page("Noise", "noise", [about, table, *notes, describe_run()])
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(page, encoding="utf-8")


def make_sources(sources: list[str], seed: int) -> dict[str, list[str]]:
    """The sources in each of `FORMS`, by its name; the same for every translator."""
    plain = [
        normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
        for text in sources
    ]
    return {
        name: [form(text, Random(f"{seed} {row}")) for row, text in enumerate(plain)]
        for name, form in FORMS.items()
    }


def _num_changed(texts: list[str], plain: list[str]) -> int:
    return sum(text != before for text, before in zip(texts, plain, strict=True))


if __name__ == "__main__":
    run(main)
