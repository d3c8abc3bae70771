"""Quality against speed: several models side by side, each in every way to run it.

python -m benchmarks.decoding.front --help
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

from benchmarks.decoding.contenders import NAMES, Commands, list_variants, tell_versions
from benchmarks.decoding.findings import CTRANSLATE2, Cell, beam_name
from benchmarks.decoding.project import ALL, Subject, load_subject, plan_name, plan_work
from benchmarks.harness.findings import Findings
from benchmarks.harness.machine import describe_model, describe_run
from benchmarks.harness.options import numbers, run, tell
from benchmarks.harness.report import Verdict, judge, markdown_table, save_page
from benchmarks.harness.rounds import Variant
from benchmarks.harness.workers import Worker
from pipeline.paths import CHECKPOINT
from transformer.evaluation.scores import ScoreInterval, resample_bleu
from transformer.model.checkpoint import model_hash

ENGINES = ("onnx-float32", "onnx-int8", *CTRANSLATE2)
NUM_BOOTSTRAP = 1000
MAX_BLEU_LOSS = 0.5
MIN_SPEED_RATIO = 4.0


@dataclass
class FrontFindings(Findings):
    """Speed and quality of models; a contender is `MODEL ENGINE`, a first model the teacher."""

    title: ClassVar[str] = "Quality against speed"
    command: ClassVar[str] = "decoding.front"
    names: ClassVar[Mapping[str, str]] = {}
    cell_columns: ClassVar[tuple[str, ...]] = Cell._fields

    models: list[str]
    cells: list[Cell]
    # By contender and beam size.
    bleu: dict[tuple[str, int], ScoreInterval] = field(default_factory=dict)

    @property
    def batch_sizes(self) -> list[int]:
        """Those of the cells, each once."""
        return list(dict.fromkeys(cell.batch_size for cell in self.cells))

    def speed(self, who: str, cell: Cell) -> float | None:
        """Of a contender's best setting, in target tokens per second."""
        return self.speeds.median(self.speeds.best([who], cell), cell)

    def table(self) -> str:
        """A row per contender and beam size."""
        header = ["model", "by", "search"]
        header += [f"tokens/s, batch {size}" for size in self.batch_sizes]
        rows = []
        for (who, beam), bleu in sorted(self.bleu.items(), key=lambda item: item[1].value):
            model, engine = who.split(" ")
            row = [model, NAMES[engine], beam_name(beam)]
            for size in self.batch_sizes:
                found = self.speed(who, Cell(size, beam))
                row.append("–" if found is None else f"{found:,.0f}")
            rows.append([*row, f"{bleu.value:.2f} [{bleu.low:.2f}, {bleu.high:.2f}]"])
        return markdown_table([*header, "BLEU"], rows[::-1], num_text_columns=3)

    def verdicts(self) -> list[Verdict]:
        """Each student's narrower searches by our int8 against its teacher's widest beam."""
        teacher, *students = self.models
        *narrower, beam = sorted({cell.beam_size for cell in self.cells})
        engines = [f"{teacher} {engine}" for engine in CTRANSLATE2]
        verdicts = []
        for student, own in product(students, narrower):
            who, search = f"{student} onnx-int8", beam_name(own)
            ours = self.bleu.get((who, own))
            theirs = self.bleu.get((f"{teacher} onnx-float32", beam))
            loss = None if ours is None or theirs is None else ours.value - theirs.value
            text = f"BLEU of {student}, int8, {search}, less {teacher}'s, {beam_name(beam)}"
            verdicts.append(judge(text, loss, -MAX_BLEU_LOSS, "{:+.2f}"))
            for size in self.batch_sizes:
                speed = self.speed(who, Cell(size, own))
                found = [self.speed(one, Cell(size, beam)) for one in engines]
                best = max((one for one in found if one is not None), default=None)
                ratio = None if speed is None or best is None else speed / best
                text = f"its speed, {search}, over CTranslate2's best with {teacher}, batch {size}"
                verdicts.append(judge(text, ratio, MIN_SPEED_RATIO))
        return verdicts

    def more(self) -> dict[str, Any]:
        """Quality."""
        return {
            "bleu": {
                f"{who}, {beam_name(beam)}": [one.value, one.low, one.high]
                for (who, beam), one in self.bleu.items()
            }
        }


