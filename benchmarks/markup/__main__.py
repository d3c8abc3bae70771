"""What a translator makes of texts with tags and placeholders.

python -m benchmarks.markup --help
"""

import time
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run
from benchmarks.harness.report import Verdict, markdown_table, write_page
from benchmarks.markup.gold import AlignedPair, read_gold, score_aligner
from benchmarks.markup.sentences import Marked, mark_up
from pipeline.paths import RAW, TRANSLATOR
from transformer.evaluation.scores import compare_bleu, score_bleu
from transformer.files import atomic_write
from transformer.serving.documents import translate_texts
from transformer.serving.translator import Translator
from transformer.text.corpus import part_path, read_pairs

MAX_BLEU_LOSS = 0.3
MAX_ALIGNMENT_ERROR = 0.25


def main(
    translator: Annotated[Path, typer.Option(help="Exported.")] = TRANSLATOR,
    raw: Annotated[Path, typer.Option(help="With the test part.")] = RAW,
    num_sentences: Annotated[int, typer.Option(min=1, help="Of the test part.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of sentences and markup.")] = 0,
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Put markup into test sentences, translate them, and count what is kept."""
    service = Translator(translator)
    rng = Random(seed)
    pairs = list(read_pairs(part_path(raw, "test")))
    pairs = rng.sample(pairs, min(num_sentences, len(pairs)))
    marked = [mark_up(source, target, rng) for source, target in pairs]
    references = [target for _, target in pairs]
    begin = time.perf_counter()
    plain = [answers[0].text for answers in service.translate([source for source, _ in pairs])]
    plain_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    answers = translate_texts([one.html for one in marked], "html", service)
    marked_seconds = time.perf_counter() - begin
    resolved = [one.plain(answer) for one, answer in zip(marked, answers, strict=True)]
    loss = compare_bleu(plain, resolved, references, bleu_tokenizer="13a", num_bootstrap=1000)
    bleu = [score_bleu(one, references, bleu_tokenizer="13a") for one in (plain, resolved)]
    num_well_formed = sum(map(Marked.is_well_formed, marked, answers))
    num_kept = sum(map(Marked.count_kept, marked, answers))
    num_placeholders = sum(one.num_placeholders for one in marked)
    gold = read_gold()
    alignment = score_aligner(service.align, gold)
    num_right, num_tags = _count_placed(service, gold)
    rows = [
        ["sentences", f"{len(marked):,}"],
        ["tags", f"{sum(len(one.tags) for one in marked):,}"],
        ["placeholders for words", f"{sum(len(one.words) for one in marked):,}"],
        ["signs between words", f"{sum(len(one.signs) for one in marked):,}"],
        ["BLEU without markup", f"{bleu[0]:.2f}"],
        [
            "BLEU with markup, which is taken out again",
            f"{bleu[1]:.2f}",
        ],
        ["seconds without markup", f"{plain_seconds:.1f}"],
        ["seconds with markup", f"{marked_seconds:.1f}"],
        [f"links by hand in {len(gold)} sentences", f"{sum(len(p.possible) for p in gold):,}"],
        ["precision of the aligner", f"{alignment.precision:.3f}"],
        ["its recall", f"{alignment.recall:.3f}"],
        ["tags around one word each, in these", f"{num_tags:,}"],
        ["of these around what the hand has linked", f"{num_right / num_tags:.1%}"],
    ]
    difference = f"{loss.value:+.2f} in [{loss.low:+.2f}, {loss.high:+.2f}]"
    verdicts = [
        _judge("well-formed", num_well_formed, len(marked)),
        _judge("placeholders kept, each once", num_kept, num_placeholders),
        Verdict(
            "BLEU lost to markup",
            difference,
            f"at most {MAX_BLEU_LOSS}",
            loss.value <= MAX_BLEU_LOSS,
        ),
        Verdict(
            "alignment error rate",
            f"{alignment.error:.3f}",
            f"at most {MAX_ALIGNMENT_ERROR}",
            alignment.error <= MAX_ALIGNMENT_ERROR,
        ),
    ]
    about = (
        f"`{translator}`: model {service.card.model_hash[:12]}, {service.precision} on "
        f"{service.provider}; seed {seed}."
    )
    table = markdown_table(["", ""], rows, num_text_columns=1)
    page = write_page("Markup", "markup", [about, table, describe_run()], verdicts)
    typer.echo(page)
    if output is not None:
        with atomic_write(output) as temporary:
            temporary.write_text(page, encoding="utf-8")


def _judge(text: str, count: int, total: int) -> Verdict:
    return Verdict(text, f"{count} of {total}", "all", count == total)


def _count_placed(service: Translator, gold: list[AlignedPair]) -> tuple[int, int]:
    """A tag around each word that has a sure link, the translation being the one by hand: how many
    tags hold words that the hand has linked to that word and no others, and how many there are.
    """
    num_right = num_tags = 0
    for pair in gold:
        words = service.align(pair.source, pair.target)

        def by_hand(sentences: list[str], target: str = pair.target) -> list[str]:
            return [target] * len(sentences)

        for place in sorted({source for source, _ in pair.sure}):
            begin, end = words.source[place]
            tagged = f"{pair.source[:begin]}<b>{pair.source[begin:end]}</b>{pair.source[end:]}"
            (answer,) = translate_texts([tagged], "html", service, by_hand)
            held = answer.partition("<b>")[2].partition("</b>")[0]
            first = len(answer.partition("<b>")[0])
            span = range(first, first + len(held))
            inside = {j for j, (start, _) in enumerate(words.target) if start in span}
            linked = {target for source, target in pair.possible if source == place}
            num_tags += 1
            num_right += bool(inside) and inside <= linked
    return num_right, num_tags


if __name__ == "__main__":
    run(main)
