"""Results of a commit, a branch, a DVC experiment or the workspace, without a checkout."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.experiments.results import (
    Results,
    ResultsError,
    format_param,
    parse_translations,
    read_figures,
)
from pipeline.paths import PARAMS, REPORTS
from pipeline.tracking.flattening import flatten

WORKSPACE = "workspace"
_TRANSLATIONS = (REPORTS / "translations.csv").as_posix()


def read_revision(name: str) -> Results | None:
    """What stands at a revision; None if neither git nor DVC knows the name.

    Files that DVC keeps come from its cache, or else from the default remote.

    Args:
        name: whatever git or `dvc exp show` calls it; `workspace` for the files as they are.

    Raises:
        ResultsError: it has no evaluated model, or its translations are not to be had.
    """
    with open_revision(name) as repo:
        if repo is None:
            return None
        reports = {
            stage: _read_report(repo, name, stage) for stage in ("train", "evaluate", "export")
        }
        translations = _read_kept(repo, name, _TRANSLATIONS)
        if not reports["evaluate"] or translations is None:
            raise ResultsError(
                f"{name}: no {REPORTS}/evaluate.json there, so nothing was scored; "
                "`dvc repro` or `dvc exp run` makes it"
            )
        made_by, notes = _read_params(repo)
        return Results(
            name=name,
            origin=_describe(repo, name),
            params={key: format_param(value) for key, value in flatten(made_by).items()},
            figures=read_figures(reports),
            bleu_signature=reports["evaluate"]["signatures"]["bleu"],
            translations=parse_translations(name, translations),
            notes=notes,
        )


@contextmanager
def open_revision(name: str) -> Iterator[Any]:
    """DVC's view of the project at a revision; None if there is no such revision.

    Raises:
        ResultsError: several experiments have this name, or the revision is no DVC project.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import RevError

    try:
        repo = Repo.open(".", rev=None if name == WORKSPACE else name)
    except RevError:
        yield None
        return
    except DvcException as error:
        raise ResultsError(f"{name}: {error}") from None
    with repo:
        yield repo


def read_text(repo: Any, path: str) -> str | None:
    """A file of an open revision, from git, DVC's cache or the default remote; None: not there."""
    from dvc.exceptions import DvcException
    from dvc_objects.errors import ObjectFormatError

    try:
        with repo.dvcfs.open(path, "r", encoding="utf-8") as file:
            return str(file.read())
    except (OSError, DvcException, ObjectFormatError):
        return None


def _read_report(repo: Any, name: str, stage: str) -> dict[str, Any]:
    text = _read_kept(repo, name, (REPORTS / f"{stage}.json").as_posix())
    return {} if text is None else json.loads(text)


def _read_kept(repo: Any, name: str, path: str) -> str | None:
    # None: no stage has written it there.
    text = read_text(repo, path)
    if text is None and any(
        out.hash_info and out.def_path == path for stage in repo.index.stages for out in stage.outs
    ):
        raise ResultsError(
            f"{name}: {path} is neither in DVC's cache nor in a remote. `dvc pull` brings it "
            "where a remote has it (`dvc exp pull` for an experiment); else run it again"
        )
    return text


def _read_params(repo: Any) -> tuple[dict[str, Any], list[str]]:
    # dvc.lock has the params that made the results; params.yaml may have been edited since.
    made_by: dict[str, Any] = {}
    edited: set[str] = set()
    for stage in repo.index.stages:
        for dependency in stage.params:
            now = dependency.read_params()
            then = dependency.hash_info.value or now
            made_by |= then
            old, new = flatten(then), flatten(now)
            edited |= {key for key in old | new if old.get(key) != new.get(key)}
    if not edited:
        return made_by, []
    keys = ", ".join(sorted(edited))
    return made_by, [f"{PARAMS} was edited since: {keys}; `dvc repro` brings the results level"]


def _describe(repo: Any, name: str) -> str:
    from dvc.repo.experiments.utils import exp_refs_by_rev
    from dvc.scm import resolve_rev

    if name == WORKSPACE:
        return "the files as they are"
    revision = resolve_rev(repo.scm, name)
    for reference in exp_refs_by_rev(repo.scm, revision):
        if repo.scm.get_ref(str(reference)) == revision:
            known_as = "" if reference.name == name else f" {reference.name}"
            return f"experiment{known_as} {revision[:7]}"
    return f"commit {revision[:7]}"
