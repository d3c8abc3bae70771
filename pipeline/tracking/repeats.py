"""The MLflow run that stands for several seeds of one experiment: their parent."""

import warnings
from collections.abc import Mapping, Sequence

from pipeline.repository import run_git
from pipeline.tracking.backend import open_client, open_experiment
from pipeline.tracking.provenance import provenance_tags
from pipeline.tracking.runs import KIND, MODEL, PARENT, REPEAT
from pipeline.tracking.tracker import Tracker
from pipeline.tracking.training_files import corpus_name


def track_repeats(
    name: str, members: Sequence[str], spreads: Mapping[str, tuple[float, float, float]]
) -> str | None:
    """Puts the members' runs below one run with their means and ranges; returns its id.

    The same name on the same commit is the same run. A member has no run of its own where DVC had
    kept its training from before, or MLflow was away; a warning names it. None: MLflow fails.

    Args:
        name: of the run.
        members: DVC experiments of the last commit.
        spreads: of each figure the mean, the least and the greatest.
    """
    head = run_git("rev-parse", "HEAD")

    def open_run() -> tuple[object, str]:
        client, artifacts = open_client()
        experiments = [one.experiment_id for one in client.search_experiments()]
        of_commit = f"tags.dvc_exp_baseline_rev = '{head}' and tags.{KIND}"
        models = [
            run
            for run in client.search_runs(experiments, f"{of_commit} = '{MODEL}'", max_results=1000)
            if run.data.tags.get("dvc_exp_name") in members
        ]
        if models:
            place = models[0].info.experiment_id
        else:
            place = open_experiment(client, artifacts, corpus_name())
        names = {run.data.tags["dvc_exp_name"] for run in models}
        if without := [one for one in members if one not in names]:
            warnings.warn(
                f"MLflow has no run of {', '.join(without)}: DVC took a training that it had kept, "
                "which stands there under its first name, unless MLflow was away then; the mean "
                f"and range of {name} count it",
                stacklevel=2,
            )
        query = f"{of_commit} = '{REPEAT}' and tags.repeat = '{name}'"
        found = client.search_runs([place], query)
        tags = provenance_tags() | {KIND: REPEAT, "repeat": name, "dvc_exp_baseline_rev": head}
        run_id = found[0].info.run_id if found else client.create_run(place, tags=tags).info.run_id
        for run in models:
            client.set_tag(run.info.run_id, PARENT, run_id)
        return client, run_id

    tracker = Tracker(open_run)
    if tracker.has_failed:
        return None
    metrics = {"seeds": float(len(members))}
    for key, (mean, low, high) in spreads.items():
        metrics |= {key: mean, f"{key}_min": low, f"{key}_max": high}
    tracker.metrics({key: round(value, 3) for key, value in metrics.items()})
    mean, low, high = spreads["bleu"]
    tracker.rename(f"{mean:.2f} [{low:.2f} to {high:.2f}] {name}, {len(members)} seeds")
    tracker.finish()
    return tracker.run_id
