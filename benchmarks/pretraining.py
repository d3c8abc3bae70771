"""What pretraining gives where pairs are few: BLEU of each objective against none.

python -m benchmarks.pretraining --help
"""

import csv
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from benchmarks.harness.environment import project_environment
from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import choose, tell
from benchmarks.harness.options import run as run_main
from benchmarks.harness.report import markdown_table, write_page
from pipeline.params import read_params
from pipeline.paths import MONOLINGUAL, PARAMS
from pipeline.recipes import make_params
from transformer.evaluation.scores import compare_bleu, score_bleu
from transformer.files import read_json, write_json
from transformer.text.corpus import part_path, read_pairs

BEFORE = ("download", "synthesize", "clean", "vocab", "tokenize")
AFTER = ("pretrain", "train", "evaluate")
OBJECTIVES = {
    "none": "kind: none",
    "spans": "kind: spans, noise_density: 0.15, "
    "mean_span_length: 3, num_sentinels: 32, dupe_factor: 1, seed: 1",
    # Half of a sentence, as in MASS (Song et al. 2019, arXiv:1905.02450).
    "half": "kind: spans, noise_density: 0.5, "
    "mean_span_length: 3, num_sentinels: 32, dupe_factor: 1, seed: 1",
    "masked": "kind: masked, mask_probability: 0.15, next_sentence: false, dupe_factor: 2, seed: 1",
    "causal": "kind: causal",
}


class Outcome(NamedTuple):
    """What came of one objective, before it is compared."""

    seconds: dict[str, float]  # by stage
    translations: list[str]
    references: list[str]


def main(
    folder: Annotated[Path, typer.Option(help="Where it works; made, and kept.")],
    recipe: Annotated[str, typer.Option(help="Whose corpus is taken.")] = "anki-fr-en",
    change: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE for every run, as recipe --set takes it.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Training pairs; the rest is monolingual.")] = (
        5000
    ),
    pretraining_epochs: Annotated[int, typer.Option(min=1)] = 2,
    pretraining_rate: Annotated[
        float | None, typer.Option(help="Its learning rate; by default the recipe's.")
    ] = None,
    objectives: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(OBJECTIVES),
    output: Annotated[Path | None, typer.Option(help="Markdown.")] = None,
) -> None:
    """Train on a few pairs after each objective, score on the recipe's test set, print a table.

    What an objective gave is kept in the folder; the same command goes on after the last one.
    """
    chosen = choose(objectives, OBJECTIVES, "--objectives")
    if "none" not in chosen:
        raise typer.BadParameter("none is what the others are held against")
    folder.mkdir(parents=True, exist_ok=True)
    changes = list(change or ())
    write_params(folder, recipe, changes)
    run(folder, BEFORE[:1])
    corpus = divide(folder, recipe, pairs)
    write_params(folder, recipe, [*changes, f"corpus={corpus}"])
    run(folder, BEFORE)
    rows: list[list[str]] = []
    baseline: list[str] = []
    for name in ["none", *(name for name in chosen if name != "none")]:
        section = pretrain_section(folder, name, pretraining_epochs, pretraining_rate)
        start = "null" if name == "none" else "pretrained"
        every = [f"corpus={corpus}", f"pretrain={section}", f"train.initialize_from={start}"]
        write_params(folder, recipe, [*changes, *every])
        outcome = run_or_recall(folder, name)
        baseline = baseline or outcome.translations
        rows.append(judge(name, outcome, baseline))
        tell(" | ".join(rows[-1]))
    notes = [f"`{recipe}`, {pairs:,} pairs, BLEU on its test set; 95 % of paired resamples."]
    header = ["pretraining", "its minutes", "minutes of training", "BLEU", "against none"]
    table = markdown_table(header, rows, num_text_columns=1)
    page = write_page("Pretraining", "pretraining", [*notes, table, describe_run()])
    typer.echo(page)
    if output is not None:
        output.write_text(page, encoding="utf-8")


