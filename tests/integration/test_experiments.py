"""Experiments of a tiny pipeline: compared, foretold, drawn, swept."""

import json
import re
import shutil
import socket

import pytest

from tests.integration.conftest import ROOT

pytestmark = pytest.mark.slow
SLOWER = "train.learning_rate=1e-5"


@pytest.fixture(scope="module")
def tried(clone):
    """A trained clone, and the experiment `slower` with another learning rate."""
    clone.make_tiny("evaluate.num_attention_plots=0")
    clone.dvc("repro")
    clone.commit("trained")
    clone.dvc("exp", "run", "--temp", "--name", "slower", "-S", SLOWER)
    return clone


@pytest.fixture
def params(tried):
    """The params file, put back as it was."""
    path = tried.folder / "params.yaml"
    text = path.read_text()
    yield path
    path.write_text(text)


def compare(clone, *names: str) -> dict:
    return json.loads(clone.pipeline("compare", "--json", *names).stdout)


def statuses(clone, *changes: str) -> dict[str, str]:
    options = [part for change in changes for part in ("-S", change)]
    told = json.loads(clone.pipeline("affected", "--json", *options).stdout)
    return {stage["stage"]: stage["status"] for stage in told["stages"]}


def runs_by_rate(clone) -> dict[str, object]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{clone.folder}/mlruns/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, "tags.kind = 'model'")
    return {run.data.params["train.learning_rate"]: run for run in runs}


def test_an_experiment_in_a_copy_is_tracked_in_the_main_checkout(tried):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{tried.folder}/mlruns/mlflow.db")
    (experiment,) = (e for e in client.search_experiments() if e.name == "phrasebook")
    newest = next(
        run
        for run in client.search_runs([experiment.experiment_id])
        if run.data.tags.get("kind") == "evaluation"
    )
    assert float(newest.data.params["train.learning_rate"]) == 1e-5
    assert newest.data.tags["dvc_exp_name"]
    assert len(newest.data.tags["dvc_exp_baseline_rev"]) == 40
    assert newest.data.tags["git_dirty"] == "false"
    assert {"bleu", "float32_bleu", "int8_bleu"} <= newest.data.metrics.keys()
    assert "learning_rate: 0.006" in tried.read("params.yaml")


def test_a_commit_and_an_experiment_are_compared_without_a_checkout(tried):
    before = tried.run("git", "status", "--porcelain").stdout
    told = compare(tried, "HEAD", "slower")
    assert told["params"] == {"train.learning_rate": {"a": "0.006", "b": "1e-05"}}
    a, b = told["a"]["figures"], told["b"]["figures"]
    assert a["bleu"] == json.loads(tried.read("reports/evaluate.json"))["bleu"]
    difference = told["bleu_difference"]
    assert difference["value"] == pytest.approx(b["bleu"] - a["bleu"], abs=1e-3)
    assert difference["low"] <= difference["high"]
    assert tried.run("git", "status", "--porcelain").stdout == before

    text = tried.pipeline("compare", "HEAD", "slower").stdout
    assert "train.learning_rate" in text
    assert f"{a['bleu']:.2f} [{a['bleu_low']:.2f}, {a['bleu_high']:.2f}]" in text


def test_mlflow_runs_are_compared_by_id_and_by_name(tried):
    runs = runs_by_rate(tried)
    usual, slow = runs["0.006"].info, runs["1e-05"].info
    by_id = compare(tried, usual.run_id, slow.run_id[:8])
    by_revision = compare(tried, "HEAD", "slower")
    assert by_id["params"] == by_revision["params"]
    assert by_id["bleu_difference"] == by_revision["bleu_difference"]
    assert by_id["largest_gains"] == by_revision["largest_gains"]
    for side in ("a", "b"):
        assert by_id[side]["figures"] == by_revision[side]["figures"]
    assert compare(tried, usual.run_name, "workspace")["params"] == {}


def test_what_cannot_be_compared_is_told(tried):
    done = tried.pipeline("compare", "HEAD", "nowhere", check=False)
    assert done.returncode == 1
    assert "nowhere: no commit, branch, DVC experiment or MLflow run" in done.stderr
    (tried.folder / ".dvc/cache").rename(tried.folder / ".dvc/away")
    try:
        done = tried.pipeline("compare", "slower", "HEAD", check=False)
    finally:
        tried.run("rm", "-rf", ".dvc/cache")
        (tried.folder / ".dvc/away").rename(tried.folder / ".dvc/cache")
    assert "slower: " in done.stderr
    assert "`dvc pull`" in done.stderr
    assert "Traceback" not in done.stderr


