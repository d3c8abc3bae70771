"""Tables of an evaluation read back as they were written."""

import csv
import json

from transformer.evaluation.scores import CorpusScores, LengthGroup, Score
from transformer.evaluation.tables import (
    describe_scores,
    flatten_scores,
    write_attention,
    write_length_groups,
    write_translations,
)

SCORE = Score(41.23456, 40.0, 42.5, "nrefs:1|tok:13a")
SCORES = CorpusScores(bleu=SCORE, bleu_lowercase=SCORE, chrf=SCORE, ter=SCORE)


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_scores_have_flat_names():
    values = flatten_scores(SCORES)
    assert (values["bleu"], values["bleu_low"], values["bleu_high"]) == (41.2346, 40.0, 42.5)
    assert values["signatures"]["ter"] == "nrefs:1|tok:13a"
    json.dumps(values, allow_nan=False)


def test_the_description_names_the_signature():
    lines = describe_scores(SCORES).splitlines()
    assert lines[0].split() == [
        "BLEU",
        "41.23",
        "95",
        "%",
        "in",
        "[40.00,",
        "42.50]",
        "nrefs:1|tok:13a",
    ]
    assert len(lines) == 4


def test_translations_survive_commas_quotes_and_line_breaks(tmp_path):
    path = tmp_path / "reports" / "x.csv"
    write_translations(
        path,
        sources=['dit-il, "non"', ""],
        references=["a\nb", "é"],
        translations=["x", ""],
        scores=[-0.123456, 0.0],
        sentence_chrf=[50.0, 0.0],
    )
    assert read(path) == [
        ["source", "reference", "translation", "score", "chrf"],
        ['dit-il, "non"', "a\nb", "x", "-0.1235", "50.0"],
        ["", "é", "", "0.0", "0.0"],
    ]


def test_the_last_length_group_has_no_upper_edge(tmp_path):
    groups = [LengthGroup(0, 5, 2, 70.0), LengthGroup(6, None, 1, 10.0)]
    write_length_groups(tmp_path / "x.csv", groups)
    assert read(tmp_path / "x.csv")[1:] == [["0", "5", "2", "70.0"], ["6", "", "1", "10.0"]]


def test_attention_has_a_row_per_weight(tmp_path):
    write_attention(tmp_path / "x.csv", [(7, ["a", "b"], ["x"], [[0.25, 0.75]])])
    assert read(tmp_path / "x.csv")[1:] == [
        ["7", "0", "x", "0", "a", "0.25"],
        ["7", "0", "x", "1", "b", "0.75"],
    ]