def divide(folder: Path, recipe: str, num_pairs: int) -> str:
    """Cuts a corpus that was downloaded into a few pairs and text without translations.

    Of the pairs that are left over one half gives its source side, the other its target side, so
    that no sentence comes with its translation. Validation and test stay what they were.

    Returns:
        The section `corpus`, as YAML on a line.
    """
    raw = folder / "data/raw"
    parts = {part: list(read_pairs(part_path(raw, part))) for part in ("train", "valid", "test")}
    train = parts["train"]
    random.Random(1).shuffle(train)
    if len(train) <= num_pairs:
        raise SystemExit(
            f"error: {recipe} has {len(train)} training pairs, no more than {num_pairs}"
        )
    rest, parts["train"] = train[num_pairs:], train[:num_pairs]
    text = folder / "text"
    text.mkdir(exist_ok=True)
    for part, pairs in parts.items():
        for index, side in enumerate(("source", "target")):
            _write_lines(text / f"{part}.{side}", [pair[index] for pair in pairs])
    half = len(rest) // 2
    more = folder / MONOLINGUAL
    more.mkdir(parents=True, exist_ok=True)
    _write_lines(more / "source", [source for source, _ in rest[:half]])
    _write_lines(more / "target", [target for _, target in rest[half:]])
    manifest = json.loads((raw / "manifest.json").read_text(encoding="utf-8"))
    files = ", ".join(f"{part}: {{source: {part}.source, target: {part}.target}}" for part in parts)
    return (
        f"{{kind: text, name: {manifest['name']}-{num_pairs}, "
        f"source_language: {manifest['source_language']}, "
        f"target_language: {manifest['target_language']}, license: as before, path: text, "
        f"{files}, split: null}}"
    )


def pretrain_section(folder: Path, name: str, num_epochs: int, rate: float | None) -> str:
    """The section `pretrain` of an objective: as the recipe trains, on the text left over."""
    if name == "none":
        return "{kind: none}"
    train = read_params(folder / PARAMS)["train"] | {
        "initialize_from": None, "initial_embeddings": "random",
        "max_epochs": num_epochs, "max_steps": None,
        "label_smoothing": 0.0, "r_drop": 0.0, "segmentation": None,
        "ema_decay": None, "early_stopping_patience": None, "average_checkpoints": 1,
        "validate_every_steps": None,
    }  # fmt: skip
    if rate is not None:
        train["learning_rate"] = rate
    files = "{source: source, target: target}"
    return f"{{{OBJECTIVES[name]}, text: {files}, train: {json.dumps(train)}}}"


def write_params(folder: Path, recipe: str, changes: Sequence[str]) -> None:
    """Writes a recipe with changes."""
    (folder / PARAMS).write_text(make_params(recipe, list(changes)), encoding="utf-8")


def run(folder: Path, stages: Sequence[str]) -> dict[str, float]:
    """Runs stages in the folder, each in a process of its own; returns their seconds."""
    seconds = {}
    for stage in stages:
        begin = time.monotonic()
        command = [sys.executable, "-m", "pipeline", stage]
        done = subprocess.run(command, cwd=folder, env=project_environment(), check=False)
        if done.returncode != 0:
            raise SystemExit(f"error: the stage {stage} failed in {folder}")
        seconds[stage] = time.monotonic() - begin
    return seconds


def run_or_recall(folder: Path, name: str) -> Outcome:
    """What an objective gives with the params that lie in the folder, run unless it was before."""
    params, path = (folder / PARAMS).read_text(encoding="utf-8"), folder / f"{name}.json"
    if path.exists():
        kept = read_json(path)
        if kept["params"] == params:
            return Outcome(**kept["outcome"])
    seconds = run(folder, AFTER)
    with (folder / "reports/translations.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    outcome = Outcome(
        seconds, [row["translation"] for row in rows], [row["reference"] for row in rows]
    )
    write_json(path, {"params": params, "outcome": outcome._asdict()})
    return outcome


def judge(name: str, outcome: Outcome, baseline: Sequence[str]) -> list[str]:
    """One row of the table; `baseline` are the translations without pretraining."""
    seconds, translations, references = outcome
    bleu = score_bleu(translations, references, bleu_tokenizer="13a")
    against = "–"
    if name != "none":
        difference = compare_bleu(
            translations, baseline, references, bleu_tokenizer="13a", num_bootstrap=1000
        )
        against = f"{difference.value:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"
    minutes = [f"{seconds[stage] / 60:.1f}" for stage in ("pretrain", "train")]
    return [name, *minutes, f"{bleu:.2f}", against]


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    run_main(main)
