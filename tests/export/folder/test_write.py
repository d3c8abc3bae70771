"""The translator's folder: whole and self-consistent, or not there."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from transformer.export.config import ExportConfig
from transformer.export.folder.write import export_translator
from transformer.export.verification.parity import TestSet
from transformer.search.corpus import decode_corpus
from transformer.search.options import SearchConfig
from transformer.serving.card import (
    Corpus,
    Normalization,
    Provenance,
    SideSpecialIds,
    load_card,
)
from transformer.serving.session import open_session
from transformer.serving.translator import Translator
from transformer.text.alignment import TABLE
from transformer.text.special_tokens import SPECIAL_TOKENS
from transformer.text.tokenizer import Tokenizer, TokenizerPair

SEARCH = SearchConfig(
    beam_size=3, length_penalty=0.6, patience=2.0, max_length_factor=1.5, max_length_extra=4
)
ALIGNMENT = np.array([[(0, 0)], [(5, 0.5)]], [("target", "<u2"), ("agreement", "<f2")])
SOURCES = ["b c d", "e", "", "f f a b", "h g f e d"]


def word_tokenizer(words):
    from tokenizers import Tokenizer as Fast
    from tokenizers import models, pre_tokenizers

    vocabulary = {word: id for id, word in enumerate([*SPECIAL_TOKENS, *words])}
    fast = Fast(models.WordLevel(vocabulary, unk_token="<unk>"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    fast.add_special_tokens(list(SPECIAL_TOKENS))
    return Tokenizer(fast.to_str())


@pytest.fixture
def tokenizers(tmp_path):
    pair = TokenizerPair(word_tokenizer("abcdefgh"), word_tokenizer("ABCDEFGHIJ"))
    pair.save(tmp_path / "tokenizer")
    return pair


@pytest.fixture
def export(tmp_path, monkeypatch, model, tokenizers, fused_graphs):
    """Exports to a folder of that name; keyword arguments replace settings."""
    monkeypatch.setattr(
        "transformer.export.folder.write.build_graphs",
        lambda *_, precisions, **__: [(name, fused_graphs[name]) for name in precisions],
    )

    told = []

    def run(name="translator", sampled_from=None, sets=None, **changes):
        settings = {
            "attention": "fused",
            "precisions": ["float32", "int8"],
            "shortlist": None,
            "max_bleu_difference": 0.1,
            "max_logit_difference": 1e-3,
            "near_tie_margin": None,
            "max_bleu_loss": 100.0,
        }
        ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
        plain = {"lowercase": False, "strip_punctuation": False, "fold_typography": False}
        test = TestSet(
            sources=encode(tokenizers),
            references=["A B C", "D", "", "E F", "G H I"],
            decode=tokenizers.target.decode,
            bleu_tokenizer="13a",
            num_bootstrap=40,
            batch_tokens=60,
            sampled_from=sampled_from,
        )
        export_translator(
            tmp_path / name,
            tmp_path / "reports",
            model,
            tokenizer_files={
                path.name: path for path in sorted((tmp_path / "tokenizer").iterdir())
            },
            words=["b", "c"],
            alignment=ALIGNMENT,
            provenance=Provenance(
                source_language="fr",
                target_language="en",
                special_ids=SideSpecialIds(source=ids, target=ids),
                normalization=Normalization(source=plain | {"lowercase": True}, target=plain),
                tokenizer_sha256=tokenizers.sha256,
                model_hash="0" * 64,
                corpus=Corpus(
                    name="toy", license="CC0-1.0", origin="here", revision=None, sha256={}
                ),
            ),
            test=test,
            sets={
                name: replace(
                    test,
                    sources=[test.sources[row] for row in rows],
                    references=[test.references[row] for row in rows],
                    sha256=name * 64,
                )
                for name, rows in (sets or {}).items()
            },
            search=SEARCH,
            config=ExportConfig(**(settings | changes)),
            tell=told.append,
        )
        return tmp_path / name

    run.told = told
    return run


def encode(tokenizers):
    return [[*ids, 3] if ids else [] for ids in tokenizers.source.encode_batch(SOURCES)]


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_folder_serves_what_pytorch_translates(export, model, tokenizers):
    translator = Translator(export(), provider="cpu", num_threads=1, precision="float32")
    found = translator.translate([text.upper() for text in SOURCES], num_best=2)
    expected = decode_corpus(
        model,
        encode(tokenizers),
        SEARCH.options(24, num_best=2),
        batch_tokens=100,
        source_pad=0,
        special=tokenizers.target.special,
    )
    for ours, theirs in zip(found, expected, strict=True):
        texts = [tokenizers.target.decode(hypothesis.ids) for hypothesis in theirs]
        assert [translation.text for translation in ours] == texts
        for left, right in zip(ours, theirs, strict=True):
            assert left.score == pytest.approx(right.score, abs=1e-5)


def test_the_folder_knows_the_words_that_it_was_given(export):
    translator = Translator(export(), provider="cpu", num_threads=1)
    assert translator.unknown_words("b c d") == ["d"]


def test_card_and_page_tell_what_is_there(export):
    folder = export()
    assert load_card(folder).normalization.source.lowercase
    card = json.loads((folder / "translator.json").read_text())
    page = (folder / "README.md").read_text()
    listed = {*card["files"], "translator.json", "README.md"}
    assert set(contents(folder)) == listed
    graphs = {"translator.onnx", "translator.int8.onnx"}
    assert graphs | {"source.json", "target.json", "meta.json", "words.txt"} <= listed
    assert (np.load(folder / TABLE) == ALIGNMENT).all()
    for told in ("toy", "CC0-1.0", "fr → en", "int8 on the CPU", *card["files"].values()):
        assert told in page
    for precision, graph in card["graphs"].items():
        assert (folder / graph["file"]).stat().st_size == graph["size_bytes"]
        assert f"| {precision} |" in page
        assert graph["signature"] == card["pytorch"]["signature"]
    assert card["default_precision"] == {"cpu": "int8", "cuda": "float32"}


def test_a_card_says_that_its_scores_are_a_samples(export, tmp_path):
    assert load_card(export()).sampled_from is None
    folder = export(sampled_from=900)
    assert load_card(folder).sampled_from == 900
    assert "## Scores on a sample of 5 of the test set's 900" in (folder / "README.md").read_text()
    report = json.loads((tmp_path / "reports" / "export.json").read_text())
    assert (report["num_sentences"], report["sampled_from"]) == (5, 900)


def test_further_sets_have_the_figures_that_they_would_have_as_the_test_set(export, tmp_path):
    def figures() -> dict:
        return json.loads((tmp_path / "reports/export.json").read_text())

    export("alone")
    alone = figures()
    export("whole", sets={"a": range(5), "b": [0, 3, 4]})
    found = figures()
    sets = found.pop("sets")
    assert found == alone  # the very file where there are no sets
    assert sets["a"] == alone | {"sha256": "a" * 64}
    assert (sets["b"]["num_sentences"], sets["b"]["sha256"]) == (3, "b" * 64)
    assert contents(tmp_path / "whole") == contents(tmp_path / "alone")


@pytest.mark.parametrize("gpu", ["cuda", "cpu"])
def test_float16_is_judged_on_cuda_where_that_works(export, monkeypatch, gpu):
    asked = []

    def fake_open(graph, provider, num_threads):
        asked.append((getattr(graph, "name", "with logits"), provider))
        session, _ = open_session(graph, "cpu", num_threads)
        return session, gpu if provider == "auto" else provider

    monkeypatch.setattr("transformer.export.folder.write.open_session", fake_open)
    folder = export(precisions=["float32", "int8", "float16"])
    assert asked == [
        ("translator.onnx", "cpu"),
        ("with logits", "cpu"),
        ("translator.int8.onnx", "cpu"),
        ("with logits", "cpu"),
        ("translator.float16.onnx", "auto"),
        ("with logits", gpu),
    ]
    card = json.loads((folder / "translator.json").read_text())
    measured = {name: graph["measured_on"] for name, graph in card["graphs"].items()}
    assert measured == {"float32": "cpu", "int8": "cpu", "float16": gpu}
    rounding = [card["graphs"][name]["max_logit_difference"] for name in ("float32", "float16")]
    assert 0 < rounding[0] < 1e-4 < rounding[1] < 0.1
    assert f"| float16 | {gpu.upper()} |" in (folder / "README.md").read_text()


def test_a_narrower_graph_that_loses_too_much_is_left_out(export, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "transformer.export.folder.write.find_problems",
        lambda parity, *_: ["far too bad"] if parity.precision == "int8" else [],
    )
    folder = export()
    assert not (folder / "translator.int8.onnx").exists()
    card = json.loads((folder / "translator.json").read_text())
    assert (card["graphs"]["int8"]["file"], card["graphs"]["int8"]["passed"]) == (None, False)
    assert "int8 was left out: far too bad." in (folder / "README.md").read_text()
    assert Translator(folder, "cpu").precision == "float32"
    with pytest.raises(ValueError, match=r"holds float32 alone; it was left out: far too bad"):
        Translator(folder, "cpu", precision="int8")
    assert json.loads((tmp_path / "reports" / "export.json").read_text())["int8_passed"] is False


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_threads_get_the_answers_that_one_gets(export, precision):
    translator = Translator(export(), "cpu", num_threads=1, precision=precision)
    few = [["b c d", "", "a"], ["h g f e d c b a"] * 7, ["e"], ["f f a b", "a a a a a a a"]]
    work = [
        (texts, {"beam_size": beam_size, "num_best": num_best, "length_penalty": penalty})
        for texts in few
        for beam_size, num_best, penalty in ((1, 1, 0.0), (3, 2, 0.6), (5, 5, 1.0))
    ]
    serial = [translator.translate(texts, **options) for texts, options in work]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            found = pool.map(lambda one: translator.translate(one[0], **one[1]), work)
            assert list(found) == serial


def test_each_longer_step_is_told(export):
    export()
    assert export.told == [
        "float32, int8: from PyTorch to ONNX",
        "PyTorch translates 5 sentences",
        "float32: onnxruntime translates them, and its answers are compared",
        "int8: onnxruntime translates them, and its answers are compared",
    ]


def test_exporting_twice_gives_the_same_files(export, tmp_path):
    first = contents(export())
    reports = contents(tmp_path / "reports")
    assert contents(export("elsewhere")) == first
    assert contents(export()) == first
    assert contents(tmp_path / "reports") == reports
    assert set(reports) == {"export.json", "differences.json", "parity.csv", "parity.png"}


def test_failed_comparison_leaves_reports_but_no_translator(export, tmp_path):
    older = export()
    with pytest.raises(ValueError, match=r"strays from PyTorch.*\n.*max_logit_difference = 0.0"):
        export(max_logit_difference=0.0)
    assert not older.exists()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["tokenizer", "reports"]
    assert json.loads((tmp_path / "reports" / "export.json").read_text())["num_sentences"] == 5
