"""A folder in which every stage has run, by its files alone, and a tracking database of its own."""

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient

from pipeline.recipes import make_params
from pipeline.tracking.backend import prepare_database

EVALUATION = {
    "bleu": 40.5062,
    "bleu_low": 39.0,
    "bleu_high": 42.0,
    "num_sentences": 4,
    "signatures": {"bleu": "nrefs:1|bs:40|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp"},
}
SOURCES = ["un chat dort .", "deux chien dort .", "trois chat dort !", "quatre chien ?"]
MODEL = "ab" * 32
TEST_SHA256 = "3" * 64


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory) -> Path:
    """Made once: the migrations take seconds."""
    folder = tmp_path_factory.mktemp("database")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DVC_ROOT", str(folder))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        prepare_database()
    return folder / "mlruns" / "mlflow.db"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with params, and no variable that says otherwise."""
    monkeypatch.chdir(tmp_path)
    for variable in ("DVC_ROOT", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(variable, raising=False)
    Path("params.yaml").write_text(make_params("phrasebook", ["train.learning_rate=0.002"]))
    return tmp_path


class Place:
    """A folder with a made database, and what MLflow has in it."""

    def __init__(self, folder: Path, make_translator: Callable[..., Path]) -> None:
        self.folder = folder
        self.uri = f"sqlite:///{folder}/mlruns/mlflow.db"
        self._make_translator = make_translator

    def client(self) -> MlflowClient:
        return MlflowClient(self.uri)

    def runs(self, parents: bool = True) -> list:
        """The runs of models, or those of decoding settings, newest first."""
        experiments = [
            experiment.experiment_id for experiment in self.client().search_experiments()
        ]
        found = self.client().search_runs(experiments)
        return [run for run in found if ("mlflow.parentRunId" not in run.data.tags) == parents]

    def artifacts(self, run_id: str, folder: str = "") -> set[str]:
        return {file.path for file in self.client().list_artifacts(run_id, folder)}

    def history(self, run_id: str, metric: str) -> list[tuple[int, float]]:
        return [(m.step, m.value) for m in self.client().get_metric_history(run_id, metric)]

    def put_translator(self, name: str = "made", test: str = TEST_SHA256, **changes: Any) -> None:
        """Writes models/translator; one with another name is another translator."""
        graph = {"bleu": 40.5, "signature": "case:mixed|eff:no|tok:13a|version:2"}
        values = {
            "graphs": {"float32": graph, "int8": graph},
            "corpus": {"origin": name, "sha256": {"test": test}},
            "model_hash": MODEL,
        }
        shutil.rmtree(self.folder / name, ignore_errors=True)  # of an earlier call
        made = self._make_translator(name, **(values | changes))
        (made / "README.md").write_text(f"# A card of {name}")
        shutil.rmtree("models/translator", ignore_errors=True)
        shutil.copytree(made, "models/translator")

    def put_test_set(self, references: Sequence[str]) -> None:
        """Writes data/raw and data/clean; the sources are those that the translators know."""
        from transformer.text.corpus import write_pairs

        for part in ("raw", "clean"):
            write_pairs(Path("data", part, "test.parquet"), zip(SOURCES, references, strict=True))


@pytest.fixture
def place(folder, empty_database, make_translator) -> Place:
    """A made database, and nothing else."""
    (folder / "mlruns").mkdir()
    shutil.copyfile(empty_database, folder / "mlruns" / "mlflow.db")
    return Place(folder, make_translator)


@pytest.fixture
def project(place) -> Place:
    """Everything that the stages leave, but for the checkpoint."""
    from transformer.text.manifest import Manifest, write_manifest

    reports = Path("reports")
    reports.mkdir()
    write_csv(reports / "train_curve.csv", "step,train_loss,learning_rate,gradient_norm", 10)
    write_csv(reports / "valid_curve.csv", "step,valid_loss,perplexity,accuracy", 30)
    dump(reports / "train.json", {"steps": 30, "valid_loss": 1.5, "num_parameters": 9})
    dump(reports / "clean.json", {"rejected": {"leak": 1}})
    dump(reports / "evaluate.json", EVALUATION)
    dump(
        reports / "export.json", {"onnx_bleu": 40.5062, "int8_passed": True, "bleu_signature": "s"}
    )
    write_translations(reports / "translations.csv")
    (reports / "attention").mkdir()
    (reports / "attention" / "00000.png").write_bytes(b"a picture")
    place.put_test_set([text.upper() for text in SOURCES])
    reject = {"line": 4, "reason": "leak", "source": "un chat", "target": "A cat"}
    Path("data/clean/rejects.jsonl").write_text(json.dumps(reject) + "\n")
    Path("data/ids").mkdir()
    Path("data/ids/meta.json").write_text("{}")
    sha256 = {"train": "1" * 64, "valid": "2" * 64, "test": TEST_SHA256}
    manifest = Manifest(
        name="toy", kind="text", origin="here", revision=None, license="CC0-1.0",
        source_language="fr", target_language="en", counts={}, num_empty={}, sha256=sha256,
        origin_sha256={},
    )  # fmt: skip
    write_manifest(Path("data/raw"), manifest)
    place.put_translator()
    return place


def write_csv(path: Path, header: str, first: int) -> None:
    """A row every ten steps, to step 30."""
    num_values = header.count(",")
    rows = [",".join([str(step), *[str(step / 4)] * num_values]) for step in range(first, 31, 10)]
    path.write_text("\n".join([header, *rows]) + "\n")


def write_translations(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "reference", "translation", "score", "chrf"])
        writer.writerows([text, text.upper(), text.upper(), -0.5, 100.0] for text in SOURCES)


def dump(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))
