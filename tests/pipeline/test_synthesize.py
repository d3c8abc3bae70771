"""The stage `synthesize`, between `download` and `clean`, with a teacher that `teacher` brought."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.__main__ import app
from pipeline.finished_translator import put_translator
from pipeline.recipes import make_params
from pipeline.stages.clean import clean
from pipeline.stages.download import download
from pipeline.stages.synthesize import synthesize
from transformer.serving.card import load_card
from transformer.text.corpus import read_pairs, read_side
from transformer.text.synthetic import read_share

DISTILLATION = (
    "synthesize={kind: distillation, precision: float32, beam_size: 1, original_weight: 1.0, "
    "num_best: 1}"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    shutil.copytree("data/phrasebook", folder / "data/phrasebook")
    monkeypatch.chdir(folder)
    changes = ["corpus.num_pairs=400", DISTILLATION, "clean.drop_copies=true"]
    Path("params.yaml").write_text(make_params("phrasebook", changes))
    return folder


def test_a_teacher_is_asked_and_what_it_made_is_cleaned_and_told(here, make_translator, capsys):
    put_translator(str(make_translator()), Path("data/teacher"))
    download()
    synthesize()
    clean()
    made = json.loads(Path("reports/synthesize.json").read_text())
    assert made["num_pairs"] > 100
    assert f"{made['num_pairs']} pairs of {made['num_texts']} texts" in capsys.readouterr().out
    origins = list(read_side(Path("data/clean/train.parquet"), "origin"))
    report = json.loads(Path("reports/clean.json").read_text())
    assert set(report["origins"]) == {"phrasebook", "synthetic"} == set(origins)
    share = read_share(Path("data/clean"))
    assert share is not None
    assert share.share == pytest.approx(origins.count("synthetic") / len(origins), abs=1e-6)
    # Switched off again, only the corpus is left.
    Path("params.yaml").write_text(make_params("phrasebook", ["corpus.num_pairs=400"]))
    synthesize()
    clean()
    assert "No pairs are made" in capsys.readouterr().out
    raw = set(read_pairs(Path("data/raw/train.parquet")))
    assert len(list(read_pairs(Path("data/clean/train.parquet")))) <= len(raw) + 400
    assert read_share(Path("data/clean")) is None


def test_without_a_teacher_it_says_what_to_do(here):
    Path("data/teacher").mkdir()
    download()
    with pytest.raises(ValueError, match="data/teacher holds no translator"):
        synthesize()
    assert not Path("data/synthetic").exists()
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert "holds no translator; `python -m pipeline teacher FOLDER` puts" in str(result.exception)


def test_check_looks_at_the_teacher(here, make_translator):
    put_translator(str(make_translator()), Path("data/teacher"))
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 0, result.output
    changes = ["corpus.source_language=de", DISTILLATION]
    Path("params.yaml").write_text(make_params("anki-fr-en", changes))
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1
    assert "translates from fr to en; distillation of this corpus needs" in str(result.exception)


def test_a_teacher_comes_from_a_folder_or_a_project(here, make_translator, tmp_path):
    one = make_translator()
    card = load_card(one)
    result = CliRunner().invoke(app, ["teacher", str(one)])
    assert result.exit_code == 0, result.output
    assert f"fr to en, model {card.model_hash[:12]}, trained on toy (CC0-1.0)" in result.output
    assert load_card(Path("data/teacher")) == card
    other = make_translator("project/models/translator", model_hash="89abcdef" * 8)
    assert put_translator(str(tmp_path / "project"), Path("data/teacher")) == load_card(other)
    assert load_card(Path("data/teacher")).model_hash == "89abcdef" * 8


def test_a_damaged_teacher_leaves_the_one_before(here, make_translator):
    put_translator(str(make_translator()), Path("data/teacher"))
    damaged = make_translator("other", model_hash="89abcdef" * 8)
    (damaged / "translator.int8.onnx").write_bytes(b"")
    with pytest.raises(ValueError, match="its SHA-256 differs"):
        put_translator(str(damaged), Path("data/teacher"))
    assert load_card(Path("data/teacher")).model_hash == "0123abcd" * 8
