"""The section `vocab`: what is refused, in which words."""

import re
from typing import Any

import pytest

from transformer.config import parse_section
from transformer.text.vocab_config import VocabConfig

BPE = {"kind": "bpe", "size": 1000, "min_frequency": 2, "mark_case": False}
WORD = {"kind": "word", "boundary": "sign", "size": 100, "min_frequency": 1}
HUB = {"kind": "pretrained", "name": "bert-base-cased", "revision": None}


def problems(**values: Any) -> str:
    given = {"joint": None, "source": None, "target": None, "max_sentences": None} | values
    return "\n".join(parse_section(VocabConfig, "vocab", given)[1])


@pytest.mark.parametrize(
    "values",
    [{"joint": BPE}, {"joint": BPE | {"size": 260}}, {"source": WORD, "target": HUB}],
)
def test_joint_alone_or_one_per_side(values: dict[str, Any]) -> None:
    assert problems(**values) == ""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"joint = null, source = null, target = null: allowed are joint alone"),
        ({"source": BPE}, r"joint = null, source = bpe, target = null: allowed are"),
        ({"joint": BPE, "target": WORD}, r"joint = bpe, source = null, target = word: allowed"),
        ({"joint": BPE, "source": BPE, "target": BPE}, r"joint = bpe, source = bpe, target = bpe"),
        ({"joint": BPE | {"size": 259}}, r"vocab\.joint\.size = 259.*260"),
        ({"joint": WORD | {"size": 4}}, r"vocab\.joint\.size = 4"),
        ({"joint": BPE, "max_sentences": 0}, r"vocab\.max_sentences = 0"),
        ({"joint": {"kind": "wordpiece"}}, r"vocab\.joint\.kind = 'wordpiece': allowed are"),
        ({"joint": HUB | {"name": "a/t.json", "revision": "v1"}}, r"revision = 'v1' goes with a"),
    ],
)
def test_what_can_not_be_is_refused(values: dict[str, Any], message: str) -> None:
    assert re.search(message, problems(**values)), problems(**values)
