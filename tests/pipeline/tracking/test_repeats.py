import pytest

from pipeline.tracking import repeats
from pipeline.tracking.repeats import track_repeats
from pipeline.tracking.runs import begin_run

BASELINE = "c0ffee"
SPREADS = {"bleu": (31.0, 30.0, 32.0), "chrf": (50.0, 49.0, 51.0)}


@pytest.fixture
def seeds(place, monkeypatch):
    """Runs of two seeds, one of another commit, one of no experiment."""
    monkeypatch.setattr(repeats, "run_git", lambda *_: BASELINE)
    made = []
    experiments = [("wide-seed=1", BASELINE), ("wide-seed=2", BASELINE), ("wide-seed=1", "dada")]
    for name, baseline in experiments:
        monkeypatch.setenv("DVC_EXP_NAME", name)
        monkeypatch.setenv("DVC_EXP_BASELINE_REV", baseline)
        run = begin_run()
        run.finish()
        made.append(run.run_id)
    monkeypatch.delenv("DVC_EXP_NAME")
    monkeypatch.delenv("DVC_EXP_BASELINE_REV")
    return made


def test_seeds_stand_below_one_run_with_mean_and_range(place, seeds):
    names = ["wide-seed=1", "wide-seed=2"]
    parent = track_repeats("wide", names, SPREADS)
    run = place.client().get_run(parent)
    assert run.info.run_name == "31.00 [30.00 to 32.00] wide, 2 seeds"
    assert (run.data.metrics["bleu"], run.data.metrics["bleu_min"]) == (31.0, 30.0)
    assert run.data.metrics["chrf_max"] == 51.0
    assert run.data.metrics["seeds"] == 2
    parents = [place.client().get_run(one).data.tags.get("mlflow.parentRunId") for one in seeds]
    assert parents == [parent, parent, None]
    # Again, with another seed's figures: the same run.
    assert track_repeats("wide", names, SPREADS | {"bleu": (29.0, 28.0, 30.0)}) == parent
    assert place.client().get_run(parent).data.metrics["bleu"] == 29.0


def test_a_seed_that_was_trained_before_is_told(place, seeds):
    names = ["wide-seed=2", "wide-seed=3"]
    with pytest.warns(UserWarning, match="MLflow has no run of wide-seed=3: DVC took a training"):
        parent = track_repeats("wide", names, SPREADS)
    assert place.client().get_run(seeds[1]).data.tags["mlflow.parentRunId"] == parent


def test_where_all_were_the_run_has_their_figures(place, monkeypatch):
    monkeypatch.setattr(repeats, "run_git", lambda *_: BASELINE)
    with pytest.warns(UserWarning, match="no run of wide-seed=1: "):
        parent = track_repeats("wide", ["wide-seed=1"], SPREADS)
    assert place.client().get_run(parent).data.metrics["bleu"] == 31.0
