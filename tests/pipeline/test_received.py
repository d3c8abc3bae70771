"""Whoever takes what the network gives is told what came, and when it is something else."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from pipeline.params import read_params
from pipeline.recipes import make_params
from pipeline.tracking.digests import dvc_digest

TEXT = "".join(f"Word {n}.\tMot {n}.\n" for n in range(9))


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    Path("x.tsv").write_text(TEXT)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/x.tsv?token=secret"
    server.shutdown()
    server.server_close()
    thread.join()


def download() -> str:
    from pipeline.__main__ import app

    done = CliRunner().invoke(app, ["download"])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.stderr


def write_params(url: str | None, sha256: str | None) -> None:
    parts = {"split.valid_pairs": 1, "split.test_pairs": 1, "path": "x.tsv", "member": "null"}
    values = parts | {"url": url or "null", "sha256": sha256 or "null"}
    changes = [f"corpus.{key}={value}" for key, value in values.items()]
    Path("params.yaml").write_text(make_params("anki-fr-en", changes))


def write_lock() -> None:
    """As DVC does once the stage is through."""
    corpus, made = read_params()["corpus"], dvc_digest(Path("data/raw"))
    entry = {"params": {"params.yaml": {"corpus": corpus}}}
    entry["outs"] = [{"path": "data/raw", "md5": made}]
    YAML(typ="safe").dump({"stages": {"download": entry}}, Path("dvc.lock"))


def test_an_unpinned_url_is_told_with_what_would_pin_it(url: str) -> None:
    checksum = hashlib.sha256(TEXT.encode()).hexdigest()
    write_params(url, None)
    told = download()
    assert told.startswith("warning: corpus.sha256 = null takes whatever the URL gives")
    assert checksum in told
    manifest = Path("data/raw/manifest.json").read_text()
    assert checksum in manifest
    assert "secret" not in manifest

    write_params(url, checksum)
    assert download() == ""
    write_params(None, None)  # a local file, which DVC watches
    assert download() == ""


def test_another_text_under_the_same_params_is_told(url: str) -> None:
    write_params(url, None)
    download()
    write_lock()
    assert "dvc.lock" not in download()
    Path("x.tsv").write_text(TEXT + "More.\tPlus.\n")
    assert "data/raw is not the one of dvc.lock, though the section `corpus`" in download()
    write_params(url.replace("token=secret", "x=1"), None)
    assert "dvc.lock" not in download()
