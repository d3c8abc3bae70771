"""The stage `evaluate`, on an untrained model and a handful of sentences."""

import csv
import json

import pytest
import torch

from transformer.model.checkpoint import model_hash

SOURCES = ["un chat dort .", "", "le chien " * 30 + ".", "Un  chat\u00a0dort !"]
REFERENCES = ["A cat sleeps.", "", "The dog.", "A cat  sleeps!"]
PARAMS = """
clean:
  source: {lowercase: false, strip_punctuation: false, fold_typography: false}
  target: {lowercase: false, strip_punctuation: false, fold_typography: false}
  single_sentence: false
  length_unit: word
  max_length: null
  max_length_ratio: null
  drop_copies: false
  drop_leaks: false
  min_letter_share: null
  max_word_length: null
  max_repetitions: null
  min_digit_overlap: null
  drop_different_placeholders: false
  min_language_probability: null
  score: null
  drop_duplicates: false
  augment: null
  num_reject_samples: 0
  seed: 1
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
  sets: {}
  quality: null
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
    assert len(first) == 8


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


SETS = """{same: {kind: part, part: test}, caps: {kind: noise, noise: uppercase, seed: 1},
    typos: {kind: noise, noise: typo, seed: 1}, mine: {kind: files, source: a, target: b}}"""


def with_sets(sets=SETS, **changes):
    text = PARAMS.replace("sets: {}", f"sets: {sets}")
    for key, value in changes.items():
        text = text.replace(f"{key}: null", f"{key}: {value}")
    return text


def put_files(folder, sources=SOURCES, references=REFERENCES):
    (folder / "data/sets").mkdir(parents=True)
    for name, texts in (("a", sources), ("b", references)):
        (folder / "data/sets" / name).write_text("".join(f"{text}\n" for text in texts))


@pytest.mark.parametrize("num_sentences", ["null", "3"])
def test_the_test_part_as_a_set_has_the_test_sets_own_figures(project, tmp_path, num_sentences):
    put_files(tmp_path)
    (tmp_path / "params.yaml").write_text(with_sets(num_sentences=num_sentences))
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    for name in ("same", "mine"):
        one = values["sets"][name]
        shared = set(one) & set(values)
        assert {"bleu", "chrf_low", "ter_high", "signatures", "sampled_from"} <= shared
        assert {key: one[key] for key in shared} == {key: values[key] for key in shared}
        translations = (tmp_path / f"reports/sets/{name}.csv").read_bytes()
        assert translations == (tmp_path / "reports/translations.csv").read_bytes()
    quick = "" if num_sentences == "null" else "quick_"
    metrics = json.loads((tmp_path / "reports/metrics/evaluate.json").read_text())
    assert metrics[f"{quick}same.bleu"] == metrics[f"{quick}bleu"]
    first = reports(tmp_path)
    evaluate()
    assert reports(tmp_path) == first


def test_noise_changes_every_source_that_it_can(project, tmp_path):
    put_files(tmp_path)
    (tmp_path / "params.yaml").write_text(with_sets())
    evaluate()
    tables = {}
    for name in ("same", "caps", "typos"):
        with (tmp_path / f"reports/sets/{name}.csv").open(newline="") as file:
            tables[name] = [row["source"] for row in csv.DictReader(file)]
    assert tables["caps"] == [text.upper() for text in tables["same"]]
    changed = [a != b for a, b in zip(tables["typos"], tables["same"], strict=True)]
    assert changed == [any(len(word) > 3 for word in text.split()) for text in SOURCES]
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())["sets"]
    assert (values["caps"]["num_changed"], values["typos"]["num_changed"]) == (3, sum(changed))


def test_estimates_of_quality_are_a_column_with_a_mean_of_each_set(project, tmp_path):
    (tmp_path / "count.sh").write_text("tee read.tsv | awk -F '\\t' '{print length($2)}'\n")
    quality = "{name: length, command: sh count.sh}"
    sets = "{same: {kind: part, part: test}}"
    (tmp_path / "params.yaml").write_text(with_sets(sets, quality=quality))
    evaluate()
    values = json.loads((tmp_path / "reports/evaluate.json").read_text())
    with (tmp_path / "reports/translations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    # The untrained model may write letters of several bytes, which some awks count one by one.
    for row in rows:
        text = row["translation"]
        assert float(row["length"]) in (len(text), len(text.encode()))
    mean = sum(float(row["length"]) for row in rows) / len(rows)
    assert values["length"] == values["sets"]["same"]["length"] == pytest.approx(mean, abs=1e-4)
    assert values["length_low"] <= values["length"] <= values["length_high"]
    assert len((tmp_path / "read.tsv").read_text().splitlines()) == 2 * len(rows)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ("{x: {kind: files, source: a, target: none}}", r"evaluate.sets.x.target = 'none': there"),
        ("{x: {kind: files, source: a, target: c}}", r"have 4 and 1 lines; line n of one"),
        ("{x: {kind: sacrebleu, name: wmt1}}", r"x.name = 'wmt1': sacreBLEU has no .* you mean"),
        ("{x: {kind: sacrebleu, name: wmt19/dev}}", r"has it in .*, but the corpus is fr-en"),
    ],
)
def test_a_set_that_cannot_be_had_is_refused(project, tmp_path, sets, message):
    put_files(tmp_path)
    (tmp_path / "data/sets/c").write_text("one line\n")
    (tmp_path / "params.yaml").write_text(with_sets(sets))
    with pytest.raises(ValueError, match=message):
        evaluate()
