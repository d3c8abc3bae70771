"""Which version of the translator is served: a better one takes the champion's place."""

import csv
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.tracking.backend import (
    has_database,
    open_client,
    prepare_database,
    require_client,
)
from pipeline.tracking.model_package import NAME, TEST_TABLE, global_tracking_uri
from pipeline.tracking.registry import (
    DVC_DIGEST,
    bleu_tokenizer,
    find_version,
    is_quick,
    translator_hash,
)
from pipeline.tracking.versions import fetch_translator
from transformer.evaluation.scores import ScoreDifference, compare_bleu, score_bleu
from transformer.urls import hide_secrets

CHAMPION = "champion"


class TestedVersion(NamedTuple):
    """A version with its translations of its test set."""

    version: str
    tags: dict[str, str]
    references: list[str]
    translations: list[str]

    @property
    def bleu_tokenizer(self) -> str:
        """Part of the signature that the export wrote down."""
        return bleu_tokenizer(self.tags["bleu_signature"])

    @property
    def bleu(self) -> float:
        """Of the translations, as the card has it."""
        return score_bleu(self.translations, self.references, bleu_tokenizer=self.bleu_tokenizer)


class ChampionComparison(NamedTuple):
    """A version beside the champion."""

    challenger: TestedVersion
    champion: TestedVersion | None  # None: there is none yet
    difference: ScoreDifference | None  # the challenger's BLEU minus the champion's

    @property
    def is_better(self) -> bool:
        """Whether the challenger is better by more than chance: its whole interval is above 0."""
        return self.difference is None or self.difference.low > 0


def compare_with_champion(
    client: Any, version: str | None, num_bootstrap: int, *, force: bool
) -> ChampionComparison:
    """A version's translations of the test set against the champion's, by paired resamples.

    Args:
        client: MLflow's.
        version: the challenger's number; None takes `models/translator`.
        num_bootstrap: how many resamples.
        force: sets test sets that differ aside, which leaves nothing to compare.

    Raises:
        ValueError: there is no such version, or the two can't be compared.
    """
    challenger = _load(client, _find_challenger(client, version))
    held = find_champion(client)
    if held is None:
        return ChampionComparison(challenger, None, None)
    champion = _load(client, held)
    problem = _find_obstacle(challenger, champion)
    if problem is not None:
        if force:
            return ChampionComparison(challenger, champion, None)
        raise ValueError(problem)
    difference = compare_bleu(
        challenger.translations,
        champion.translations,
        champion.references,
        bleu_tokenizer=champion.bleu_tokenizer,
        num_bootstrap=num_bootstrap,
    )
    return ChampionComparison(challenger, champion, difference)


def find_champion(client: Any) -> Any:
    """The version with the alias; None if there is none."""
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(NAME, CHAMPION)
    except MlflowException as error:
        # The registry has no such alias, or no translator; all else hides a champion.
        if error.error_code not in ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST"):
            raise
        return None


def fetch_champion(folder: Path) -> Path:
    """Copies the champion's translator below `folder`, and returns where it is.

    Raises:
        ValueError: there is no champion, or MLflow doesn't give it.
    """
    try:
        version = find_champion(require_client())
        if version is None:
            raise ValueError("there is none; `python -m pipeline promote` makes one")
        return fetch_translator(NAME, str(version.version), folder)
    except Exception as error:  # MLflow, its database and the network raise anything
        told = hide_secrets(str(error))  # the service answers a reload with it
        raise ValueError(f"the registry's champion can't be served: {told}") from error


def make_champion(client: Any, comparison: ChampionComparison) -> None:
    """Moves the alias, and notes on the version over whom it won.

    Raises:
        ValueError: the champion is not the one of the comparison any more.
    """
    held, compared = find_champion(client), comparison.champion
    if (held and str(held.version)) != (compared and compared.version):
        raise ValueError(
            "somebody else has moved the alias since the two were compared; run `promote` again"
        )
    client.set_registered_model_alias(NAME, CHAMPION, comparison.challenger.version)
    if comparison.champion is not None and comparison.difference is not None:
        gain = describe_difference(comparison.difference)
        won = f"{gain} BLEU over version {comparison.champion.version}"
        client.set_model_version_tag(NAME, comparison.challenger.version, "promoted", won)
    mark_champion(client)


