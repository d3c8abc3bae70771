"""The stage `evaluate`, on an untrained model and a handful of sentences."""

import csv
import json

import pytest
import torch

from transformer.model.checkpoint import model_hash

SOURCES = ["un chat dort .", "", "le chien " * 30 + ".", "Un  chat\u00a0dort !"]
REFERENCES = ["A cat sleeps.", "", "The dog.", "A cat  sleeps!"]
PARAMS = """
search:
  beam_size: 3
  length_penalty: 0.6
  patience: 2.0
  max_length_factor: 1.5
  max_length_extra: 5
evaluate:
  device: cpu
  batch_tokens: 1000
  num_sentences: null
  bleu_tokenizer: 13a
  num_bootstrap: 50
  length_bins: [2, 6]
  num_attention_plots: 1
"""


def fit(texts):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    from transformer.text.special_tokens import SPECIAL_TOKENS
    from transformer.text.tokenizer import Tokenizer as OurTokenizer

    fast = Tokenizer(models.BPE(unk_token="<unk>"))
    fast.pre_tokenizer = pre_tokenizers.Metaspace()
    fast.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=60, special_tokens=list(SPECIAL_TOKENS), show_progress=False
    )
    fast.train_from_iterator(texts, trainer)
    return OurTokenizer(fast.to_str())


