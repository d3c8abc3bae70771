"""Results of a commit, a branch, a DVC experiment or the workspace, without a checkout."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.experiments.results import (
    Results,
    ResultsError,
    format_param,
    parse_sets,
    parse_translations,
    read_figures,
)
from pipeline.flattening import flatten, list_changes
from pipeline.params import parse_params
from pipeline.paths import PARAMS, REPORTS
from pipeline.repository import run_git
from pipeline.tracking.dvc_lock import LOCK, Run, parse_lock

WORKSPACE = "workspace"
_TRANSLATIONS = (REPORTS / "translations.csv").as_posix()
_SETS = (REPORTS / "sets").as_posix()


class Revision(NamedTuple):
    """The project as it was at some time."""

    name: str  # as the user called it
    description: str
    files: Any  # a `dvc.api.DVCFileSystem`: git's files and those that DVC keeps

    def read(self, path: str) -> str | None:
        """A file, from git, DVC's cache or the default remote; None: it is not to be had."""
        try:
            with self.files.open(path, "r", encoding="utf-8") as file:
                return str(file.read())
        except Exception:  # each kind of cache and remote has its own
            return None


def read_revision(name: str) -> Results | None:
    """What stands at a revision; None if neither git nor DVC knows the name.

    Files that DVC keeps come from its cache, or else from the default remote.

    Args:
        name: whatever git or `dvc exp show` calls it; `workspace` for the files as they are.

    Raises:
        ResultsError: it has no evaluated model, or its translations are not to be had.
    """
    with open_revision(name) as revision:
        if revision is None:
            return None
        lock = parse_lock(revision.read(LOCK.as_posix()))
        reports = {
            stage: _read_report(revision, lock, stage) for stage in ("train", "evaluate", "export")
        }
        translations = _read_kept(revision, lock, _TRANSLATIONS)
        if not reports["evaluate"] or translations is None:
            raise ResultsError(
                f"{name}: no {REPORTS}/evaluate.json there, so nothing was scored; "
                "`dvc repro` or `dvc exp run` makes it"
            )
        made_by, notes = _read_params(revision, lock)
        return Results(
            name=name,
            origin=revision.description,
            params={key: format_param(value) for key, value in flatten(made_by).items()},
            figures=read_figures(reports),
            bleu_signature=reports["evaluate"]["signatures"]["bleu"],
            translations=parse_translations(name, translations),
            sets=parse_sets(
                name,
                reports["evaluate"],
                lambda file: _read_kept(revision, lock, f"{_SETS}/{file}"),
            ),
            notes=notes,
        )


@contextmanager
def open_revision(name: str) -> Iterator[Revision | None]:
    """The project at a revision; None if there is no such revision.

    Raises:
        ResultsError: several experiments have this name, or the revision is no DVC project.
    """
    from dvc.api import DVCFileSystem
    from dvc.exceptions import DvcException

    commit, description = None, "the files as they are"
    if name != WORKSPACE:
        commit, description = resolve_revision(name)
        if not commit:
            yield None
            return
    try:
        files = DVCFileSystem(rev=commit)
    except DvcException as error:
        raise ResultsError(f"{name}: {error}") from None
    try:
        yield Revision(name, description, files)
    finally:
        files.close()


def resolve_revision(name: str) -> tuple[str, str]:
    """The commit that git or DVC calls by this name, and what it is; empty if there is none.

    Of experiments with one name, that of the last commit is meant.

    Raises:
        ResultsError: there are several, none of them of the last commit.
    """
    listed = run_git("for-each-ref", "refs/exps", "--format=%(refname) %(objectname)")
    # refs/exps/ab/cdef.../NAME, where abcdef... is the commit that the experiment began from.
    refs = [line.split() for line in listed.splitlines() if line.count("/") == 4]
    experiments = [(*ref.split("/")[2:], commit) for ref, commit in refs]
    commit = run_git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if not commit:
        named = [(a + b, made) for a, b, known_as, made in experiments if known_as == name]
        if len(named) > 1:
            head = run_git("rev-parse", "HEAD")
            named = [(base, made) for base, made in named if base == head]
            if not named:
                raise ResultsError(
                    f"{name}: several commits have an experiment of this name; give its commit, "
                    "which `dvc exp list --all-commits --sha-only` lists"
                )
        commit = named[0][1] if named else ""
    for *_, known_as, made in experiments:
        if made == commit:
            others = "" if known_as == name else f" {known_as}"
            return commit, f"experiment{others} {commit[:7]}"
    return commit, f"commit {commit[:7]}"


def _read_report(revision: Revision, lock: Mapping[str, Run], stage: str) -> dict[str, Any]:
    text = _read_kept(revision, lock, (REPORTS / f"{stage}.json").as_posix())
    return {} if text is None else json.loads(text)


def _read_kept(revision: Revision, lock: Mapping[str, Run], path: str) -> str | None:
    # None: no stage has written it there.
    text = revision.read(path)
    places = {path, path.rpartition("/")[0]}  # itself or its folder
    if text is None and any(places & run.outs.keys() for run in lock.values()):
        raise ResultsError(
            f"{revision.name}: {path} is neither in DVC's cache nor in a remote. `dvc pull` brings "
            "it where a remote has it (`dvc exp pull` for an experiment); else run it again"
        )
    return text


def _read_params(
    revision: Revision, lock: Mapping[str, Run]
) -> tuple[Mapping[str, Any], list[str]]:
    # dvc.lock has the params that made the results; params.yaml may have been edited since.
    now = parse_params(revision.read(PARAMS.as_posix()) or "", revision.name)
    made_by = dict(now)
    for run in lock.values():
        made_by |= run.params
    edited = ", ".join(sorted(list_changes(made_by, now)))
    told = f"{PARAMS} was edited since: {edited}; `dvc repro` brings the results level"
    return made_by, [told] if edited else []
