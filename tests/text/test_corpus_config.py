"""The section `corpus`: what is refused, in which words."""

import re
from typing import Any

import pytest

from transformer.config import parse_section
from transformer.text.corpus_config import CorpusConfig

COMMON = {
    "name": "tiny",
    "source_language": "fr",
    "target_language": "en",
    "license": "CC0",
    "path": "data",
}
SPLIT = {"valid_pairs": 1, "test_pairs": 1, "seed": 0, "origin_pattern": None}
FILES = {"source": "a.fr", "target": "a.en"}
VALID: dict[str, dict[str, Any]] = {
    "phrasebook": COMMON | {"kind": "phrasebook", "num_pairs": 10, "seed": 0},
    "text": COMMON | {"kind": "text", "train": FILES, "valid": FILES, "test": FILES, "split": None},
    "tabular": COMMON
    | {
        "kind": "tabular",
        "url": None,
        "sha256": None,
        "member": None,
        "source_column": 2,
        "target_column": 1,
        "origin_column": None,
        "split": SPLIT,
    },
    "hub": COMMON
    | {
        "kind": "hub",
        "dataset": "owner/name",
        "config": None,
        "revision": "main",
        "train": "train[:100]",
        "valid": "validation",
        "test": "test",
        "translation_column": "translation",
        "source_column": "fr",
        "target_column": "en",
        "split": None,
    },
}
PART: dict[str, Any] = {"license": "MIT", "weight": 2.0, "path": "a"}
VALID["localization"] = COMMON | {
    "kind": "localization",
    "files": "**/*.po",
    "message_language": "en",
    "split": SPLIT,
}
PARTS: dict[str, Any] = {
    "memory": PART | {"kind": "localization", "files": None, "message_language": None},
    "opus": PART | {"kind": "text", "train": FILES, "valid": FILES, "test": None},
}
VALID["mixed"] = {key: value for key, value in COMMON.items() if key != "license"} | {
    "kind": "mixed",
    "parts": PARTS,
    "split": SPLIT,
}


HUB_PART = PART | {
    name: value for name, value in VALID["hub"].items() if name not in {*COMMON, "split"}
}
WEB_PART = PART | {
    name: value for name, value in VALID["tabular"].items() if name not in {*COMMON, "split"}
}
WEB_PART |= {"url": "https://example.org/x.tsv", "sha256": "0" * 64}
VALID["mixed of the web"] = VALID["mixed"] | {"parts": {"web": WEB_PART}}
VALID["mixed of the Hub"] = VALID["mixed"] | {"parts": {"hub": HUB_PART}, "split": None}
VALID["mixed of local files"] = VALID["mixed"] | {
    "parts": {"hub": HUB_PART | {"dataset": None, "revision": None}},
    "split": None,
}


def change(name: str, **changes: Any) -> dict[str, Any]:
    return PARTS | {name: PARTS[name] | changes}


def problems(values: dict[str, Any]) -> str:
    return "\n".join(parse_section(CorpusConfig, "corpus", values)[1])


@pytest.mark.parametrize("kind", VALID)
def test_each_kind_is_read(kind: str) -> None:
    config, wrong = parse_section(CorpusConfig, "corpus", VALID[kind])
    assert wrong == []
    assert config is not None
    assert config.kind == kind.partition(" ")[0]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("text", {"name": ""}, r"corpus\.name = '': .* at least 1"),
        ("text", {"valid": None}, r"valid = null, but split = null too; name the part"),
        ("text", {"valid": None, "test": None}, r"valid and test = null, but split = null"),
        ("text", {"split": SPLIT}, r"neither valid nor test is missing.*set split: null"),
        ("hub", {"test": None}, r"test = null, but split = null too"),
        ("hub", {"target_column": "fr"}, r"source_column = 'fr' equals target_column = 'fr'"),
        ("hub", {"dataset": None}, r"revision = 'main' goes with a dataset on the Hub"),
        ("tabular", {"target_column": 2}, r"source_column = 2 equals target_column = 2"),
        ("tabular", {"url": "ftp://x"}, r"corpus\.url = 'ftp://x'"),
        ("tabular", {"url": "https://me:pass@h/x.tsv"}, r"https://\*\*\*@h/x\.tsv: user and passw"),
        ("tabular", {"url": "https://h:port/x"}, r"'https://h:port/x': not a URL such as"),
        ("tabular", {"url": "https://[h/x"}, r"not a URL such as"),
        ("tabular", {"url": "https:///x"}, r"not a URL such as"),
        ("tabular", {"url": "https://h/a b"}, r"not a URL such as"),
        ("tabular", {"split": None}, r"corpus\.split"),
        ("tabular", {"source_column": 0}, r"corpus\.source_column = 0"),
        ("tabular", {"split": SPLIT | {"origin_pattern": "("}}, r"pattern: '\(': no regular expr"),
        ("mixed", {"split": None}, r"test = null, but split = null too"),
        ("mixed", {"parts": {}}, r"corpus\.parts"),
        ("mixed", {"parts": {"a.b": PARTS["opus"]}}, r"corpus\.parts\.a\.b"),
        ("mixed", {"parts": change("memory", path="../x")}, r"memory\.path = '\.\./x': not below"),
        ("mixed", {"parts": change("memory", path="/x")}, r"memory\.path = '/x': not below"),
        ("mixed", {"parts": change("opus", weight=0.0)}, r"corpus\.parts\.opus\.weight = 0\.0"),
        ("mixed", {"parts": change("opus", split=SPLIT)}, r"parts\.opus\.split = .*unknown key"),
        (
            "mixed",
            {"parts": {"hub": HUB_PART | {"revision": None}}},
            r"parts\.hub.*: revision = null: a part that comes from the Hub needs it",
        ),
        (
            "mixed",
            {"parts": {"web": WEB_PART | {"sha256": None}}},
            r"parts\.web.*: sha256 = null: a part that comes by url needs it",
        ),
        ("phrasebook", {"source_language": "French"}, r"corpus\.source_language = 'French'"),
        ("phrasebook", {"num_pairs": "many"}, r"corpus\.num_pairs = 'many'"),
        ("phrasebook", {"split": SPLIT}, r"corpus\.split = .*unknown key"),
        ("phrasebook", {"kind": "csv"}, r"corpus\.kind = 'csv': allowed are"),
    ],
)
def test_what_can_not_be_is_refused(kind: str, change: dict[str, Any], message: str) -> None:
    told = problems(VALID[kind] | change)
    assert re.search(message, told), told
