"""Params that are wrong: as values, as text, as something that is no file."""

import json
from functools import cache
from pathlib import Path
from random import Random

from ruamel.yaml import YAML

from benchmarks.robustness.cases import Result, judge
from benchmarks.robustness.child import Ended, Process, pipeline_command
from benchmarks.robustness.mutations import (
    damage_bytes,
    damage_text,
    damage_values,
    replace_path,
)
from benchmarks.robustness.project import READS, Project, corpus_section
from pipeline.errors import told_errors
from pipeline.recipes import list_recipes, load_recipe
from pipeline.schema import check_values

_RECIPES = [name for name, _ in list_recipes()]
_load = cache(load_recipe)
# One value of these decides how long a stage works, and a large one is no mistake.
_WORK = ("num_pairs", "max_steps", "max_epochs", "num_bootstrap", "gradient_accumulation")


def prepare(_: Project) -> None:
    """Reads the recipes."""
    for name in _RECIPES:
        _load(name)


def values(random: Random, project: Project, folder: Path) -> Result:
    """A recipe with one to three odd values, as `check` has them once the file is read."""
    name = random.choice(_RECIPES)
    params, whats = _load(name), []
    for _ in range(random.randrange(1, 4)):
        what, params = damage_values(random, params)
        whats.append(what)

    def check() -> None:
        with told_errors("check"):
            check_values(params, "params.yaml")

    return judge(f"{name}: {'; '.join(whats)}", Process(check, folder).wait())


def text(random: Random, project: Project, folder: Path) -> Result:
    """`check` on a damaged text, or on something that is no file."""
    path = folder / "params.yaml"
    project.copy(folder, "corpora/text")
    kind = random.random()
    if kind < 0.05:
        return judge(f"params.yaml: {replace_path(random, path)}", _check(folder))
    if kind < 0.3:
        what, raw = damage_bytes(random, path.read_bytes())
        path.write_bytes(raw)
        return judge(what, _check(folder))
    what, damaged = damage_text(random, path.read_text(encoding="utf-8"))
    path.write_bytes(damaged.encode("utf-8", "surrogatepass"))
    return judge(what, _check(folder))


def stages(random: Random, project: Project, folder: Path) -> Result:
    """What `check` lets pass, given to a stage that reads it."""
    sections = {
        "download": "corpus",
        "synthesize": "synthesize",
        "clean": "clean",
        "vocab": "vocab",
        "tokenize": "tokenize",
        "train": random.choice(["model", "train", "train"]),
        "evaluate": random.choice(["search", "evaluate"]),
    }
    stage = random.choice(list(sections))
    corpus = random.choice(["text", "tabular", "hub.json"])
    reads = [f"corpora/{corpus}"] if stage == "download" else READS[stage]
    project.copy(folder, "corpora/text", *(path for path in reads if path != "corpora/text"))
    yaml = YAML(typ="safe", pure=True)
    params = yaml.load((folder / "params.yaml").read_text(encoding="utf-8"))
    section = params[sections[stage]]
    if stage == "download":
        section = corpus_section(corpus)
    what, section = damage_values(random, section)
    for name in _WORK:
        if isinstance(section.get(name), int) and section[name] > 100:
            section[name] = 3
    params[sections[stage]] = section
    (folder / "params.yaml").write_bytes(json.dumps(params).encode("utf-8", "surrogatepass"))
    what = f"{stage}: {sections[stage]}.{what}"
    checked = _check(folder)
    if checked.outcome != "accepted":
        return judge(what, checked)
    return judge(what, Process(pipeline_command([stage]), folder).wait())


def _check(folder: Path) -> Ended:
    return Process(pipeline_command(["check"]), folder).wait()