def test_params_edited_since_are_noted(tried, params):
    params.write_text(params.read_text().replace("learning_rate: 0.006", "learning_rate: 0.5"))
    told = compare(tried, "HEAD", "workspace")
    assert told["params"] == {}
    assert "params.yaml was edited since: train.learning_rate" in told["b"]["notes"][0]


def test_affected_foretells_what_runs_and_changes_nothing(tried):
    before = tried.run("git", "status", "--porcelain").stdout, tried.read("params.yaml")
    upstream = dict.fromkeys(
        ("download", "synthesize", "clean", "vocab", "tokenize", "pretrain"), "unchanged"
    )
    later = {"evaluate": "may run", "export": "may run"}
    assert statuses(tried, "train.seed=9") == upstream | {"train": "runs"} | later
    # The experiment ran it; all that it wrote is in DVC's cache.
    restored = dict.fromkeys(("train", "evaluate", "export"), "restored")
    assert statuses(tried, SLOWER) == upstream | restored
    assert statuses(tried, "train.seed=1") == upstream | dict.fromkeys(restored, "unchanged")
    both = statuses(tried, "train.seed=9", "export.max_bleu_loss=9")
    assert (both["evaluate"], both["export"]) == ("may run", "runs")
    assert set(statuses(tried, "corpus.seed=4").values()) == {"runs", "may run"}

    done = tried.pipeline("affected", "-S", "train.max_epoch=1", check=False)
    assert "no key 'train.max_epoch'; did you mean 'train.max_epochs'?" in done.stderr
    done = tried.pipeline("affected", "-S", "model.num_heads=5", check=False)
    assert "num_heads = 5 must divide d_model = 32" in done.stderr
    assert (tried.run("git", "status", "--porcelain").stdout, tried.read("params.yaml")) == before


@pytest.mark.parametrize(
    ("line", "change"),
    [("beam_size: 2", "search.beam_size=3"), ("max_grad_norm: 1.0", "train.max_grad_norm=2.0")],
)
def test_affected_agrees_with_dvc(tried, params, line, change):
    foretold = statuses(tried, change)
    text = params.read_text()
    params.write_text(text.replace(line, change.split(".", 1)[1].replace("=", ": ")))
    assert params.read_text() != text
    printed = tried.dvc("repro", "--dry").stdout
    # A dry run takes outputs to be as they are, so it passes over what may run.
    for stage, status in foretold.items():
        assert (f"Running stage '{stage}'" in printed) == (status == "runs"), stage


def test_metrics_fit_a_screen(tried):
    # The default run's: a tiny model's TER and perplexity have more digits.
    metrics = tried.folder / "reports" / "metrics"
    before = {path: path.read_bytes() for path in metrics.iterdir()}
    shutil.copytree(ROOT / "reports" / "metrics", metrics, dirs_exist_ok=True)
    lines = tried.dvc("metrics", "show").stdout.split("\n")
    for path, text in before.items():
        path.write_bytes(text)
    assert max(len(line.rstrip()) for line in lines) <= 120


def test_curves_are_drawn_over_each_other_to_the_same_bytes(tried):
    run = runs_by_rate(tried)["1e-05"].info.run_id
    pictures = []
    for name in ("one.png", "two.png"):
        tried.pipeline("plots", "HEAD", "slower", run[:8], "--output", name)
        pictures.append((tried.folder / name).read_bytes())
        (tried.folder / name).unlink()
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"\x89PNG")


def test_a_sweep_runs_once_and_is_drawn(tried):
    sweep = "sweep", "-S", "search.beam_size=1,3", "-S", "search.length_penalty=0.5"
    printed = tried.pipeline(*sweep).stdout
    assert "2 experiments, 2 of them queued now" in printed
    picture = tried.folder / "dvc_plots" / "sweep.png"
    drawn = picture.read_bytes()
    picture.unlink()
    listed = tried.dvc("exp", "list", "--name-only").stdout.split()
    digits = re.search(r"(\w{6}) in their names is search.length_penalty=0.5", printed)[1]
    assert {f"beam_size={size}-{digits}" for size in (1, 3)} <= set(listed)

    again = tried.pipeline(*sweep).stdout
    assert "2 experiments, 0 of them queued now" in again
    assert "Reproducing" not in again
    assert picture.read_bytes() == drawn


