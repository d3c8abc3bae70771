"""Corpora of each kind with damaged files, as `download` reads them."""

import shutil
from pathlib import Path
from random import Random

from benchmarks.robustness.cases import Result, judge
from benchmarks.robustness.mutations import damage_file, damage_text
from benchmarks.robustness.project import (
    CORPORA,
    Project,
    download,
    hash_outputs,
)

# Their own checksums cover what they hold; elsewhere a changed letter is another text.
_CHECKED = ("gzip", "tabular.gz", "zip")


def prepare(project: Project) -> None:
    """Downloads each corpus undamaged, and imports what that of the Hub takes a second for."""
    import datasets  # noqa: F401

    for kind in CORPORA:
        project.corpus_outputs(kind)


def files(random: Random, project: Project, folder: Path) -> Result:
    """One file damaged; where it carries checksums, what is accepted has to be the same."""
    # The grammar takes ten times as long as the others.
    kind = random.choice([*CORPORA] if random.random() < 0.2 else [*CORPORA][:-1])
    project.copy(folder, f"corpora/{kind}")
    shutil.copy(project.folder / "downloads" / kind / "params.yaml", folder)
    path = random.choice(sorted(p for p in (folder / "corpora" / kind).iterdir() if p.is_file()))
    if kind in ("text", "tabular", "hub.csv", "hub.json", "phrasebook") and random.random() < 0.5:
        what, text = damage_text(random, path.read_text(encoding="utf-8"))
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        what = f"{path.name}: {what}"
    else:
        what = damage_file(random, path)
    ended = download(folder)
    what = f"{kind}, {what}"
    # Whole files have right checksums too, as a copy of another and as two in a row.
    if kind not in _CHECKED or ": a copy of " in what or what.endswith(": twice"):
        return judge(what, ended)
    texts = {
        name: found
        for name, found in hash_outputs(folder, "download").items()
        if name.endswith(".parquet")
    }
    wanted = {name: one for name, one in project.corpus_outputs(kind).items() if name in texts}
    return judge(what, ended, wanted, texts)
