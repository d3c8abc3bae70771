"""What pretraining gives where pairs are few: BLEU of each objective against none.

python -m benchmarks.pretraining --help
"""

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.harness.machine import describe_commit, describe_machine
from pipeline.paths import MONOLINGUAL
from transformer.evaluation.scores import compare_bleu, score_bleu
from transformer.files import read_json, write_json
from transformer.text.corpus import Pair, part_path, read_pairs

ROOT = Path(__file__).parents[1]
BEFORE = ("download", "clean", "vocab", "tokenize")
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


class Row(NamedTuple):
    """One objective's outcome."""

    objective: str
    pretraining_minutes: float
    training_minutes: float
    bleu: float
    difference: float  # against none
    low: float  # 95 % of paired resamples
    high: float


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
    chosen = [name.strip() for name in objectives.split(",")]
    if unknown := sorted(set(chosen) - set(OBJECTIVES)) or "none" not in chosen:
        raise typer.BadParameter(f"{unknown}: none, and any of {', '.join(OBJECTIVES)}")
    folder.mkdir(parents=True, exist_ok=True)
    changes = list(change or ())
    write_params(folder, recipe, changes)
    run(folder, BEFORE[:1])
    corpus = divide(folder, recipe, pairs)
    write_params(folder, recipe, [*changes, f"corpus={corpus}"])
    run(folder, BEFORE)
    rows: list[Row] = []
    baseline: list[str] = []
    for name in ["none", *(name for name in chosen if name != "none")]:
        section = pretrain_section(folder, name, pretraining_epochs, pretraining_rate)
        start = "null" if name == "none" else "pretrained"
        every = [f"corpus={corpus}", f"pretrain={section}", f"train.initialize_from={start}"]
        write_params(folder, recipe, [*changes, *every])
        outcome = run_or_recall(folder, name)
        baseline = baseline or outcome.translations
        rows.append(judge(name, outcome, baseline))
        typer.echo(f"{name}: BLEU {rows[-1].bleu:.2f}", err=True)
    table = f"{write_table(rows, recipe, pairs)}\n{describe_machine()}; {describe_commit()}\n"
    typer.echo(table)
    if output is not None:
        output.write_text(table, encoding="utf-8")


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
        _write_sides(text, part, pairs)
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
    train = read_params(folder)["train"] | {
        "initialize_from": None, "max_epochs": num_epochs, "max_steps": None,
        "label_smoothing": 0.0, "early_stopping_patience": None, "average_checkpoints": 1,
        "validate_every_steps": None,
    }  # fmt: skip
    if rate is not None:
        train["learning_rate"] = rate
    files = "{source: source, target: target}"
    return f"{{{OBJECTIVES[name]}, text: {files}, train: {json.dumps(train)}}}"


def read_params(folder: Path) -> dict[str, Any]:
    """The params of the folder."""
    from pipeline.params import read_params as read

    return read(folder / "params.yaml")


def write_params(folder: Path, recipe: str, changes: Sequence[str]) -> None:
    """Writes a recipe with changes."""
    from pipeline.recipes import make_params

    text = make_params(recipe, list(changes))
    (folder / "params.yaml").write_text(text, encoding="utf-8")


def run(folder: Path, stages: Sequence[str]) -> dict[str, float]:
    """Runs stages in the folder, each in a process of its own; returns their seconds."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    seconds = {}
    for stage in stages:
        begin = time.monotonic()
        command = [sys.executable, "-m", "pipeline", stage]
        done = subprocess.run(command, cwd=folder, env=environment, check=False)
        if done.returncode != 0:
            raise SystemExit(f"error: the stage {stage} failed in {folder}")
        seconds[stage] = time.monotonic() - begin
    return seconds


def run_or_recall(folder: Path, name: str) -> Outcome:
    """What an objective gives with the params that lie in the folder, run unless it was before."""
    params, path = (folder / "params.yaml").read_text(encoding="utf-8"), folder / f"{name}.json"
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


def judge(name: str, outcome: Outcome, baseline: Sequence[str]) -> Row:
    """One row of the table; `baseline` are the translations without pretraining."""
    seconds, translations, references = outcome
    difference = compare_bleu(
        translations, baseline, references, bleu_tokenizer="13a", num_bootstrap=1000
    )
    return Row(
        name,
        seconds["pretrain"] / 60,
        seconds["train"] / 60,
        score_bleu(translations, references, bleu_tokenizer="13a"),
        difference.value,
        difference.low,
        difference.high,
    )


def write_table(rows: Sequence[Row], recipe: str, num_pairs: int) -> str:
    """Markdown."""
    lines = [
        f"`{recipe}`, {num_pairs:,} pairs, BLEU on its test set; 95 % of paired resamples.",
        "",
        "| pretraining | its minutes | minutes of training | BLEU | against none |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        against = f"{row.difference:+.2f} [{row.low:+.2f}, {row.high:+.2f}]"
        lines.append(
            f"| {row.objective} | {row.pretraining_minutes:.1f} | {row.training_minutes:.1f} "
            f"| {row.bleu:.2f} | {'–' if row.objective == 'none' else against} |"
        )
    return "\n".join(lines) + "\n"


def _write_sides(folder: Path, part: str, pairs: Sequence[Pair]) -> None:
    for place, side in enumerate(("source", "target")):
        _write_lines(folder / f"{part}.{side}", [pair[place] for pair in pairs])


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
