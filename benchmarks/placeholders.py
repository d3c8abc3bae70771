"""Placeholders that the test part has by itself: translated as they are, and by the service.

python -m benchmarks.placeholders --help
"""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run
from benchmarks.harness.report import Verdict, markdown_table, write_page
from pipeline.paths import RAW, TRANSLATOR
from transformer.evaluation.placeholders import count_kept
from transformer.evaluation.scores import score_bleu
from transformer.files import atomic_write
from transformer.serving.documents import PLAIN, translate_texts
from transformer.serving.translator import Translator
from transformer.text.corpus import part_path, read_pairs


def main(
    translator: Annotated[Path, typer.Option(help="Exported.")] = TRANSLATOR,
    raw: Annotated[Path, typer.Option(help="With the test part.")] = RAW,
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Translate the test sentences that share placeholders with their references."""
    service = Translator(translator)
    pairs = [
        pair
        for pair in read_pairs(part_path(raw, "test"))
        if count_kept([pair[0]], [pair[1]], [""])[0]
    ]
    if not pairs:
        raise ValueError(f"{raw}: no test sentence shares a placeholder with its reference")
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    answers = {
        "by the model alone": [found[0].text for found in service.translate(sources)],
        "by the service": translate_texts(sources, PLAIN, service),
    }
    rows, num_kept, num_wanted = [], 0, 0
    for name, translations in answers.items():
        num_wanted, num_kept = count_kept(sources, references, translations)
        bleu = score_bleu(translations, references, bleu_tokenizer="13a")
        rows.append([name, f"{num_kept:,}", f"{num_kept / num_wanted:.2%}", f"{bleu:.2f}"])
    page = write_page(
        "Placeholders",
        "placeholders",
        [
            f"`{translator}`: model {service.card.model_hash[:12]}, {service.precision} on "
            f"{service.provider}; {len(pairs):,} test sentences share {num_wanted:,} placeholders "
            "and tags with their references.",
            markdown_table(["translated", "kept", "share", "BLEU"], rows, num_text_columns=1),
            describe_run(),
        ],
        [
            Verdict(
                "kept by the service", f"{num_kept} of {num_wanted}", "all", num_kept == num_wanted
            )
        ],
    )
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    run(main)
