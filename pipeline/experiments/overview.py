"""The experiments of all commits with their scores, as git has them: nothing is checked out."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.experiments.revisions import WORKSPACE
from pipeline.flattening import flatten
from pipeline.params import parse_params
from pipeline.paths import METRICS, PARAMS, RAW, TRANSLATOR
from pipeline.repository import main_checkout, run_git
from pipeline.tracking.dvc_lock import LOCK

_STAGES = ("train", "evaluate", "export")
_TEST_PART = "test.parquet"
# What figures on a sample of the test set begin with.
_QUICK = "quick_"


@dataclass(frozen=True)
class Experiment:
    """A trained and scored model: of an experiment, a commit, or the workspace."""

    name: str
    # The commit that it began from, or is; empty for the workspace.
    baseline: str
    # Of `reports/metrics`: `bleu`, `bleu_margin`, `chrf`, `int8_bleu`, `perplexity`, ...
    figures: Mapping[str, float]
    # How many sentences of the test set a quick experiment was scored on; None: on all.
    sample: int | None
    # Flat, with the names of params.yaml.
    params: Mapping[str, Any]
    # DVC's digest of what BLEU was measured on. Where its cache lacks that, of the whole corpus.
    test_set: str
    # DVC's digest of `models/translator`; None: it was not exported.
    translator: str | None


def list_scored() -> list[Experiment]:
    """Everything that was scored: the best first, the workspace last of equals.

    The workspace is listed where it differs from the last commit.
    """
    found = list(_find())
    return sorted(found, key=lambda one: -one.figures["bleu"])


def _find() -> Iterator[Experiment]:
    listed = run_git("for-each-ref", "refs/exps", "--format=%(refname) %(objectname)")
    # refs/exps/ab/cdef.../NAME, where abcdef... is the commit that the experiment began from.
    refs = [line.split() for line in listed.splitlines() if line.count("/") == 4]
    head = run_git("rev-parse", "HEAD")
    named = [("".join(ref.split("/")[2:4]), ref.split("/")[4], commit) for ref, commit in refs]
    for commit in dict.fromkeys([head, *(baseline for baseline, *_ in named)]):
        is_head = commit == head
        name = run_git("rev-parse", "--abbrev-ref", "HEAD") if is_head else commit[:7]
        yield from _read(name, commit, commit)
    for baseline, name, commit in named:
        yield from _read(name, baseline, commit)
    changed = run_git("status", "--porcelain", "--", str(METRICS), str(PARAMS), str(LOCK))
    if changed:
        yield from _read(WORKSPACE, "", None)


def _read(name: str, baseline: str, commit: str | None) -> Iterator[Experiment]:
    figures: dict[str, float] = {}
    for stage in _STAGES:
        if text := _read_file(commit, METRICS / f"{stage}.json"):
            figures |= json.loads(text)
    is_quick = f"{_QUICK}bleu" in figures
    figures = {key.removeprefix(_QUICK): value for key, value in figures.items()}
    text = _read_file(commit, PARAMS)
    if "bleu" not in figures or text is None:
        return
    params = flatten(parse_params(text, name))
    lock = _read_file(commit, LOCK) or ""
    yield Experiment(
        name,
        baseline,
        figures,
        params.get("evaluate.num_sentences") if is_quick else None,
        params,
        _find_test_set(_find_digest(lock, RAW) or ""),
        _find_digest(lock, TRANSLATOR),
    )


def _read_file(commit: str | None, path: Path) -> str | None:
    if commit is not None:
        return run_git("show", f"{commit}:{path.as_posix()}") or None
    return path.read_text(encoding="utf-8") if path.exists() else None


def _find_digest(lock: str, path: Path) -> str | None:
    # As YAML, the locks of many commits would take seconds.
    found = re.search(rf"path: {path.as_posix()}\n(?:\s+hash: md5\n)?\s+md5: (\S+)", lock)
    return found[1] if found else None


@cache
def _find_test_set(digest: str) -> str:
    listing = main_checkout() / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    if digest and listing.is_file():
        for entry in json.loads(listing.read_bytes()):
            if entry["relpath"] == _TEST_PART:
                return str(entry["md5"])
    return digest
