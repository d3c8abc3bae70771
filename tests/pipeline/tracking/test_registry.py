"""Versions of the translator, and which of them is the champion."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.tracking.promotion import champion_digest, compare_with_champion, make_champion
from pipeline.tracking.registry import register_translator, translator_hash
from pipeline.tracking.runs import begin_run
from tests.pipeline.tracking.conftest import SOURCES
from transformer.serving.card import load_card
from transformer.serving.translator import Translator


@pytest.fixture
def register(project):
    """Writes a translator, registers it and returns its version."""
    run = begin_run()

    def register(name: str = "made", **changes) -> str:
        project.put_translator(name, **changes)
        version = register_translator(run, {"export.onnx_bleu": 40.5})
        assert version is not None
        return version

    return register


def promote(*arguments: str) -> tuple[int, str]:
    from pipeline.__main__ import app

    done = CliRunner().invoke(app, ["promote", "--num-bootstrap", "200", *arguments])
    return done.exit_code, done.output + (str(done.exception) if done.exception else "")


def champion(project) -> str:
    return str(project.client().get_model_version_by_alias("translator", "champion").version)


def test_a_translator_is_registered_once(register, project):
    assert [register("one"), register("one"), register("two"), register("one")] == list("1121")
    (run,) = project.runs()
    version = project.client().get_model_version("translator", "1")
    assert version.run_id == run.info.run_id
    summary, card = version.description.split("\n\n")
    assert summary.startswith("BLEU 40.50 (int8), beam 4, toy, 20")
    assert summary.endswith("sentences; phrasebook, learning_rate 0.002")
    assert card == "# A card of one"
    assert version.tags["precision"] == "int8"
    assert version.tags["corpus"] == "toy"
    model = project.client().get_logged_model(version.source.removeprefix("models:/"))
    assert model.status == "READY"
    assert model.experiment_id == run.info.experiment_id
    assert model.artifact_location.startswith((project.folder / "mlruns/artifacts/toy").as_uri())
    assert model.model_id in [output.model_id for output in run.outputs.model_outputs]
    assert {(m.key, m.value) for m in model.metrics} == {("export.onnx_bleu", 40.5)}


def test_a_version_is_whole_and_translates_as_the_translator_does(register, project, monkeypatch):
    import mlflow

    register()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", project.uri)
    model = mlflow.pyfunc.load_model("models:/translator/1")
    texts = ["un chat dort .", "", "deux"]
    ours = [best for (best,) in Translator("models/translator").translate(texts)]
    answers = model.predict(texts)
    assert answers == [{"translation": b.text, "score": pytest.approx(b.score)} for b in ours]
    one_beam = model.predict(["un"], params={"beam_size": 1})[0]["score"]
    assert one_beam > model.predict(["un"])[0]["score"]  # as the fixture scores
    assert model.metadata.signature.params.params[0].default == 4
    with pytest.raises(mlflow.exceptions.MlflowException, match=r"Unrecognized.*beem_size.*beam_"):
        model.predict(["un"], params={"beem_size": 1})
    example = model.metadata.load_input_example()
    assert len(model.predict(example)) == len(example) == 2
    requirements = Path(mlflow.pyfunc.get_model_dependencies("models:/translator/1")).read_text()
    needed = {line.split("==")[0] for line in requirements.splitlines()}
    assert {"mlflow", "numpy", "tokenizers"} <= needed
    assert "torch" not in needed


def test_the_test_table_is_what_the_export_scored(register, project):
    """One BLEU for one translator: on the card, in the registry, where two are compared."""
    import json

    from transformer.evaluation.scores import score_bleu

    wrong = {"row": 1, "pytorch": "DEUX CHIEN DORT .", "onnx": "DEUX CHIEN ."}
    Path("reports/differences.json").write_text(json.dumps({"float32": [], "int8": [wrong]}))
    texts = [text.upper() for text in SOURCES]
    bleu = score_bleu([texts[0], wrong["onnx"], *texts[2:]], texts, bleu_tokenizer="13a")
    int8 = {"bleu": round(bleu, 4), "signature": "case:mixed|eff:no|tok:13a|version:2"}
    register(graphs={"int8": int8})
    version = project.client().get_model_version("translator", "1")
    assert version.tags["bleu"] == f"{bleu:.2f}"
    assert f"BLEU {bleu:.2f} (int8) on 4 sentences of toy" in promote()[1]


def test_a_sentence_that_is_too_long_has_no_translation_in_the_test_table(project, tmp_path):
    import csv

    from pipeline.tracking.model_package import translate_test, write_test_table
    from transformer.serving.translator import Translator

    sources = ["un", "deux " * 9, "trois", "chat " * 9]
    path = tmp_path / "test.csv"
    translations = translate_test(Translator("models/translator"), sources)
    write_test_table(path, sources, ["a"] * 4, translations)
    with path.open(newline="") as file:
        assert [row["translation"] for row in csv.DictReader(file)] == ["UN", "", "TROIS", ""]


def test_the_first_promoted_is_champion_and_stays_it_against_its_equal(register, project):
    register("one")
    status, output = promote()
    assert status == 0, output
    assert champion(project) == "1"
    assert re.search(r"challenger +version 1  BLEU 100\.00 \(int8\) on 4 sentences of toy", output)
    assert "is the champion already" in promote()[1]
    register("two")
    status, output = promote()
    assert (status, champion(project)) == (1, "1"), output
    assert "difference  +0.00, 95 % in [+0.00, +0.00] (200 paired resamples)" in output
    assert "version 2 is not significantly better, so version 1 stays the champion" in output
    assert promote("--force")[0] == 0
    assert champion(project) == "2"


def test_the_promoted_weights_are_kept_to_be_trained_on(register, project, tmp_path, monkeypatch):
    from pipeline.tracking import kept_checkpoint
    from pipeline.tracking.kept_checkpoint import fetch_checkpoint

    for path in ("models/checkpoint/config.json", "models/tokenizer/meta.json"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)
    register("one")
    model = project.client().get_model_version("translator", "1").tags["model_hash"]
    monkeypatch.setattr(kept_checkpoint, "model_hash", lambda folder: model)
    status, output = promote()
    assert (status, "not kept" in output) == (0, False), output
    monkeypatch.setattr(kept_checkpoint, "model_hash", lambda folder: "another")
    register("two")
    assert "models/checkpoint is another model's" in promote("--force")[1]

    (tmp_path / "fetched").mkdir()
    assert fetch_checkpoint("models:/translator/1", tmp_path / "fetched") == "translator version 1"
    for path in ("models/checkpoint/config.json", "models/tokenizer/meta.json", "params.yaml"):
        assert (tmp_path / "fetched" / path).read_bytes() == Path(path).read_bytes()
    with pytest.raises(ValueError, match="version 2 of translator: its weights are not in the reg"):
        fetch_checkpoint("models:/translator@champion", tmp_path)
    with pytest.raises(ValueError, match="the registry has no such version"):
        fetch_checkpoint("models:/translator/7", tmp_path)


def test_a_version_is_put_where_it_makes_training_pairs(register, project, tmp_path):
    from pipeline.finished_translator import put_translator

    register("one")
    card = load_card(Path("models/translator"))
    register("two")
    (tmp_path / "teacher").mkdir()
    for name in (".gitignore", "README.md", "left.onnx"):
        (tmp_path / "teacher" / name).write_text(name)
    assert put_translator("models:/translator/1", tmp_path / "teacher") == card
    assert load_card(tmp_path / "teacher") == card
    names = {path.name for path in (tmp_path / "teacher").iterdir()}
    assert names == {".gitignore", "README.md", "translator.json", *card.files}
    assert (tmp_path / "teacher/README.md").read_text() == "README.md"
    with pytest.raises(ValueError, match="the registry has no such version"):
        put_translator("models:/translator/7", tmp_path / "teacher")
    with pytest.raises(ValueError, match="expected models:/NAME/VERSION or models:/NAME@ALIAS"):
        put_translator("models:translator", tmp_path / "teacher")


def test_a_quick_export_is_neither_registered_nor_promoted(register, project):
    project.put_translator("quick", sampled_from=900)
    assert register_translator(begin_run(), {}) is None
    code, told = promote()
    assert code == 1
    assert "set evaluate.num_sentences to null" in told
    code, told = promote("--force")
    assert code == 1
    assert not project.client().search_model_versions("name = 'translator'")


def test_a_significantly_better_one_takes_its_place(register, project):
    worse = {"max_length_factor": 0.25, "max_length_extra": 1}
    register("worse", search=worse)  # it ends half-way
    assert promote()[0] == 0
    register("better")
    status, output = promote("--version", "2")
    assert (status, champion(project)) == (0, "2"), output
    assert re.search(r"difference +\+\d", output)
    won = project.client().get_model_version("translator", "2").tags["promoted"]
    assert won.endswith("BLEU over version 1")
    status, output = promote("--version", "1")
    assert (status, champion(project)) == (1, "2"), output
    (run,) = project.runs()  # both are of this model
    assert run.data.tags["champion"] == "version 2"
    assert re.search(r"difference +-\d", output)


def test_one_that_is_worse_on_a_set_does_not(register, project):
    from pipeline.recipes import make_params

    half = {"max_length_factor": 0.5, "max_length_extra": 1}
    register("half", search=half)  # it ends half-way
    assert promote()[0] == 0
    # It holds the test set's sentences, and no longer ones.
    register("short", max_source_tokens=5)
    Path("data/sets").mkdir(parents=True)
    for name, lines in (("same", SOURCES), ("long", ["un deux trois quatre chat dort ."] * 4)):
        text = "\n".join(lines)
        Path(f"data/sets/{name}.fr").write_text(text)
        Path(f"data/sets/{name}.en").write_text(text.upper())
    sets = [
        f"{name}: {{kind: files, source: {name}.fr, target: {name}.en}}"
        for name in ("same", "long")
    ]
    Path("params.yaml").write_text(
        make_params("phrasebook", [f"evaluate.sets={{{', '.join(sets)}}}"])
    )
    status, output = promote()
    assert (status, champion(project)) == (1, "1"), output
    assert re.search(r"difference +\+\d", output)
    assert re.search(r"same +\+\d.*, 95 % in \[\+\d", output)
    assert re.search(r"long +-\d.*, 95 % in \[-\d", output)
    assert "version 2 is significantly worse on long, of evaluate.sets, so version 1" in output
    assert promote("--force")[0] == 0
    assert champion(project) == "2"


def test_another_test_set_is_refused_in_words(register, project):
    register("one")
    promote()
    project.put_test_set(["SOMETHING", "ELSE", "WAS", "ASKED"])
    register("two", test="4" * 64)
    status, output = promote()
    assert (status, champion(project)) == (1, "1"), output
    assert "version 2 translated the test set of toy (444444444444)" in output
    assert "that of toy (333333333333)" in output
    assert "can't be compared" in output
    assert promote("--force")[0] == 0
    assert champion(project) == "2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "models/translator is not in the registry; `python -m pipeline sync`"),
        (["--version", "7"], "--version 7: the registry has no such version"),
    ],
)
def test_a_version_that_is_not_there_is_refused(project, arguments, message):
    status, output = promote(*arguments)
    assert status == 1
    assert message in output


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("http://me:geheim@127.0.0.1:1", "does not answer"),
        ("http://a\nb", "invalid character"),
        ("sqlite:////dev/full", "OperationalError"),
        ("nowhere+driver://me:geheim@host/x", "nowhere"),
        ("postgresql+pg8000://me:geheim@127.0.0.1:1/x", "No module named 'pg8000'.*psycopg2://"),
    ],
)
def test_a_server_out_of_reach_is_one_line(project, monkeypatch, uri, message):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    status, output = promote()
    assert status == 1
    assert re.search(rf"MLflow can't be reached.*{message}", output)
    assert len(output.strip().splitlines()) == 1
    assert "geheim" not in output


def test_a_champion_of_meanwhile_is_not_passed_over(register, project):
    """Two members promote at once: each has compared with the champion of before."""
    for name in ("one", "two", "three"):
        register(name)
    client = project.client()
    comparison = compare_with_champion(client, "1", 200, force=False)
    make_champion(client, compare_with_champion(client, "2", 200, force=False))
    with pytest.raises(ValueError, match="somebody else has moved the alias"):
        make_champion(client, comparison)
    assert champion(project) == "2"
    forced = compare_with_champion(client, "3", 200, force=True)
    make_champion(client, forced)
    assert champion(project) == "3"


def test_a_champion_that_cannot_be_read_is_not_taken_for_none(register, project, monkeypatch):
    from mlflow.exceptions import MlflowException

    register("one")
    assert promote()[0] == 0
    register("two")

    def fail(*_):
        raise MlflowException("the server is gone")

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.tracking.MlflowClient.get_model_version_by_alias", fail)
        status, output = promote()
    assert (status, champion(project)) == (1, "1"), output
    assert "the server is gone" in output


def test_the_champion_is_fetched_to_be_served(register, project, tmp_path):
    from pipeline.tracking.promotion import fetch_champion

    with pytest.raises(ValueError, match=r"can't be served: there is none; .* promote"):
        fetch_champion(tmp_path)
    hashes = []
    for version, name in enumerate(("one", "two"), 1):
        assert register(name) == str(version)
        hashes.append(translator_hash())
    for version in (2, 1):
        project.client().set_registered_model_alias("translator", "champion", version)
        fetched = fetch_champion(tmp_path / str(version))
        assert translator_hash(fetched) == hashes[version - 1]
        assert Translator(fetched, "cpu").translate(["un chat"])[0][0].text == "UN CHAT"


def test_a_tracker_that_is_lost_is_told_without_its_password(monkeypatch, capsys, tmp_path):
    from pipeline.tracking.promotion import fetch_champion

    monkeypatch.setenv("MLFLOW_TRACKING_URI", "foo://me:hunter2@host")
    assert champion_digest() is None
    told = [capsys.readouterr().err]
    with pytest.raises(ValueError, match="can't be served") as caught:
        fetch_champion(tmp_path)
    told.append(str(caught.value))
    assert all("foo://***@host" in text and "hunter2" not in text for text in told)
