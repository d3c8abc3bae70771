"""A model of this project is trained on: its tokenizer and shape are kept."""

import json
import random
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from pipeline.commands.import_model import import_model
from pipeline.recipes import make_params
from tests.marian.test_import import digests
from transformer.text.vocab_config import BpeSpec
from transformer.text.vocabulary import fit_tokenizer

WORDS = ("chat", "chien", "dort", "mange", "petit", "grand", "le", "un", "rouge", "Paul")
SMALL = [
    *("corpus.path=text", "evaluate.num_bootstrap=40", "train.batch_tokens=256"),
    *("train.schedule.warmup_steps=1", "train.max_steps=null"),
]
SHAPE = {
    "num_encoder_layers": 1, "num_decoder_layers": 1, "d_model": 16, "num_heads": 2, "d_ff": 24,
    "max_positions": 64,
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Where the model is trained on, with text of its own; MLflow is nowhere."""
    folder = tmp_path / "here"
    (folder / "text").mkdir(parents=True)
    draw = random.Random(3)
    lines = {" ".join(draw.choices(WORDS, k=draw.randint(2, 6))) for _ in range(260)}
    for side, change in (("source", str), ("target", str.upper)):
        (folder / f"text/{side}.txt").write_text("\n".join(map(change, sorted(lines))) + "\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://")
    return folder


@pytest.fixture
def make_origin(tmp_path, model_maker):
    """Another project, with a model that was trained there."""

    def make(joint=True):
        from transformer.model.checkpoint import CheckpointInfo, save_checkpoint
        from transformer.text.tokenizer import TokenizerPair

        folder = tmp_path / "origin"
        (folder / "models").mkdir(parents=True)
        spec = BpeSpec(kind="bpe", size=300, min_frequency=1, mark_case=True)
        tokenizer = fit_tokenizer(spec, [" ".join(WORDS)] * 3)
        other = tokenizer if joint else fit_tokenizer(spec, [" ".join(WORDS).upper()] * 3)
        pair = TokenizerPair(tokenizer, other)
        ties = "all" if joint else "output"
        sizes = tokenizer.size, other.size
        model = model_maker(0, *sizes, **SHAPE, tie_embeddings=ties)
        info = CheckpointInfo(model.config, *sizes, tokenizer.special, other.special, pair.sha256)
        save_checkpoint(folder / "models/checkpoint", model, info)
        pair.save(folder / "models/tokenizer")
        changes = ["corpus.license=CC0-1.0", "search.beam_size=3", "clean.source.lowercase=true"]
        changes += [
            "tokenize.max_tokens=60",
            *(f"model.{key}={value}" for key, value in SHAPE.items()),
        ]
        (folder / "params.yaml").write_text(make_params("phrasebook", changes))
        return folder

    return make


def run(*stages):
    for name in stages:
        getattr(import_module(f"pipeline.stages.{name}"), name)()


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.filterwarnings("ignore:MLflow")
def test_shape_tokenizer_and_search_are_kept_and_training_goes_on(here, make_origin, joint):
    origin = make_origin(joint)
    import_model(str(origin), changes=[*SMALL, "train.max_epochs=0"])
    for line in ("beam_size: 3", "name: origin", "license: CC0-1.0", "source_language: fr"):
        assert line in Path("params.yaml").read_text()
    before = digests("models/checkpoint", "models/tokenizer")
    assert before == {
        name.removeprefix(f"{origin}/"): digest
        for name, digest in digests(
            origin / "models/checkpoint", origin / "models/tokenizer"
        ).items()
    }
    stages = "download", "synthesize", "clean", "vocab", "tokenize", "pretrain", "train"
    run(*stages)
    assert digests("models/checkpoint", "models/tokenizer") == before
    started_at = json.loads(Path("reports/train.json").read_text())["valid_loss"]
    import_model(str(origin), changes=[*SMALL, "train.learning_rate=0.01"])
    run("train")
    assert json.loads(Path("reports/train.json").read_text())["valid_loss"] < started_at


def test_the_licenses_of_a_corpus_of_several_go_with_the_model(here, make_origin):
    origin = make_origin()
    part = "kind: text, license: {}, path: {}, valid: null, test: null, weight: 1, "
    part += "train: {{source: a, target: b}}"
    parts = f"{{mine: {{{part.format('my own', 'x')}}}, all: {{{part.format('MIT', 'y')}}}}}"
    corpus = (
        "corpus={kind: mixed, name: m, source_language: fr, target_language: en, path: text, "
        f"parts: {parts}, split: {{valid_pairs: 9, test_pairs: 9, seed: 1, origin_pattern: null}}}}"
    )
    (origin / "params.yaml").write_text(
        make_params("phrasebook", [corpus, "tokenize.max_tokens=60"])
    )
    import_model(str(origin), changes=SMALL)
    assert "license: 'mine: my own; all: MIT'" in Path("params.yaml").read_text()


def test_what_is_missing_or_does_not_belong_together_is_told(here, make_origin):
    origin = make_origin()
    with pytest.raises(ValueError, match="--revision goes with a Hub id"):
        import_model(str(origin), "main")
    (origin / "params.yaml").rename(origin / "aside")
    with pytest.raises(ValueError, match=r"origin: params\.yaml missing; a trained project has"):
        import_model(str(origin))
    (origin / "aside").rename(origin / "params.yaml")
    shutil.rmtree(origin / "models/tokenizer")
    spec = BpeSpec(kind="bpe", size=280, min_frequency=1, mark_case=True)
    from transformer.text.tokenizer import TokenizerPair

    other = fit_tokenizer(spec, ["autre chose"])
    TokenizerPair(other, other).save(origin / "models/tokenizer")
    with pytest.raises(ValueError, match=r"is not the tokenizer that .* was trained with"):
        import_model(str(origin))
    with pytest.raises(ValueError, match="expected models:/NAME/VERSION or models:/NAME@ALIAS"):
        import_model("models:translator")
    assert {path.name for path in here.iterdir()} == {"text"}, "nothing half-written"
