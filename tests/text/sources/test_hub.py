"""Corpora in the form of Hugging Face datasets, from local folders in the Hub's layout."""

import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transformer.text.corpus_config import HubCorpus, SplitConfig
from transformer.text.sources.hub import open_hub

PAIRS = [("Ein Hund.", "A dog."), ("Eine Katze.", "A cat."), ("Ein Haus.", "A house.")]
SPLIT = SplitConfig(valid_pairs=1, test_pairs=1, seed=0, origin_pattern=None)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def corpus(folder: Path, **changes: Any) -> HubCorpus:
    values: dict[str, Any] = {
        "kind": "hub",
        "name": "tiny",
        "source_language": "de",
        "target_language": "en",
        "license": "CC0",
        "path": str(folder),
        "dataset": None,
        "config": None,
        "revision": None,
        "train": "train",
        "valid": None,
        "test": None,
        "translation_column": None,
        "source_column": "de",
        "target_column": "en",
        "split": SPLIT,
    }
    return HubCorpus(**values | changes)


def nested(pairs: list[tuple[str | None, str | None]]) -> pa.Table:
    return pa.table({"translation": [{"de": de, "en": en} for de, en in pairs]})


def flat(pairs: list[tuple[str, str]]) -> pa.Table:
    return pa.table({"de": [de for de, _ in pairs], "en": [en for _, en in pairs]})


def test_nested_translations_in_parquet_with_slices(folder: Path) -> None:
    for part in ("train", "validation", "test"):
        pq.write_table(nested(list(PAIRS)), folder / f"{part}-00000-of-00001.parquet")
    config = corpus(
        folder,
        train="train[:2]",
        valid="validation[2:]",
        test="test",
        translation_column="translation",
        split=None,
    )
    source = open_hub(config)
    parts = {part: list(read()) for part, read in source.parts.items()}
    assert parts == {"train": PAIRS[:2], "valid": PAIRS[2:], "test": PAIRS}
    assert list(source.parts["train"]()) == PAIRS[:2]


@pytest.mark.parametrize("form", ["parquet", "json", "csv"])
def test_flat_columns_in_each_file_form(folder: Path, form: str) -> None:
    if form == "parquet":
        pq.write_table(flat(PAIRS), folder / "train.parquet")
    elif form == "json":
        rows = [json.dumps({"de": de, "en": en}) + "\n" for de, en in PAIRS]
        (folder / "train.jsonl").write_text("".join(rows))
    else:
        rows = ["de,en\n", *(f'"{de}","{en}"\n' for de, en in PAIRS)]
        (folder / "train.csv").write_text("".join(rows))
    assert list(open_hub(corpus(folder)).parts["train"]()) == PAIRS


def test_nulls_become_empty_text(folder: Path) -> None:
    table = pa.table({"translation": [{"de": None, "en": "A dog."}, None, {"de": "Ja", "en": ""}]})
    pq.write_table(table, folder / "train.parquet")
    source = open_hub(corpus(folder, translation_column="translation"))
    assert list(source.parts["train"]()) == [("", "A dog."), ("", ""), ("Ja", "")]


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        (flat(PAIRS), {"source_column": "fr"}, r"source_column = 'fr': no such column.*'de', 'en'"),
        (
            flat(PAIRS),
            {"translation_column": "translation"},
            r"translation_column = 'translation': no such column; there are \['de', 'en'\]",
        ),
        (
            nested(list(PAIRS)),
            {"translation_column": "translation", "target_column": "fr"},
            r"target_column = 'fr': no such column; there are \['de', 'en'\]",
        ),
        (flat(PAIRS), {"translation_column": "de"}, r"'de' holds .*not a mapping"),
        (
            nested(list(PAIRS)),
            {"source_column": "translation"},
            r"source_column = 'translation' holds .*name it as corpus\.translation_column",
        ),
        (pa.table({"de": [1], "en": ["A"]}), {}, r"source_column = 'de' holds int64, not text"),
        (flat(PAIRS), {"train": "training"}, r"corpus\.train = 'training'.*Unknown split"),
        (flat(PAIRS), {"train": "train[3:]"}, r"corpus\.train = 'train\[3:\]'"),
    ],
)
def test_what_does_not_fit_is_told(
    folder: Path, table: pa.Table, changes: dict[str, Any], message: str
) -> None:
    pq.write_table(table, folder / "train.parquet")
    with pytest.raises(ValueError, match=message):
        open_hub(corpus(folder, **changes))


def test_a_damaged_file_is_told_with_the_reason(folder: Path) -> None:
    pq.write_table(flat(PAIRS), folder / "train.parquet")
    path = folder / "train.parquet"
    path.write_bytes(path.read_bytes()[:-4] + b"none")
    with pytest.raises(ValueError, match=r"corpus\.train = 'train'.*(magic bytes|not a parquet)"):
        open_hub(corpus(folder))


def test_a_missing_folder_is_not_looked_for_on_the_hub(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"corpus\.path = .*nowhere: no such folder"):
        open_hub(corpus(tmp_path / "nowhere"))


def test_the_hub_is_asked_with_id_config_revision_and_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def load(*names: str | None, **options: str) -> Any:
        asked.append((names, options))
        return datasets.Dataset.from_dict({"de": ["Ja"], "en": ["Yes"]})

    monkeypatch.setattr(datasets, "load_dataset", load)
    changes = {"dataset": "owner/name", "config": "de-en", "revision": "abc", "train": "train[:1]"}
    source = open_hub(corpus(Path("README.md"), **changes))
    assert asked == [(("owner/name", "de-en"), {"revision": "abc", "split": "train[:1]"})]
    assert (source.origin, source.revision) == ("owner/name", "abc")
    assert list(source.parts["train"]()) == [("Ja", "Yes")]


def test_without_a_network_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise ConnectionError("Couldn't reach 'owner/name' on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(ValueError, match=r"'owner/name' can't be loaded: Couldn't .*corpus\.path"):
        open_hub(corpus(Path("README.md"), dataset="owner/name"))


def test_all_splits_come_from_the_commit_that_the_manifest_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch may move between two splits; without a network it is taken by its name."""
    asked = []

    def load(name: str, config: str | None, *, revision: str | None, split: str) -> Any:
        asked.append((name, revision, split))
        return datasets.Dataset(flat(PAIRS))

    class Info:
        sha = "c" * 40

    def look_up(_: Any, name: str, *, revision: str | None, timeout: float) -> type[Info]:
        return {None: Info, "v1": Info}[revision]

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", look_up)
    for revision, expected in ((None, "c" * 40), ("v1", "c" * 40), ("gone", "gone")):
        asked.clear()
        config = corpus(
            folder, dataset="a/b", revision=revision, valid="validation", test="test", split=None
        )
        assert open_hub(config).revision == expected
        assert asked == [("a/b", expected, split) for split in ("train", "validation", "test")]
