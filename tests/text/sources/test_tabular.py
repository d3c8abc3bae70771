"""Tab-separated corpora: plain, gzipped, zipped, by URL."""

import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from transformer.text.corpus import Pair
from transformer.text.corpus_config import SplitConfig, TabularCorpus
from transformer.text.sources.tabular import open_tabular

TEXT = "Go.\tVa !\tCC-BY 2.0 #1\nHi.\tSalut !\tCC-BY 2.0 #2\n"
PAIRS = [("Va !", "Go."), ("Salut !", "Hi.")]


def corpus(path: Path | str, **changes: Any) -> TabularCorpus:
    values: dict[str, Any] = {
        "kind": "tabular",
        "name": "tiny",
        "source_language": "fr",
        "target_language": "en",
        "license": "CC BY 2.0",
        "path": str(path),
        "url": None,
        "sha256": None,
        "member": None,
        "source_column": 2,
        "target_column": 1,
        "origin_column": None,
        "split": SplitConfig(valid_pairs=1, test_pairs=1, seed=0, origin_pattern=None),
    }
    return TabularCorpus(**values | changes)


def read(config: TabularCorpus) -> list[Pair]:
    with open_tabular(config) as source:
        assert list(source.parts) == ["train"]
        first, second = (list(source.parts["train"]()) for _ in range(2))
    assert first == second
    return first


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return path


def test_plain_gzipped_and_zipped_read_alike(tmp_path: Path) -> None:
    (tmp_path / "fra.tsv").write_text(TEXT)
    (tmp_path / "fra.tsv.gz").write_bytes(gzip.compress(TEXT.encode()))
    zipped(tmp_path / "fra-eng.zip", fra__txt=TEXT, _about__txt="no\ttext\nhere")
    for name in ("fra.tsv", "fra.tsv.gz", "fra-eng.zip"):
        assert read(corpus(tmp_path / name)) == PAIRS


def test_two_columns_do(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"\xef\xbb\xbfGo.\tVa !\r\nHi.\tSalut !\r\n\r\n")
    assert read(corpus(tmp_path / "x.tsv")) == PAIRS


def test_a_missing_column_is_told_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("Go.\tVa !\nHi. Salut !\n")
    with pytest.raises(
        ValueError, match=r"x\.tsv, line 2: 1 column\(s\), but column 2 is wanted .*'Hi\. Salut !'"
    ):
        read(corpus(tmp_path / "x.tsv"))


def test_bad_utf8_in_a_zip_is_told_with_member_and_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("fra.txt", b"Go.\tVa !\nHi.\t\xff\n")
    with pytest.raises(ValueError, match=r"x\.zip:fra\.txt, line 2: byte 5 .*0xff.*not UTF-8"):
        read(corpus(tmp_path / "x.zip"))


def test_an_unknown_member_is_told_with_those_there_are(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", fra__txt=TEXT, _about__txt="")
    with pytest.raises(ValueError, match=r"member = 'deu\.txt' is not in .*fra\.txt, _about\.txt"):
        read(corpus(path, member="deu.txt"))


def test_an_ambiguous_zip_asks_for_the_member(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", a__txt=TEXT, b__txt=TEXT)
    with pytest.raises(ValueError, match=r"2 of its members .*set corpus\.member to one of: a\.tx"):
        read(corpus(path))
    assert read(corpus(path, member="b.txt")) == PAIRS


def test_a_member_of_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(TEXT)
    with pytest.raises(ValueError, match=r"member = 'fra\.txt', but .*x\.tsv is not a zip"):
        read(corpus(tmp_path / "x.tsv", member="fra.txt"))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.zip: no such file"):
        read(corpus(tmp_path / "x.zip"))


def test_a_damaged_zip_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", fra__txt=TEXT)
    path.write_bytes(path.read_bytes().replace(b"Salut", b"Tulas"))
    with pytest.raises(ValueError, match=r"x\.zip:fra\.txt: can't be unzipped .*CRC"):
        read(corpus(path))


def test_a_zip_with_a_damaged_list_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", fra__txt=TEXT)
    path.write_bytes(path.read_bytes().replace(b"PK\1\2", b"PK\1\3"))
    with pytest.raises(ValueError, match=r"x\.zip: a damaged zip \(Bad magic number"):
        read(corpus(path))


def test_a_member_that_ends_too_early_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("fra.txt", TEXT * 100)
    raw = bytearray(path.read_bytes())
    raw[60:90] = bytes(30)
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"x\.zip:fra\.txt"):
        read(corpus(path))


def test_a_changed_file_is_refused_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(TEXT)
    checksum = hashlib.sha256(TEXT.encode()).hexdigest()
    with open_tabular(corpus(path, sha256=checksum)) as source:
        assert source.sha256 == {"x.tsv": checksum}
    path.write_text(TEXT + "Run!\tCours !\n")
    with pytest.raises(ValueError, match=f"has SHA-256 .*but corpus.sha256 = {checksum}"):
        read(corpus(path, sha256=checksum))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if self.headers["User-Agent"].startswith("Python-urllib"):
                self.send_error(406)
            else:
                super().do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_zip_by_url_reads_as_the_local_one(tmp_path: Path, site: str) -> None:
    zipped(tmp_path / "fra-eng.zip", fra__txt=TEXT, _about__txt="")
    url = f"{site}/fra-eng.zip"
    config = corpus("README.md", url=url)
    assert read(config) == PAIRS
    with open_tabular(config) as source:
        assert source.origin == url
        assert list(source.sha256) == ["fra-eng.zip"]


def test_a_url_that_is_not_there_says_what_to_do(site: str) -> None:
    with pytest.raises(ValueError, match=r"nothing\.zip can't be fetched: .*404.*corpus\.url to n"):
        read(corpus("README.md", url=f"{site}/nothing.zip"))


def test_plain_http_needs_a_checksum() -> None:
    url = "http://example.org/x.tsv?token=abc"
    with pytest.raises(ValueError, match=r"token=\*\*\*: what comes by http can be changed"):
        corpus("README.md", url=url)
    assert corpus("README.md", url=url, sha256="0" * 64).url == url
    assert corpus("README.md", url=url.replace("http:", "https:")).sha256 is None


def test_https_that_leads_to_http_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answer(io.BytesIO):
        url = "http://mirror.example.org/x.tsv"

    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer(TEXT.encode()))
    with pytest.raises(ValueError, match=r"leads to http://mirror.* can be changed on its way"):
        read(corpus("README.md", url="https://example.org/x.tsv"))


def test_a_download_that_ends_too_early_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answer(io.BytesIO):
        url = "https://example.org/x.tsv"
        headers: ClassVar = {"Content-Length": str(len(TEXT) + 5)}

    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Answer(TEXT.encode()))
    with pytest.raises(ValueError, match=rf"{len(TEXT)} of {len(TEXT) + 5} bytes arrived"):
        read(corpus("README.md", url="https://example.org/x.tsv"))


def test_a_column_tells_where_a_pair_came_from(tmp_path: Path) -> None:
    (tmp_path / "fra.tsv").write_text(TEXT)
    with open_tabular(corpus(tmp_path / "fra.tsv", origin_column=3)) as source:
        found = list(source.parts["train"]())
    assert source.has_origins
    assert found == [("Va !", "Go.", "CC-BY 2.0 #1"), ("Salut !", "Hi.", "CC-BY 2.0 #2")]
    with (
        open_tabular(corpus(tmp_path / "fra.tsv", origin_column=4)) as source,
        pytest.raises(ValueError, match=r"line 1: 3 column\(s\), but column 4.*origin_column = 4"),
    ):
        list(source.parts["train"]())
