"""A translator's card is believed only as far as its files agree."""

import json
import math
import re

import pytest

from transformer.serving.card import INPUTS, OUTPUTS, load_card, seal, verify_graph


def edit(folder, change):
    """Changes the card and seals it again."""
    path = folder / "translator.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(seal(card)))


def test_a_whole_folder_loads(make_translator):
    card = load_card(make_translator())
    assert (card.source_language, card.search.beam_size, card.max_source_tokens) == ("fr", 4, 8)
    assert dict(card.normalization.source) == {
        "lowercase": True,
        "strip_punctuation": False,
        "fold_typography": True,
    }


def test_a_folder_without_a_translator_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no translator: translator.json is missing"):
        load_card(tmp_path / "nowhere")


def test_a_card_that_is_no_json_is_refused(make_translator):
    folder = make_translator()
    (folder / "translator.json").write_text("{")
    with pytest.raises(ValueError, match=r"translator.json is not JSON"):
        load_card(folder)


@pytest.mark.parametrize("found", [1, 6, 8, None, "7"])
def test_an_unknown_format_is_refused(make_translator, found):
    with pytest.raises(ValueError, match=f"format = {found!r}, but this version reads format 7"):
        load_card(make_translator(format=found))


@pytest.mark.parametrize("name", ["source.json", "target.json", "meta.json"])
def test_a_missing_file_is_refused(make_translator, name):
    folder = make_translator()
    (folder / name).unlink()
    with pytest.raises(ValueError, match=f"{name} is missing, but translator.json lists it"):
        load_card(folder)


def test_a_changed_file_is_refused(make_translator):
    folder = make_translator()
    with (folder / "source.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(ValueError, match=r"source.json is not the file .* SHA-256 differs"):
        load_card(folder)


def test_a_graph_is_held_against_its_checksum_when_it_is_wanted(make_translator):
    folder = make_translator()
    (folder / "translator.onnx").unlink()
    with (folder / "translator.int8.onnx").open("ab") as file:
        file.write(b" ")
    card = load_card(folder)
    with pytest.raises(ValueError, match=r"translator.onnx is missing, but translator.json lists"):
        verify_graph(folder, card, "float32")
    with pytest.raises(ValueError, match=r"translator.int8.onnx is not .* SHA-256 differs"):
        verify_graph(folder, card, "int8")


def test_a_graph_of_another_precision_is_not_needed(make_translator):
    folder = make_translator()
    (folder / "translator.onnx").unlink()
    path = verify_graph(folder, load_card(folder), "int8")
    assert path == folder / "translator.int8.onnx"


@pytest.mark.parametrize(
    ("precision", "reason"),
    [
        ("float16", r"holds float32, int8 alone; it was left out: BLEU is 1.00 less$"),
        ("int4", r"holds float32, int8 alone$"),
    ],
)
def test_a_precision_that_is_not_there_is_refused(make_translator, precision, reason):
    folder = make_translator()
    with pytest.raises(ValueError, match=f"precision = '{precision}': .*{reason}"):
        verify_graph(folder, load_card(folder), precision)


def test_a_default_that_is_not_there_is_refused(make_translator):
    folder = make_translator(default_precision={"cpu": "int8", "cuda": "float16"})
    with pytest.raises(ValueError, match=r"default_precision.cuda = 'float16': allowed are float"):
        load_card(folder)


def test_all_wrong_entries_are_told_at_once(make_translator):
    folder = make_translator(max_source_tokens=None, graphs={"int8": {"problems": "none"}}, more=1)
    edit(folder, lambda card: card["search"].pop("beam_size"))
    with pytest.raises(ValueError, match="4 problems") as caught:
        load_card(folder)
    assert str(caught.value).startswith(f"{folder / 'translator.json'}: 4 problems\n")
    assert str(caught.value).endswith("\nexport the translator again")
    for problem in (
        "card.search.beam_size: missing; this key is required",
        "card.max_source_tokens = None: input should be a valid integer",
        "card.graphs.int8.problems = 'none': input should be a valid list",
        "card.more = 1: unknown key; correct or remove it",
    ):
        assert f"\n  {problem}\n" in str(caught.value)


def test_a_graph_without_a_checksum_is_refused(make_translator):
    folder = make_translator()
    edit(folder, lambda card: card["files"].pop("translator.onnx"))
    with pytest.raises(ValueError, match=r"must list the graph 'translator.onnx'"):
        load_card(folder)


def test_a_file_outside_the_folder_is_refused(make_translator):
    folder = make_translator()
    edit(folder, lambda card: card["files"].update({"../secret": "0" * 64}))
    with pytest.raises(ValueError, match="must be a plain name"):
        load_card(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"beam_size": 4', '"beam_size": 5'),
        ('"license": "CC0-1.0"', '"license": "MIT"'),
        ('"max_source_tokens": 8', '"max_source_tokens": 8.0'),
        ('"shortlist": null', '"shortlist": null, "more": 1'),
        ('"format": 7', '"format": 7, "sha256": "0"'),
    ],
)
def test_a_card_that_was_edited_is_refused(make_translator, old, new):
    path = make_translator() / "translator.json"
    text = path.read_text()
    assert text.count(old) == 1
    seals = re.findall(r', "sha256": "[0-9a-f]{64}"}$', text)
    text = text.removesuffix(seals[0]) + "}" if '"sha256": "0"' in new else text
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=r"was changed after the export .* export again"):
        load_card(path.parent)


