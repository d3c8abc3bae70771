"""Which translator answers whom."""

import shutil

import pytest

from transformer.serving.http.catalog import load_catalog
from transformer.serving.http.errors import ServiceError
from transformer.serving.http.languages import match_language, name_language


@pytest.fixture
def folders(make_translator):
    return [
        make_translator("one/fr-en", words=["un", "chat"]),
        make_translator("one/de-en", source_language="de", words=["ein", "hund"]),
        make_translator("two", source_language="zh", target_language="pt_BR"),
    ]


@pytest.fixture
def catalog(folders):
    return load_catalog([folders[0].parent, folders[2]], "cpu")


def test_a_folder_of_translators_is_taken_whole(catalog):
    assert [model.name for model in catalog.models] == ["de-en", "fr-en", "zh-pt_BR"]
    assert (catalog.sources("en"), catalog.targets()) == (["de", "fr"], ["en", "pt_BR"])


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [("fr", "en", "fr-en"), ("FR", "EN-US", "fr-en"), ("zh-Hans", "pt-br", "zh-pt_BR")],
)
def test_languages_are_known_as_clients_write_them(catalog, source, target, name):
    assert catalog.find(source, target).name == name


@pytest.mark.parametrize(
    ("source", "target", "said"), [("xx", "en", "xx"), ("fr", "xx", "xx"), ("zh", "en", "zh to en")]
)
def test_an_unknown_pair_is_refused_with_those_that_are_there(catalog, source, target, said):
    with pytest.raises(ServiceError, match=f"^{said} is not supported; .*: de-en, fr-en, zh-pt_BR"):
        catalog.find(source, target)


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [("Un chat !", "fr", 1.0), ("Ein Hund und", "de", 2 / 3), ("这是猫", "zh", 1.0)],
)
def test_a_language_is_known_by_its_words(catalog, text, language, share):
    found, *others = catalog.detect(text)
    assert found == (language, pytest.approx(share))
    assert all(other < share for _, other in others)


def test_only_languages_that_lead_to_the_target_are_guessed(catalog):
    assert [language for language, _ in catalog.detect("这是猫", "en")] == ["de", "fr"]
    with pytest.raises(ServiceError, match="xx is not supported"):
        catalog.detect("un", "xx")


def test_two_of_the_same_languages_are_refused(make_translator):
    paths = [make_translator("one"), make_translator("two")]
    with pytest.raises(ValueError, match=r"one and .*two both translate fr-en; serve one"):
        load_catalog(paths, "cpu")


def test_what_has_not_changed_stays_open(folders, catalog, make_translator):
    shutil.rmtree(folders[0])
    changed = make_translator("one/fr-en", words=["un", "chat"], num_test_sentences=8)
    again = load_catalog([changed.parent, folders[2]], "cpu", known=catalog)
    for name in ("de-en", "zh-pt_BR"):
        assert again.by_name[name] is catalog.by_name[name]
    assert again.by_name["fr-en"].version != catalog.by_name["fr-en"].version


def test_a_folder_without_a_translator_is_named(tmp_path):
    with pytest.raises(ValueError, match="holds no translator"):
        load_catalog([tmp_path], "cpu")


def test_a_region_is_guessed_where_there_is_but_one():
    assert match_language("pt", ["pt_BR"]) == "pt_BR"
    assert match_language("pt", ["pt_BR", "pt_PT"]) is None
    assert match_language("pt-pt", ["pt_BR", "pt_PT"]) == "pt_PT"


def test_names():
    assert [name_language(code) for code in ("fr", "pt_BR", "qqq")] == [
        "French",
        "Portuguese",
        "qqq",
    ]
