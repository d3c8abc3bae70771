"""An imported model in a project: scored, exported, translated with, trained on, saved again."""

import hashlib
import json
from importlib import import_module
from pathlib import Path

import pytest

from tests.marian.conftest import make_sentences

SMALL = [
    *("corpus.path=text", "corpus.source_language=de", "corpus.target_language=en"),
    *("evaluate.num_bootstrap=40", "evaluate.num_attention_plots=1", "tokenize.max_tokens=60"),
    *("search.beam_size=3", "search.length_penalty=0.0", "search.max_length_factor=0.0"),
    *("search.max_length_extra=20", "train.batch_tokens=256", "train.schedule.warmup_steps=1"),
    # Random weights have near-ties everywhere, and int8 is worth nothing for them.
    *("export.max_bleu_loss=100.0", "train.learning_rate=1e-3"),
]
STAGES = ["download", "synthesize", "clean", "vocab", "tokenize", "pretrain", "train"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A place with text, to run stages in; MLflow is nowhere, which stops no stage."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://")
    Path("text").mkdir()
    for seed, side in enumerate(("source", "target")):
        Path(f"text/{side}.txt").write_text("\n".join(make_sentences(20 + seed, 220)) + "\n")
    return tmp_path


def run(*stages):
    for name in stages:
        getattr(import_module(f"pipeline.stages.{name}"), name)()


def digests(*folders):
    files = [file for folder in folders for file in sorted(Path(folder).rglob("*.*"))]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_what_is_named_is_found_or_refused(project, marian, monkeypatch):
    from pipeline.commands.import_model import import_model

    for model, revision, message in (
        ("nowhere", None, "no such folder, nor an id"),
        ("owner/name", None, "name the --revision"),
        (str(marian[0]), "main", "goes with a Hub id"),
        (str(marian[0]), None, "its README.md names no license"),
    ):
        with pytest.raises(ValueError, match=message):
            import_model(model, revision)
    assert {path.name for path in project.iterdir()} == {"text"}, "nothing half-written"

    def fetch(name, revision, allow_patterns):
        assert (name, revision) == ("owner/name", "1a2b3c")
        assert "config.json" in allow_patterns
        return str(marian[0])

    (marian[0] / "README.md").write_text("---\nlanguage: de\nlicense: cc-by-4.0\n---\n# A model\n")
    (marian[0] / "tokenizer_config.json").write_text('{"source_lang": "de", "target_lang": "en"}')
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    import_model("owner/name", "1a2b3c")
    params = Path("params.yaml").read_text()
    for line in (
        *("license: cc-by-4.0", "revision: 1a2b3c", "name: owner/name", "source_language: de"),
        *("beam_size: 6", "activation: swish", "position_encoding: sinusoidal_halves"),
    ):
        assert line in params


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_imported_model_is_a_model_as_any_other(project, make_marian):
    import torch
    from transformers import AutoTokenizer, MarianMTModel

    from pipeline.commands.import_model import import_model
    from pipeline.commands.save_marian import save_marian
    from transformer.serving.translator import Translator

    folder, theirs = make_marian(wave=-5.5, seed=2)
    import_model(str(folder), model_license="cc-by-4.0", changes=SMALL)
    imported = digests("models/checkpoint", "models/tokenizer")
    run(*STAGES)
    assert digests("models/checkpoint", "models/tokenizer") == imported, "0 epochs change nothing"
    run("evaluate", "export")
    card = json.loads(Path("models/translator/translator.json").read_text())
    assert card["base_model"] == {"name": folder.name, "revision": None, "license": "cc-by-4.0"}
    assert card["graphs"]["float32"]["passed"]
    assert "cc-by-4.0" in Path("models/translator/README.md").read_text()

    def translated(model, tokenizer, texts):
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        with torch.no_grad():
            found = model.generate(
                **batch, num_beams=3, length_penalty=0.0, max_new_tokens=20, max_length=None,
                forced_eos_token_id=None,
            )  # fmt: skip
        return [
            " ".join(text.split())
            for text in tokenizer.batch_decode(found, skip_special_tokens=True)
        ]

    texts = [" ".join(text.split()) for text in make_sentences(31, 60) if len(text) < 40]
    save_marian(project / "saved")
    saved = MarianMTModel.from_pretrained(project / "saved").eval()
    for name, value in theirs.state_dict().items():
        assert torch.equal(saved.state_dict()[name], value), name
    translator = Translator("models/translator", precision="float32")
    ours = [best.text for (best,) in translator.translate(texts)]
    expected = translated(saved, AutoTokenizer.from_pretrained(project / "saved"), texts)
    assert [" ".join(text.replace("<unk>", "").split()) for text in ours] == expected
    assert len(set(ours)) > 3
    with pytest.raises(ValueError, match="is there already"):
        save_marian(project / "saved")

    import_model(str(folder), model_license="cc-by-4.0", changes=[*SMALL, "train.max_epochs=2"])
    before = json.loads(Path("reports/train.json").read_text())["valid_loss"]
    run("train")
    assert json.loads(Path("reports/train.json").read_text())["valid_loss"] < before
    assert digests("models/checkpoint") != imported