def mark_champion(client: Any) -> None:
    """Tags the run of the champion, for MLflow's list of runs, and no other."""
    from mlflow.exceptions import MlflowException

    version = find_champion(client)
    marked = {} if version is None else {version.run_id: f"version {version.version}"}
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    for run in client.search_runs(experiments, f"tags.{CHAMPION} LIKE 'version %'"):
        if run.info.run_id not in marked:
            with suppress(MlflowException):  # somebody else was quicker
                client.delete_tag(run.info.run_id, CHAMPION)
        elif run.data.tags[CHAMPION] == marked[run.info.run_id]:
            marked = {}
    for run_id, value in marked.items():
        with suppress(MlflowException):  # the run was deleted since
            client.set_tag(run_id, CHAMPION, value)


def champion_digest() -> str | None:
    """DVC's digest of the champion's folder.

    None if there is no champion, or MLflow has nothing yet; where it can't be reached, a line
    says so.
    """
    if not has_database():
        return None
    try:
        version = find_champion(open_client()[0])
    except Exception as error:  # MLflow, its database and the network raise anything
        told = hide_secrets(str(error))
        print(f"MLflow can't be reached, so no champion is marked: {told}", file=sys.stderr)
        return None
    return None if version is None else version.tags.get(DVC_DIGEST)


def describe_difference(difference: ScoreDifference) -> str:
    """Such as `+0.52, 95 % in [+0.11, +0.94]`."""
    return f"{difference.value:+.2f}, 95 % in [{difference.low:+.2f}, {difference.high:+.2f}]"


def _find_challenger(client: Any, number: str | None) -> Any:
    from mlflow.exceptions import MlflowException

    if number is None:
        version = find_version(client, translator_hash())
        if version is None and is_quick():
            raise ValueError(
                "models/translator was held against PyTorch on a sample of the test set only, so "
                "it is not in the registry; set evaluate.num_sentences to null, and `dvc repro`"
            )
        if version is None:
            raise ValueError(
                "models/translator is not in the registry; `python -m pipeline sync` registers it"
            )
        return version
    try:
        return client.get_model_version(NAME, number)
    except MlflowException as error:
        raise ValueError(f"--version {number}: the registry has no such version") from error


def _load(client: Any, version: Any) -> TestedVersion:
    from mlflow.artifacts import download_artifacts

    uri = f"models:/{NAME}/{version.version}/artifacts/{TEST_TABLE}"
    with tempfile.TemporaryDirectory() as folder, global_tracking_uri(prepare_database()[0]):
        path = download_artifacts(artifact_uri=uri, dst_path=folder)
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return TestedVersion(
        str(version.version),
        dict(version.tags),
        [row["reference"] for row in rows],
        [row["translation"] for row in rows],
    )


def _find_obstacle(challenger: TestedVersion, champion: TestedVersion) -> str | None:
    sets = [
        f"{side.tags['corpus']} ({side.tags['test_sha256'][:12]})"
        for side in (challenger, champion)
    ]
    names = f"version {challenger.version}", f"the champion, version {champion.version},"
    if challenger.references != champion.references:
        return (
            f"{names[0]} translated the test set of {sets[0]}, but {names[1]} that of {sets[1]}: "
            "figures from two test sets can't be compared; --force moves the alias all the same"
        )
    if challenger.bleu_tokenizer != champion.bleu_tokenizer:
        return (
            f"{names[0]} is scored with evaluate.bleu_tokenizer = {challenger.bleu_tokenizer}, "
            f"but {names[1]} with {champion.bleu_tokenizer}: export it again with the same one, "
            "or move the alias all the same with --force"
        )
    return None
