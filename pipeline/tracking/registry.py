"""The translator as a version in MLflow's model registry."""

import csv
import logging
import re
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pipeline.paths import CLEAN, RAW, REPORTS, TRANSLATOR
from pipeline.tracking.backend import backend_lock, prepare_database
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.model_package import (
    NAME,
    TEST_TABLE,
    global_tracking_uri,
    log_translator,
    translate_test,
    write_test_table,
)
from pipeline.tracking.run_names import name_run
from pipeline.tracking.tracker import Tracker
from transformer.evaluation.scores import score_bleu
from transformer.files import read_json, sha256_file
from transformer.serving.card import Card, Precision, load_card
from transformer.serving.translator import Translator
from transformer.text.heldout import Heldout, read_heldout

TRANSLATOR_HASH = "translator_hash"
# The translator's digest as `dvc.lock` has it, by which an experiment is known to be its maker.
DVC_DIGEST = "dvc_digest"
_NUM_EXAMPLES = 2
# Reports have BLEU to four decimals.
_SAME_BLEU = 1e-3


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
        tracker: of the run that has its scores.
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


def summarize_translator(card: Card, day: str | None = None) -> str:
    """A line of score, settings, data and day; more after these, as lists show its beginning.

    Args:
        card: of `models/translator`.
        day: None is left out.
    """
    precision, search = card.default_precision.cpu, card.search
    first = [
        f"BLEU {card.graphs[precision].bleu:.2f} ({precision})",
        f"beam {search.beam_size}",
        card.corpus.name,
        *filter(None, [day]),
    ]
    return (
        f"{', '.join(first)}; BLEU {card.pytorch.bleu:.2f} (PyTorch), length penalty "
        f"{search.length_penalty:g}, {card.num_test_sentences} sentences; {name_run()}"
    )


def find_translations(folder: Path, card: Card, test: Heldout) -> list[str]:
    """The test set's translations that the export scored, so that there is one BLEU for them.

    They are put together from the reports. Where those are of other results, the graph translates
    again; int8's answers hang a little on which sentences share a batch.

    Args:
        folder: of the reports.
        card: of `models/translator`.
        test: its test set.
    """
    precision = card.default_precision.cpu
    graph = card.graphs[precision]
    texts = _read_translations(folder, precision)
    if texts is not None and len(texts) == len(test.references):
        tokenizer = bleu_tokenizer(graph.signature)
        bleu = score_bleu(texts, test.references, bleu_tokenizer=tokenizer)
        if abs(bleu - graph.bleu) < _SAME_BLEU:
            return texts
    translator = Translator(TRANSLATOR, provider="cpu", precision=precision)
    return translate_test(translator, test.sources)


def describe_graph(card: Card, precision: Precision) -> dict[str, str]:
    """One precision of a translator as MLflow's tags."""
    graph = card.graphs[precision]
    return {
        "bleu": f"{graph.bleu:.2f}",
        "precision": precision,
        "corpus": card.corpus.name,
        "bleu_signature": graph.signature,
        "test_sha256": card.corpus.sha256["test"],
        "model_hash": card.model_hash,
    }


def bleu_tokenizer(signature: str) -> str:
    """SacreBLEU's name of the tokenisation in a signature of its own."""
    return str(re.findall(r"\btok:([^|]+)", signature)[0])


def _read_translations(folder: Path, precision: str) -> list[str] | None:
    paths = folder / "translations.csv", folder / "differences.json"
    if not all(path.exists() for path in paths):
        return None
    with paths[0].open(newline="", encoding="utf-8") as file:
        texts = [row["translation"] for row in csv.DictReader(file)]
    for difference in read_json(paths[1]).get(precision, ()):
        if difference["row"] < len(texts):
            texts[difference["row"]] = difference["onnx"]
    return texts


def _register(client: Any, run_id: str, digest: str, scores: Mapping[str, float]) -> Any:
    from mlflow.entities import Metric

    card = load_card(TRANSLATOR)
    test = read_heldout(RAW, CLEAN)
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    with (
        tempfile.TemporaryDirectory() as temporary,
        global_tracking_uri(prepare_database()[0]),
    ):
        table = Path(temporary) / TEST_TABLE
        translations = find_translations(REPORTS, card, test)
        write_test_table(table, test.sources, test.references, translations)
        example = sorted(filter(None, test.sources), key=len)[:_NUM_EXAMPLES]
        page = (TRANSLATOR / "README.md").read_text(encoding="utf-8")
        digests = {TRANSLATOR_HASH: digest, DVC_DIGEST: dvc_digest(TRANSLATOR)}
        info = log_translator(client, run_id, TRANSLATOR, example, table)
        now = int(time.time() * 1000)
        metrics = [Metric(k, v, now, 0, model_id=info.model_id) for k, v in scores.items()]
        client.log_batch(run_id, metrics=metrics)
        _make_registered_model(client)
        return client.create_model_version(
            NAME,
            source=info.model_uri,
            run_id=run_id,
            tags=describe_graph(card, card.default_precision.cpu) | digests,
            description=f"{summarize_translator(card, date.today().isoformat())}\n\n{page}",
            model_id=info.model_id,
        )


def _make_registered_model(client: Any) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(NAME, description="Exported translators; serve @champion")
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
