"""A translator's card is believed only as far as its files agree."""

import json

import pytest

from transformer.serving.card import load_card, verify_graph


def edit(folder, change):
    path = folder / "translator.json"
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))


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


@pytest.mark.parametrize("found", [1, 4, 6, None, "5"])
def test_an_unknown_format_is_refused(make_translator, found):
    with pytest.raises(ValueError, match=f"format = {found!r}, but this version reads format 5"):
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
    edit(folder, lambda card: card["files"].update({"../secret": "0"}))
    with pytest.raises(ValueError, match="must be a plain name"):
        load_card(folder)