def test_seeds_are_one_experiment_with_mean_and_range(tried):
    from mlflow.tracking import MlflowClient

    printed = tried.pipeline("repeat", "twice", "--seeds", "2", "-S", "train.max_steps=12").stdout
    assert "2 seeds, 2 of them queued now" in printed
    assert re.search(r"range +\d+\.\d\d to \d+\.\d\d", printed)
    told = compare(tried, "slower", "twice")
    assert [one["name"] for one in told["b"]["seeds"]] == ["twice-seed=1", "twice-seed=2"]
    assert "Welch" in told["bleu_difference"]["test"]
    client = MlflowClient(f"sqlite:///{tried.folder}/mlruns/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (parent,) = client.search_runs(experiments, "tags.kind = 'repeat'")
    below = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
    seeds = {run.data.params["train.seed"] for run in client.search_runs(experiments, below)}
    assert seeds == {"1", "2"}
    again = tried.pipeline("repeat", "twice", "--seeds", "2", "-S", "train.max_steps=12").stdout
    assert "2 seeds, 0 of them queued now" in again


def test_a_sweep_of_other_params_under_the_same_names_is_refused(tried, params):
    text = params.read_text()
    params.write_text(text.replace("max_length_extra: 10", "max_length_extra: 11"))
    changes = "-S", "search.beam_size=1,3", "-S", "search.length_penalty=0.5"
    done = tried.pipeline("sweep", *changes, check=False)
    assert "was run with other values of search.max_length_extra" in done.stderr
    assert "dvc exp remove" in done.stderr


def test_a_taken_port_is_told(tried):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = tried.pipeline("ui", "--port", str(port), check=False)
    assert done.returncode == 1
    assert f"--port {port}: can't listen there" in done.stderr


def test_the_pages_rank_runs_beside_what_differs(tried, monkeypatch):
    from mlflow.tracking import MlflowClient

    from pipeline.experiments.browser_view import set_up_pages

    client = MlflowClient(f"sqlite:///{tried.folder}/mlruns/mlflow.db")
    pages = set_up_pages(client)
    experiment = client.get_experiment_by_name("phrasebook")
    links = pages["phrasebook"]
    assert all("workflowType=machine_learning" in link for link in links.values())
    assert "viewStateShareKey=ranked" in links["ranked by BLEU"]
    assert links["curves"] in experiment.tags["mlflow.note.content"]
    view = json.loads(experiment.tags["mlflow.sharedViewState.ranked"])
    columns = [name for name in view["selectedColumns"] if name.startswith("params.")]
    assert columns[0] == "params.`search.beam_size`"
    assert "params.`train.learning_rate`" in columns
    listed = client.search_runs([experiment.experiment_id], view["searchFilter"])
    assert all("bleu" in run.data.metrics for run in listed)
    assert len(listed) >= 2


def test_the_champion_is_marked_where_experiments_are_listed(tried):
    from mlflow.tracking import MlflowClient

    tried.pipeline("promote", "--version", "1", "--force")
    listed = tried.pipeline("experiments").stdout
    marked = [line.split()[0] for line in listed.split("\n") if " * " in line]
    assert "slower" not in marked
    assert marked
    assert "* the champion" in listed
    assert "\x1b" not in listed
    client = MlflowClient(f"sqlite:///{tried.folder}/mlruns/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (run,) = client.search_runs(experiments, "tags.champion LIKE 'version %'")
    assert run.info.run_id == client.get_model_version("translator", "1").run_id


def test_a_model_scored_with_two_searches_is_compared_by_evaluation(tried, params):
    """After the sweep of beam sizes, which trained nothing."""
    run = runs_by_rate(tried)["0.006"].info
    done = tried.pipeline("compare", run.run_id, "workspace", check=False)
    assert "was evaluated with 3 groups of settings; give the id" in done.stderr
    ids = re.findall(r"([0-9a-f]{8}) \(", done.stderr)
    told = compare(tried, ids[0], ids[1])
    assert "search.beam_size" in told["different_decoding_settings"]
    assert told["params"].keys() == set(told["different_decoding_settings"])
