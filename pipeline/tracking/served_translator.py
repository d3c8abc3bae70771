"""The translator as MLflow serves it: a script that MLflow keeps with the model and runs."""

import logging
from typing import Any

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.pyfunc import PythonModel


def refuse_unknown_params(record: logging.LogRecord) -> bool:
    """A filter of MLflow's log: it tells of unknown params there alone, and goes on without them.

    Raises:
        MlflowException: the line is about them; who asked gets it as an answer.
    """
    line = record.getMessage()
    if line.startswith("Unrecognized params"):
        raise MlflowException.invalid_parameter_value(
            line.replace(" are ignored for inference", "")
        )
    return True


class ServedTranslator(PythonModel):  # type: ignore[misc]  # mlflow is untyped
    """Texts in, translations with scores out; loads no torch."""

    def load_context(self, context: Any) -> None:
        """Opens the exported translator that lies in the model's folder."""
        from transformer.serving.translator import Translator

        self._translator = Translator(context.artifacts["translator"])
        log = logging.getLogger("mlflow.models.utils")
        for known in list(log.filters):  # of a model that was loaded before
            if getattr(known, "__name__", "") == refuse_unknown_params.__name__:
                log.removeFilter(known)
        log.addFilter(refuse_unknown_params)
        log.setLevel(logging.WARNING)  # where MLflow is asked to be quieter, no filter would see it

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> Any:
        """The best translation of each text, with its score.

        Args:
            context: MLflow's.
            model_input: one column, the texts.
            params: `beam_size` and `length_penalty`; the translator's own by default.
        """
        texts = [str(text) for text in model_input.iloc[:, 0]]
        answers = self._translator.translate(texts, **(params or {}))
        return [{"translation": best.text, "score": best.score} for best, *_ in answers]


mlflow.models.set_model(ServedTranslator())
