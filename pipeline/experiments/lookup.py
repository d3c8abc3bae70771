"""From what a user calls an experiment to its results."""

from pipeline.experiments.mlflow_runs import read_run
from pipeline.experiments.repeats import list_repeats
from pipeline.experiments.results import Results, ResultsError
from pipeline.experiments.revisions import read_revision


def find_results(name: str) -> Results:
    """Results of `workspace`, a git revision, a DVC experiment or an MLflow run, in this order.

    Raises:
        ResultsError: nothing has this name, or it has no results.
    """
    found = read_revision(name) or read_run(name)
    if found is None:
        raise unknown(name)
    return found


def find_seeds(name: str) -> list[Results]:
    """Results of each seed that `repeat` ran under this name, or of the one that has it.

    Raises:
        ResultsError: nothing has this name, or it has no results.
    """
    return [find_results(one) for one in list_repeats(name) or [name]]


def unknown(name: str) -> ResultsError:
    """The error to raise for a name that nothing has."""
    return ResultsError(
        f"{name}: no commit, branch, DVC experiment or MLflow run is called that; "
        "`dvc exp list --all-commits` lists experiments, `make ui` shows the runs"
    )
