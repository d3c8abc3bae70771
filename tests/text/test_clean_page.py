"""The page of what cleaning did: every count, the examples as they came, no other file needed."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.text.test_cleaning import config, run
from transformer.text.clean_config import ScoreConfig
from transformer.text.clean_page import write_page
from transformer.text.cleaning import REJECTS, clean_corpus
from transformer.text.corpus import part_path

TRAIN = [
    ("<script>alert(1)</script>", ""),
    ("Un & <b>deux</b>", "One & <b>two</b>"),
    ("Un & deux", "Un & deux"),
    ("trois", "three"),
]


class Cells(HTMLParser):
    """The texts of a page's rows, and the names of all its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self._is_inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._is_inside = True

    def handle_endtag(self, tag: str) -> None:
        self._is_inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.rows[-1][-1] += data


def test_it_has_every_count_and_the_rejects_as_they_came(tmp_path: Path) -> None:
    score = ScoreConfig(command="awk '{print 0.25}'", min_score=None)
    settings = config(score=score, max_word_length=30)
    run(tmp_path, settings, TRAIN)
    path = part_path(tmp_path / "raw", "train")
    table = pq.read_table(path)
    names = pa.array(["web/1", "web/2", "book", "book"])
    pq.write_table(table.append_column(pa.field("origin", pa.string(), False), names), path)
    report = clean_corpus(settings, tmp_path / "raw", tmp_path / "clean")
    write_page(tmp_path / "clean.html", report, tmp_path / "clean" / REJECTS)
    page = (tmp_path / "clean.html").read_text(encoding="utf-8")
    found = Cells(page)
    assert ["kept", "", "2", "50.00%", ""] in found.rows
    assert ["empty", "", "1", "25.00%", ""] in found.rows
    assert ["long_word", "30", "0", "0.00%", ""] in found.rows
    assert ["web", "2", "50.0%", "50.0%", "0.0%"] in found.rows
    assert ["1", "web/1", "<script>alert(1)</script>", ""] in found.rows
    assert ["3", "book", "Un & deux", "Un & deux"] in found.rows
    assert ["0.25"] * 9 in found.rows
    assert not found.tags & {"script", "link", "img"}
    assert not re.search("https?:|url\\(", page)
