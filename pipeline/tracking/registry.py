"""The translator as a version in MLflow's model registry."""

import logging
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.paths import CLEAN, RAW, TRANSLATOR
from pipeline.tracking.backend import backend_lock, prepare_database
from pipeline.tracking.model_package import (
    NAME,
    TEST_TABLE,
    global_tracking_uri,
    log_translator,
    write_test_table,
)
from pipeline.tracking.tracker import Tracker
from transformer.files import read_json, sha256_file

TRANSLATOR_HASH = "translator_hash"
_NUM_EXAMPLES = 2


def translator_hash(folder: Path = TRANSLATOR) -> str:
    """What names an exported translator: the SHA-256 of its card, which lists all other files'."""
    return sha256_file(folder / "translator.json")


def is_quick(folder: Path = TRANSLATOR) -> bool:
    """Whether a translator was held against PyTorch on a sample of the test set only."""
    return read_json(folder / "translator.json").get("sampled_from") is not None


def find_version(client: Any, translator: str) -> Any:
    """The registered version of the translator with this hash; None if there is none."""
    found = client.search_model_versions(
        f"name = '{NAME}' and tags.`{TRANSLATOR_HASH}` = '{translator}'"
    )
    return found[0] if found else None


def register_translator(tracker: Tracker, scores: Mapping[str, float]) -> str | None:
    """Registers `models/translator`, unless a version has its hash; returns the version.

    Args:
        tracker: of the model's run.
        scores: for the version's page.

    Returns:
        The version's number; None if MLflow has failed, if the test set is not here, without
        which nobody could compare it, or if the translator proved itself on a sample of it.
    """
    if is_quick():
        return None
    with tracker.guard() as client, backend_lock():
        if tracker.has_failed:
            return None
        digest = translator_hash()
        found = find_version(client, digest)
        if found is None and RAW.exists() and CLEAN.exists():
            found = _register(client, tracker.run_id, digest, scores)
        return None if found is None else str(found.version)
    return None


def _register(client: Any, run_id: str, digest: str, scores: Mapping[str, float]) -> Any:
    from mlflow.entities import Metric

    from transformer.serving.translator import Translator
    from transformer.text.heldout import read_heldout

    card = read_json(TRANSLATOR / "translator.json")
    translator = Translator(TRANSLATOR, provider="cpu")
    test = read_heldout(RAW, CLEAN)
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    with (
        tempfile.TemporaryDirectory() as temporary,
        global_tracking_uri(prepare_database()[0]),
    ):
        table = Path(temporary) / TEST_TABLE
        write_test_table(table, translator, test.sources, test.references)
        example = sorted(filter(None, test.sources), key=len)[:_NUM_EXAMPLES]
        facts = _tags(card, translator.precision) | {TRANSLATOR_HASH: digest}
        info = log_translator(client, run_id, TRANSLATOR, example, table)
        now = int(time.time() * 1000)
        metrics = [Metric(k, v, now, 0, model_id=info.model_id) for k, v in scores.items()]
        client.log_batch(run_id, metrics=metrics)
        _make_registered_model(client)
        return client.create_model_version(
            NAME,
            source=info.model_uri,
            run_id=run_id,
            tags=facts,
            description=(TRANSLATOR / "README.md").read_text(encoding="utf-8"),
            model_id=info.model_id,
        )


def _make_registered_model(client: Any) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(NAME, description="Exported translators; serve @champion")
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _tags(card: Mapping[str, Any], precision: str) -> dict[str, str]:
    corpus = card["corpus"]
    return {
        "model_hash": card["model_hash"],
        "languages": f"{card['source_language']}-{card['target_language']}",
        "corpus": corpus["name"],
        "test_sha256": corpus["sha256"]["test"],
        "num_parameters": str(card["model"]["num_parameters"]),
        "precision": precision,
        "bleu": f"{card['graphs'][precision]['bleu']:.2f}",
        "bleu_signature": card["graphs"][precision]["signature"],
    }