def write_corpus(folder, pairs):
    from transformer.files import sha256_file, write_sealed
    from transformer.text.corpus import write_pairs

    write_pairs(folder / "test.parquet", pairs)
    sha256 = {"test": sha256_file(folder / "test.parquet")}
    write_sealed(folder / "manifest.json", {"sha256": sha256})
    return sha256


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder in which every earlier stage has run."""
    from transformer.model.checkpoint import CheckpointInfo, save_checkpoint
    from transformer.model.config import ModelConfig
    from transformer.model.transformer import Transformer
    from transformer.text.manifest import Manifest, write_manifest
    from transformer.text.normalize import normalize
    from transformer.text.tokenizer import TokenizerPair

    monkeypatch.chdir(tmp_path)
    tracked = []

    def track_evaluation(model_hash):
        bleu = json.loads((tmp_path / "reports/evaluate.json").read_text())["bleu"]
        tracked.append((model_hash, bleu))

    monkeypatch.setattr("pipeline.tracking.evaluation.track_evaluation", track_evaluation)
    (tmp_path / "params.yaml").write_text(PARAMS)
    raw_sha256 = write_corpus(tmp_path / "data/raw", zip(SOURCES, REFERENCES, strict=True))
    plain = {"lowercase": False, "strip_punctuation": False, "fold_typography": False}
    clean = [[normalize(text, **plain) for text in side] for side in (SOURCES, REFERENCES)]
    write_corpus(tmp_path / "data/clean", zip(*clean, strict=True))
    manifest = Manifest(
        name="toy", kind="text", origin="here", revision=None, license="CC0-1.0",
        source_language="fr", target_language="en", counts={}, num_empty={},
        sha256=raw_sha256, origin_sha256={},
    )  # fmt: skip
    write_manifest(tmp_path / "data/raw", manifest)
    tokenizers = TokenizerPair(fit(clean[0]), fit(clean[1]))
    tokenizers.save(tmp_path / "models/tokenizer")
    torch.manual_seed(0)
    config = ModelConfig(
        num_encoder_layers=1, num_decoder_layers=1, d_model=16, num_heads=2, d_ff=16, dropout=0.0,
        attention_dropout=0.0, norm="pre", norm_epsilon=1e-5,
        layer_norm_variant="standard", position_encoding="sinusoidal",
        max_positions=40, activation="relu", scale_embeddings=True, tie_embeddings="none",
        output_bias=True, embedding_dropout=None, initial_weights="xavier",
    )  # fmt: skip
    sizes = tokenizers.source.size, tokenizers.target.size
    info = CheckpointInfo(
        config, *sizes, tokenizers.source.special, tokenizers.target.special, tokenizers.sha256
    )
    save_checkpoint(tmp_path / "models/checkpoint", Transformer(config, *sizes), info)
    return tracked


def evaluate():
    from pipeline.stages.evaluate import evaluate as stage

    stage()


def reports(folder):
    return {file: file.read_bytes() for file in folder.glob("reports/**/*") if file.is_file()}


def test_every_sentence_is_translated_and_scored(project, tmp_path, capsys):
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    assert (values["num_sentences"], values["num_truncated_sources"]) == (4, 1)
    assert values["bleu_low"] <= values["bleu"] <= values["bleu_high"]
    assert "normalized_references" not in values
    metrics = json.loads((tmp_path / "reports/metrics/evaluate.json").read_text())
    assert metrics["bleu"] == pytest.approx(values["bleu"], abs=0.005)
    assert metrics["bleu_margin"] == pytest.approx(
        (values["bleu_high"] - values["bleu_low"]) / 2, abs=0.01
    )
    with (tmp_path / "reports/translations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["reference"] for row in rows] == REFERENCES
    assert rows[3]["source"] == "Un chat dort !"
    assert (rows[1]["translation"], rows[1]["score"]) == ("", "0.0")
    assert values["signatures"]["bleu"] in capsys.readouterr().out
    assert project == [(model_hash(tmp_path / "models/checkpoint"), values["bleu"])]
    pictures = list((tmp_path / "reports/attention").glob("*.png"))
    assert [picture.name for picture in pictures] == ["00000.png"]


def test_a_quick_run_scores_a_sample_under_names_of_its_own(project, tmp_path, capsys):
    (tmp_path / "params.yaml").write_text(PARAMS.replace("num_sentences: null", "num_sentences: 3"))
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    assert (values["num_sentences"], values["sampled_from"]) == (3, 4)
    metrics = json.loads((tmp_path / "reports/metrics/evaluate.json").read_text())
    assert set(metrics) == {"quick_bleu", "quick_bleu_margin", "quick_chrf", "quick_ter"}
    assert "3 of 4 sentences against raw references" in capsys.readouterr().out
    with (tmp_path / "reports/translations.csv").open(newline="") as file:
        kept = [row["reference"] for row in csv.DictReader(file)]
    assert kept == [text for text in REFERENCES if text in kept]  # in the order of the test set
    first = reports(tmp_path)
    evaluate()
    assert reports(tmp_path) == first


def test_a_sample_as_large_as_the_test_set_is_no_sample(project, tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS.replace("num_sentences: null", "num_sentences: 4"))
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    assert (values["num_sentences"], values["sampled_from"]) == (4, None)
    assert "bleu" in json.loads((tmp_path / "reports/metrics/evaluate.json").read_text())


def test_reports_repeat_byte_for_byte(project, tmp_path):
    evaluate()
    first = reports(tmp_path)
    evaluate()
    assert reports(tmp_path) == first
    assert len(first) == 7


def test_target_normalisation_gives_a_second_score(project, tmp_path):
    write_corpus(tmp_path / "data/clean", [(text, text.lower()) for text in REFERENCES])
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    assert "case:mixed" in values["normalized_references"]["signatures"]["bleu"]


def test_a_clean_test_set_of_another_length_is_refused(project, tmp_path):
    write_corpus(tmp_path / "data/clean", [("un", "a")])
    with pytest.raises(ValueError, match=r"clean/test.parquet has 1 pairs, but .* has 4"):
        evaluate()


def test_another_tokenizer_is_refused(project, tmp_path):
    from transformer.text.tokenizer import TokenizerPair

    other = fit(["x y z"])
    TokenizerPair(other, other).save(tmp_path / "models/tokenizer")
    with pytest.raises(ValueError, match="not the tokenizer that models/checkpoint was trained"):
        evaluate()
