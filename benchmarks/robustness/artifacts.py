"""What stages hand on to each other, damaged: the next stage has to notice."""

import shutil
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.robustness.cases import Result, judge
from benchmarks.robustness.child import Process, pipeline_command
from benchmarks.robustness.mutations import damage_file, damage_json
from benchmarks.robustness.project import READS, Project, hash_outputs, make_pairs
from transformer.files import SEAL, seal
from transformer.serving.translator import Translator

# Of the small project's words, and of none.
SENTENCES = [*(source for source, _ in make_pairs(12, seed=1)), "Je ne sais pas.", "", "12 %"]


def handed_on(
    damaged: str, stages: tuple[str, ...], random: Random, project: Project, folder: Path
) -> Result:
    """One file of the folder `damaged`; one of `stages` reads it."""
    stage = random.choice(stages)
    project.copy(folder, *READS[stage])
    what, is_resealed = _damage(random, folder / damaged)
    ended = Process(pipeline_command([stage]), folder).wait()
    what = f"{stage}, {damaged}/{what}"
    if is_resealed:  # a forger's word is taken where it makes sense
        return judge(what, ended)
    return judge(what, ended, project.outputs(stage), hash_outputs(folder, stage))


def resume_state(random: Random, project: Project, folder: Path) -> Result:
    """A training that was killed goes on from damaged states, to the same end."""
    project.copy(folder, *READS["train"], "killed/.state")
    (folder / "killed/.state").rename(folder / ".state")
    what, _ = _damage(random, folder / ".state")
    ended = Process(pipeline_command(["train"]), folder).wait()
    result = judge(what, ended)
    if ended.outcome == "accepted" and hash_outputs(folder, "train") != project.outputs("train"):
        return Result(what, "silent changes", f"other weights: {ended.errors}")
    return result


def translator(random: Random, project: Project, folder: Path) -> Result:
    """A translator's folder, as Python loads it."""
    project.copy(folder, "models/translator")
    what, is_resealed = _damage(random, folder / "models/translator", "sha256")
    ended = Process(partial(print_translations, folder / "models/translator"), folder).wait()
    if is_resealed:
        return judge(what, ended)
    wanted = {"translations": _translations(project.folder)}
    return judge(what, ended, wanted, {"translations": ended.output})


def kill_training(project: Project) -> None:
    """Leaves two states of a training in the project's folder `killed`."""
    folder = project.folder / "killed"
    while len(list(folder.glob(".state/train/*/?/step-*.json"))) < 2:
        shutil.rmtree(folder, ignore_errors=True)
        project.copy(folder, *READS["train"])
        process = Process(pipeline_command(["train"]), folder, is_limited=False)
        while not list(folder.glob(".state/train/*/b/step-*.json")) and process.is_running:
            time.sleep(0.01)
        process.kill()
        process.wait()


@cache
def _translations(folder: Path) -> str:
    return Process(partial(print_translations, folder / "models/translator"), folder).wait().output


def print_translations(folder: Path) -> None:
    """A few sentences, known and unknown ones."""
    from pipeline.errors import told_errors

    with told_errors("translate"):
        translator = Translator(folder, num_threads=1)
        print([answers[0].text for answers in translator.translate(SENTENCES)])


def _damage(random: Random, folder: Path, seal_name: str = SEAL) -> tuple[str, bool]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = random.choice(files)
    if path.suffix == ".json" and random.random() < 0.6:
        reseal: Callable[[Any], Any] = partial(seal, name=seal_name)
        what, text, is_resealed = damage_json(random, path.read_text(encoding="utf-8"), reseal)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return f"{path.name}: {what}", is_resealed
    return damage_file(random, path), False