def main(
    models: Annotated[
        list[str],
        typer.Argument(help="NAME=FOLDER of projects with one test set, the teacher first."),
    ],
    sentences: Annotated[int, typer.Option(min=1, help="To time, over the whole test set.")] = 200,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each figure.")] = 3,
    batch_sizes: Annotated[str, typer.Option(help="Comma-separated.")] = "1,32",
    beam_sizes: Annotated[str, typer.Option(help="Comma-separated; 1 is greedy.")] = "1,5",
    threads: Annotated[str, typer.Option(help="Comma-separated.")] = "1,2",
    output: Annotated[
        Path | None, typer.Option(help="Markdown; a JSON and a picture stand beside it.")
    ] = None,
) -> None:
    """Measure several models: speed by each engine's best setting against BLEU, and a picture."""
    named = dict(one.split("=", 1) for one in models if "=" in one)
    if len(named) < len(models) or any(" " in name for name in named):
        raise typer.BadParameter("write NAME=FOLDER, names without spaces, each once")
    sizes = numbers(batch_sizes, "--batch-sizes")
    cells = [Cell(size, beam) for beam in numbers(beam_sizes, "--beam-sizes") for size in sizes]
    engines = list_variants(ENGINES, numbers(threads, "--threads"))
    variants = {
        replace(one, contender=f"{name} {one.contender}"): one for name in named for one in engines
    }
    findings = FrontFindings(list(variants), list(named), cells)
    subjects = {name: load_subject(Path(folder), None, None) for name, folder in named.items()}
    references = [subject.references for subject in subjects.values()]
    if any(one != references[0] for one in references):
        raise ValueError("the projects' test sets have different references")
    workers: dict[Variant, Worker] = {}

    def ask(variant: Variant, cell: Cell) -> dict[str, Any] | None:
        if cell.batch_size < variant.num_workers:
            return None
        plan = plan_name(cell.batch_size)
        return workers[variant].ask("measure", plan=plan, beam_size=cell.beam_size)

    with ExitStack() as stack:
        commands = {}
        for name, subject in subjects.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            plan_work(subject, sentences, sizes).save(folder / "work.json")
            commands[name] = Commands(Path(named[name]), subject, folder, "cpu")
        for variant, engine in variants.items():
            command = partial(commands[variant.contender.split(" ")[0]].command, engine)
            worker = findings.start(variant, command)
            if worker is not None:
                workers[variant] = stack.enter_context(worker)
        findings.bleu = _score(workers, subjects, {cell.beam_size for cell in cells})
        findings.measure(list(workers), cells, rounds, ask, tell)
    versions = {who.split(" ")[1]: version for who, version in findings.versions.items()}
    findings.notes += [
        *(
            f"{name}: model {model_hash(Path(folder) / CHECKPOINT)[:12]}, "
            f"{describe_model(subjects[name].info.model)}, "
            f"{subjects[name].model.num_parameters():,} parameters."
            for name, folder in named.items()
        ),
        describe_run(tell_versions(versions)),
        f"Target tokens per second of each one's best setting, medians of {rounds} measurements "
        f"on {sentences} sentences; BLEU of the whole test set ({len(references[0])} sentences), "
        f"with 95 % intervals of {NUM_BOOTSTRAP} resamples.",
        *findings.others_note(),
    ]
    typer.echo(findings.page())
    save_page(output, findings.page(), findings.record())
    if output is not None:
        draw(output.with_suffix(".png"), findings)


def _score(
    workers: Mapping[Variant, Worker], subjects: Mapping[str, Subject], beam_sizes: set[int]
) -> dict[tuple[str, int], ScoreInterval]:
    # The whole test set, by the setting of each contender with most threads.
    order = sorted(workers, key=lambda variant: (variant.num_threads, variant.num_workers))
    chosen = {variant.contender: workers[variant] for variant in order}
    translations: dict[tuple[str, int], list[str]] = {}
    for who, worker in chosen.items():
        decode = subjects[who.split(" ")[0]].target_tokenizer.decode
        for beam in sorted(beam_sizes):
            tell(f"test set, {who}, {beam_name(beam)}")
            answer = worker.ask("translate", plan=ALL, beam_size=beam)
            translations[who, beam] = [decode(ids) for ids in answer["targets"]]
    subject = next(iter(subjects.values()))
    scores = resample_bleu(
        list(translations.values()),
        subject.references,
        bleu_tokenizer=subject.bleu_tokenizer,
        num_bootstrap=NUM_BOOTSTRAP,
    )
    return {
        key: ScoreInterval(float(one[0]), *map(float, np.percentile(one[1:], (2.5, 97.5))))
        for key, one in zip(translations, scores.T, strict=True)
    }


def draw(path: Path, findings: FrontFindings) -> None:
    """A picture for each batch size: speed to the right, BLEU with its interval upwards."""
    import matplotlib.pyplot as plt

    sizes = findings.batch_sizes
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(5.5 * len(sizes), 4.5), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    colors = plt.colormaps["tab10"].colors
    for size, axes in zip(sizes, panels[0], strict=True):
        for (who, beam), bleu in findings.bleu.items():
            model, engine = who.split(" ")
            speed = findings.speed(who, Cell(size, beam))
            if speed is None:
                continue
            axes.errorbar(
                speed,
                bleu.value,
                [[bleu.value - bleu.low], [bleu.high - bleu.value]],
                color=colors[findings.models.index(model)],
                marker="os^vD"[ENGINES.index(engine)],
                fillstyle="full" if beam == 1 else "none",
                elinewidth=0.6,
            )
        axes.set_xscale("log")
        axes.set_title(f"batch {size}", fontsize="medium")
        axes.set_xlabel("target tokens per second")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("BLEU")
    _explain(figure, findings.models, colors)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _explain(figure: Any, models: Sequence[str], colors: Sequence[Any]) -> None:
    from matplotlib.lines import Line2D

    def sign(label: str, **look: Any) -> Line2D:
        return Line2D([], [], linestyle="", label=label, **look)

    signs = [sign(name, marker="o", color=colors[place]) for place, name in enumerate(models)]
    for mark, engine in zip("os^vD", ENGINES, strict=True):
        signs.append(sign(NAMES[engine], marker=mark, color="gray"))
    signs.append(sign("filled: greedy", marker="o", color="black"))
    signs.append(sign("hollow: beam", marker="o", color="black", fillstyle="none"))
    figure.legend(handles=signs, loc="outside lower center", ncols=4, frameon=False)


if __name__ == "__main__":
    run(main)
