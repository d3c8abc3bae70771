"""A tiny pipeline through DVC in a temporary clone, from raw text to a translation."""

import json
import re

import pytest

from transformer.serving.int8_probe import saturates

pytestmark = pytest.mark.slow


def stages_run(printed: str) -> list[str]:
    return re.findall(r"Running stage '(\w+)'", printed)


@pytest.fixture(scope="module")
def trained(clone):
    """The clone after its first `dvc repro` of a tiny phrasebook."""
    clone.make_tiny()
    clone.first = clone.dvc("repro").stdout
    return clone


def test_one_command_runs_all_stages_and_the_translator_answers(trained):
    before = ["download", "synthesize", "clean", "vocab", "tokenize", "pretrain"]
    stages = [*before, "train", "evaluate", "export"]
    assert stages_run(trained.first) == stages
    done = trained.pipeline("translate", "--json", "Il vit au Japon.", "Il vit au xyzzystan.")
    answer, other = map(json.loads, done.stdout.splitlines())
    assert answer["source"] == "Il vit au Japon."
    assert answer["translations"][0]["text"]
    passed = json.loads(trained.read("reports/export.json"))["int8_passed"]
    assert "xyzzystan" in other["unknown_words"]
    assert "il" not in other["unknown_words"]
    assert re.search("warning: sentence 2: not in the training text: .*'xyzzystan'", done.stderr)
    # Where int8 products saturate, float32 runs though int8 has passed.
    assert answer["precision"] == ("int8" if passed and not saturates() else "float32")


def test_a_second_repro_runs_nothing(trained):
    assert stages_run(trained.dvc("repro").stdout) == []
    assert "up to date" in trained.dvc("status").stdout


def test_forced_again_it_gives_the_same_lock(trained):
    before = trained.read("dvc.lock")
    assert len(stages_run(trained.dvc("repro", "--force").stdout)) == 9
    assert trained.read("dvc.lock") == before


def test_all_stages_of_a_model_share_one_mlflow_run(trained):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{trained.folder}/mlruns/mlflow.db")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments)
    of_models = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    assert len({run.data.tags["model_hash"] for run in of_models}) == 1
    newest = of_models[0]
    (child,) = (r for r in runs if r.data.tags.get("mlflow.parentRunId") == newest.info.run_id)
    bleu = json.loads(trained.read("reports/evaluate.json"))["bleu"]
    assert child.info.run_name.startswith(f"{bleu:.2f} phrasebook, num_pairs 1500, ")
    assert child.info.run_name.endswith(", beam 2")
    assert child.data.tags["kind"] == "evaluation"
    assert newest.info.status == "FINISHED"
    assert newest.data.params["train.max_epochs"] == "6"
    assert len(newest.data.tags["git_commit"]) == 40
    assert newest.info.run_name.startswith("phrasebook, num_pairs 1500, ")
    lock = trained.read("dvc.lock")
    inputs = [*newest.inputs.dataset_inputs, *child.inputs.dataset_inputs]
    digests = {one.dataset.name: one.dataset.digest for one in inputs}
    assert digests.keys() == {"phrasebook", "phrasebook ids", "phrasebook test"}
    for out, name in (("data/raw", "phrasebook"), ("data/ids", "phrasebook ids")):
        assert re.search(rf"path: {out}\n +hash: md5\n +md5: {digests[name]}\n", lock)
    assert child.data.metrics["bleu"] == round(bleu, 2)
    assert {"float32_bleu", "int8_bleu"} <= child.data.metrics.keys()
    assert {"train_loss", "valid_loss"} <= newest.data.metrics.keys()
    history = client.get_metric_history(newest.info.run_id, "valid_loss")
    assert len(history) == 6
    of_model, of_child = (
        {file.path for file in client.list_artifacts(run.info.run_id)} for run in (newest, child)
    )
    assert of_model >= {"curves", "data"}
    assert of_child >= {"attention", "evaluate", "export"}
    (version,) = client.search_model_versions()  # forced again, the same translator came out
    assert version.name == "translator"


def test_an_edit_elsewhere_reruns_nothing_before_it(trained):
    params = trained.read("params.yaml")
    changed = params.replace("beam_size: 2", "beam_size: 3")
    assert changed != params
    (trained.folder / "params.yaml").write_text(changed)
    assert stages_run(trained.dvc("repro", "--dry").stdout) == ["evaluate", "export"]
    (trained.folder / "params.yaml").write_text(params)


def test_translating_needs_neither_torch_nor_dvc_nor_mlflow(trained):
    blocked = "import sys\nfor name in ('torch', 'dvc', 'mlflow', 'datasets', 'pyarrow', 'ruamel'):"
    blocked += "\n    sys.modules[name] = None\n"
    blocked += "import runpy; sys.argv = ['pipeline', 'translate', 'Bonjour.']\n"
    blocked += "runpy.run_module('pipeline', run_name='__main__')"
    assert trained.run("python", "-c", blocked).stdout.strip()


def test_the_whole_file_is_checked_with_every_problem(trained):
    assert "is right" in trained.pipeline("check").stdout
    text = trained.read("params.yaml")
    (trained.folder / "params.yaml").write_text(
        text.replace("num_heads: 2", "num_heads: 5").replace("beam_size: 2", "beams: 3")
    )
    done = trained.pipeline("check", check=False)
    (trained.folder / "params.yaml").write_text(text)
    assert done.returncode == 1
    assert "model: num_heads = 5 must divide d_model = 32" in done.stderr
    assert "search.beams = 3: unknown key" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_user_points_it_at_files_and_a_changed_file_runs_the_stage_again(clone):
    folder = clone.folder / "data" / "sources" / "mine"
    folder.mkdir()
    lines = {"fr": [f"phrase {n}\n" for n in range(30)], "en": [f"line {n}\n" for n in range(30)]}
    for language in lines:
        (folder / f"train.{language}").write_text("".join(lines[language]))
    corpus = (
        "corpus={kind: text, name: mine, source_language: fr, target_language: en, "
        "license: my own, path: data/sources/mine, train: {source: train.fr, target: train.en}, "
        "valid: null, test: null, "
        "split: {valid_pairs: 5, test_pairs: 5, seed: 1, origin_pattern: null}}"
    )
    clone.pipeline("recipe", "phrasebook", "--force", "--set", corpus)
    assert stages_run(clone.dvc("repro", "download").stdout) == ["download"]
    assert json.loads(clone.read("data/raw/manifest.json"))["counts"]["train"] == 20
    assert stages_run(clone.dvc("repro", "download").stdout) == []

    for language in lines:
        with (folder / f"train.{language}").open("a") as file:
            file.write(f"{language} again\n")
    assert stages_run(clone.dvc("repro", "download").stdout) == ["download"]
    assert json.loads(clone.read("data/raw/manifest.json"))["counts"]["train"] == 21

    clone.dvc("add", "data/sources/mine")
    clone.commit("the text")
    copied = clone.dvc("exp", "run", "--temp", "-S", "corpus.split.test_pairs=6", "download")
    assert "'data/sources/mine.dvc' didn't change" in copied.stdout
    assert stages_run(copied.stdout) == ["download"]
    clone.run("git", "rm", "--quiet", "data/sources/mine.dvc")

    with (folder / "train.en").open("a") as file:
        file.write("one too many\n")
    done = clone.dvc("repro", "download", check=False)
    assert done.returncode != 0
    assert re.search(r"train\.fr has 31 lines, .*train\.en has 32", done.stdout + done.stderr)
    assert not (clone.folder / "data" / "raw").exists()