def test_white_space_and_order_are_no_edits(make_translator):
    folder = make_translator()
    card = json.loads((folder / "translator.json").read_text())
    (folder / "translator.json").write_text(json.dumps(dict(reversed(card.items())), indent=7))
    assert load_card(folder).source_language == "fr"


def test_the_outermost_values_are_taken(make_translator):
    folder = make_translator(interface={"opset": 100}, search={"length_penalty": 5.0})
    edit(folder, lambda card: card.update(shortlist={"num_frequent": 1, "num_per_token": 2}))
    card = load_card(folder)
    assert (card.interface.opset, card.shortlist.num_per_token) == (100, 2)


ONE_MORE, ONE_LESS = [*INPUTS, "temperature"], list(INPUTS[1:])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("interface.inputs", ONE_MORE, r"card.interface: inputs = .*: missing none, unknown temp"),
        (
            "interface.inputs",
            ONE_LESS,
            r"inputs = .*: missing source, unknown none",
        ),
        ("interface.outputs", [*OUTPUTS, "scores"], r"outputs = .*: each of|must stand once"),
        ("interface.opset", 0, r"card.interface.opset = 0: .*greater than or equal to 1"),
        ("interface.opset", 101, r"card.interface.opset = 101: .*less than or equal to 100"),
        ("source_language", "French", r"card.source_language = 'French'"),
        ("max_source_tokens", -1, r"card.max_source_tokens = -1"),
        ("max_target_tokens", 10**30, r"card.max_target_tokens: 10+: beyond 64 bits"),
        ("num_test_sentences", 0, r"card.num_test_sentences = 0"),
        ("search.length_penalty", 1e39, r"card.search.length_penalty = 1e\+39"),
        ("search.beam_size", 0, r"card.search.beam_size = 0"),
        ("graphs.int8.bleu", 101.0, r"card.graphs.int8.bleu = 101.0"),
        ("graphs.int8.bleu_loss", -101.0, r"card.graphs.int8.bleu_loss = -101.0"),
        ("graphs.int8.identical_share", 1.5, r"card.graphs.int8.identical_share = 1.5"),
        ("graphs.int8.max_logit_difference", math.nan, r"max_logit_difference = nan.*finite"),
        ("graphs.int8.size_bytes", 0, r"card.graphs.int8.size_bytes = 0"),
        ("graphs.int8.passed", False, r"card.graphs.int8: passed = False, file = 'translator.int8"),
        ("graphs.float16.problems", [], r"card.graphs.float16: passed = False, file = None"),
        ("graphs.int4", {}, r"card.graphs.int4.* = 'int4'|card.graphs.int4"),
        ("default_precision.tpu", "int8", r"card.default_precision.tpu = 'int8': unknown key"),
        ("model.config.d_model", 3, r"card.model.config: num_heads = 2 must divide d_model = 3"),
        ("model.source_vocab_size", 0, r"card.model.source_vocab_size = 0"),
        ("model.target_vocab_size", 2, r"special_ids.target = \(0, 1, 2, 3\): not all in .* of 2"),
        ("special_ids.source.pad_id", -1, r"special_ids.source = \(-1, 1, 2, 3\): not all in"),
        ("model_hash", "abc", r"card.model_hash = 'abc': .*pattern"),
        ("files.words", "abc", r"card.files.words = 'abc'"),
        ("shortlist", {"num_frequent": 0, "num_per_token": 2}, r"card.shortlist.num_frequent = 0"),
        ("shortlist", {"num_frequent": 1, "num_per_token": 1}, r"num_per_token = 1"),
        ("corpus.sha256", {"train": 3}, r"card.corpus.sha256.train = 3"),
    ],
)
def test_nonsense_under_a_right_seal_is_told(make_translator, path, value, message):
    folder = make_translator()
    *outer, last = path.split(".")

    def change(card):
        for part in outer:
            card = card[part]
        card[last] = value

    edit(folder, change)
    with pytest.raises(ValueError, match=message):
        load_card(folder)
