"""The translator as an MLflow model: what it takes, gives, and needs."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

import transformer
from transformer.serving.card import Card, load_card
from transformer.serving.translator import Translator, UntranslatableError

NAME = "translator"
# Of the table of the test set with the translator's translations, within the model's folder.
TEST_TABLE = "test.csv"
_DISTRIBUTION = "transformer-mt"
_SCRIPT = Path(__file__).with_name("served_translator.py")


def log_translator(
    client: Any, run_id: str, folder: Path, example: Sequence[str], test_table: Path
) -> Any:
    """Puts an exported translator into a run as a model, and returns what MLflow says of it.

    Its folder holds all that serving needs, this project's code included, and no torch.

    Args:
        client: MLflow's; its tracking URI must be the global one.
        run_id: of the run that it belongs to.
        folder: such as models/translator.
        example: texts in the source language.
        test_table: as `write_test_table` wrote it.
    """
    import mlflow
    from mlflow.models import Model

    run = client.get_run(run_id)
    # Made by itself, since MLflow would take the default experiment rather than the run's.
    made = client.create_logged_model(
        run.info.experiment_id, name=NAME, source_run_id=run_id, params=run.data.params
    )
    return Model.log(
        artifact_path=None,
        model_id=made.model_id,
        flavor=mlflow.pyfunc,
        run_id=run_id,
        python_model=str(_SCRIPT),
        artifacts={"translator": str(folder), "test": str(test_table)},
        code_paths=[str(Path(transformer.__file__).parent)],
        signature=_signature(load_card(folder)),
        input_example=list(example),
        pip_requirements=serving_requirements(),
    )


def serving_requirements() -> list[str]:
    """What translating needs, at the versions installed here, and MLflow."""
    declared = [Requirement(line) for line in metadata.requires(_DISTRIBUTION) or ()]
    needed = [one.name for one in declared if one.marker is None or one.marker.evaluate()]
    versions = {name: Version(metadata.version(name)).public for name in [*needed, "mlflow"]}
    return [f"{name}=={version}" for name, version in versions.items()]


def translate_test(translator: Translator, sources: Sequence[str]) -> list[str]:
    """The best translations.

    A text that it refuses, such as a sentence that is too long, has the empty translation.
    """
    return list(_translate(translator, sources))


def write_test_table(
    path: Path, sources: Sequence[str], references: Sequence[str], translations: Sequence[str]
) -> None:
    """Writes the translations of a test set beside it, as `TEST_TABLE` holds them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["source", "reference", "translation"])
        writer.writerows(zip(sources, references, translations, strict=True))


@contextmanager
def global_tracking_uri(uri: str) -> Iterator[None]:
    """MLflow's functions for models know no client; they use this URI meanwhile."""
    import mlflow

    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(uri)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(before)


def _translate(translator: Translator, sources: Sequence[str]) -> Iterator[str]:
    todo = list(sources)
    while todo:
        try:
            yield from (answers[0].text for answers in translator.translate(todo))
            return
        except UntranslatableError as error:
            yield from (answers[0].text for answers in translator.translate(todo[: error.index]))
            yield ""
            todo = todo[error.index + 1 :]


def _signature(card: Card) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

    return ModelSignature(
        inputs=Schema([ColSpec("string")]),
        outputs=Schema([ColSpec("string", "translation"), ColSpec("double", "score")]),
        params=ParamSchema(
            [
                ParamSpec("beam_size", "long", card.search.beam_size),
                ParamSpec("length_penalty", "double", card.search.length_penalty),
            ]
        ),
    )
