"""A pretraining that is killed goes on with the same command, as a training does."""

import signal

import pytest

from pipeline.params import load_sections
from pipeline.recipes import make_params
from pipeline.training.fingerprint import fingerprint_pretraining
from transformer.files import sha256_file
from transformer.model.config import ModelConfig
from transformer.pretraining.config import PretrainConfig
from transformer.text.clean_config import CleanConfig


def pretrained(project):
    folder = project.folder / "models" / "pretrained"
    return {path.name: sha256_file(path) for path in folder.iterdir()}


@pytest.mark.slow
def test_killed_and_stopped_it_ends_as_if_it_ran_through(make_project, make_pretrain):
    train = {"batch_tokens": 256, "max_epochs": 100, "max_steps": 300, "num_threads": 1}
    train |= {
        "device": "cpu",
        "log_every_steps": 1,
        "save_every_seconds": 0.1,
        "schedule": {"kind": "constant", "warmup_steps": 20},
    }
    whole, project = (make_project(name, make_pretrain(**train)) for name in ("whole", "stopped"))
    whole.stage = project.stage = "pretrain"
    assert "Going on" not in whole.finish()

    process = project.start()
    project.wait_for_steps(process, 60)
    process.kill()
    printed, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL, "it ended before it was killed"
    assert not (project.folder / "models" / "pretrained").exists()

    process = project.start()
    project.wait_for_steps(process, 60)
    process.terminate()
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 143, printed
    assert 0 < project.going_on_from(printed) <= 60
    stopped_at = project.steps()[-1][0]
    assert f"the same command goes on from step {stopped_at}." in printed

    assert project.going_on_from(project.finish()) == stopped_at
    assert pretrained(project) == pretrained(whole)
    assert not list((project.folder / ".state" / "train").iterdir())


@pytest.fixture
def name_of(tmp_path, make_pretrain):
    text = tmp_path / "more.fr"
    text.write_text("oui\n")

    def make(*changes):
        path = tmp_path / "params.yaml"
        path.write_text(make_params("phrasebook", [make_pretrain(device="cpu"), *changes]))
        config, model, clean = load_sections(
            ("pretrain", PretrainConfig), ("model", ModelConfig), ("clean", CleanConfig), path=path
        )
        return fingerprint_pretraining(config, model, clean, [text]).name

    return make


def test_the_same_pretraining_has_one_name(name_of):
    changed = name_of("pretrain.train.save_every_seconds=1", "train.seed=2", "search.beam_size=7")
    assert name_of() == name_of() == changed


@pytest.mark.parametrize(
    "change",
    [
        "pretrain.mask_probability=0.2",
        "pretrain.train.seed=2",
        "model.dropout=0.2",
        "clean.source.lowercase=false",
    ],
)
def test_other_params_are_another_pretraining(name_of, change):
    assert name_of(change) != name_of()


def test_other_text_is_another_pretraining(name_of, tmp_path):
    before = name_of()
    (tmp_path / "more.fr").write_text("non\n")
    assert name_of() != before
