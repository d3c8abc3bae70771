"""How many of the phrasebook's fixed sentences a translator knows by heart, as they may be typed.

python -m benchmarks.fixed_phrases --help
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run
from benchmarks.harness.report import markdown_table, write_page
from pipeline.paths import TRANSLATOR
from transformer.files import atomic_write
from transformer.serving.translator import Translator
from transformer.text.noise import add_noise
from transformer.text.phrasebook.expansion import load_idioms

FORMS: dict[str, Callable[[str], str]] = {
    "as written": lambda text: text,
    "without its mark": lambda text: text.rstrip(" .?!"),
    "in lower case": str.lower,
    "in capitals": str.upper,
    "without accents": lambda text: add_noise("lose_accents", text, Random(0)),
    "with typographic apostrophes": lambda text: text.replace("'", "’"),
}


def main(
    translator: Annotated[Path, typer.Option(help="Exported.")] = TRANSLATOR,
    phrases: Annotated[Path, typer.Option(help="The phrasebook's folder.")] = Path(
        "data/phrasebook"
    ),
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Translate the fixed sentences in each form; count those that are right, list the others.

    The mark at the end of an answer doesn't count. Where none was typed, the meaning of any fixed
    sentence that differs in its mark alone is right: "Ça va." and "Ça va ?".
    """
    pairs = load_idioms(phrases)
    meanings: dict[str, set[str]] = {}
    for source, target in pairs:
        meanings.setdefault(source.rstrip(" .?!"), set()).add(target.rstrip(".?!"))
    service = Translator(translator)
    rows, wrong = [], []
    for name, change in FORMS.items():
        typed = [change(source) for source, _ in pairs]
        answers = [found[0].text for found in service.translate(typed)]
        failed = [
            (name, source, answer, target)
            for source, answer, (_, target) in zip(typed, answers, pairs, strict=True)
            if answer.rstrip(".?!") not in _right(name, source, target, meanings)
        ]
        rows.append([name, str(len(pairs) - len(failed)), str(len(pairs))])
        wrong += failed
    about = (
        f"`{translator}`: model {service.card.model_hash[:12]}, {service.precision} on "
        f"{service.provider}."
    )
    parts = [about, markdown_table(["typed", "right", "of"], rows, num_text_columns=1)]
    if wrong:
        columns = ["typed", "French", "answer", "should be"]
        parts.append(markdown_table(columns, wrong, num_text_columns=4))
    page = write_page("Fixed sentences by heart", "fixed_phrases", [*parts, describe_run()])
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(page, encoding="utf-8")


def _right(form: str, source: str, target: str, meanings: dict[str, set[str]]) -> set[str]:
    """The answers that count, without their marks."""
    if form == "without its mark":
        return meanings[source]
    return {target.rstrip(".?!")}


if __name__ == "__main__":
    run(main)
