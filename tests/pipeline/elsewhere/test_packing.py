"""What a packed folder holds."""

import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.elsewhere.packing import pack_parts, pack_project, require_level
from pipeline.elsewhere.record import hash_files
from pipeline.experiments.forecast import Forecast, StageStatus


def shell(command: str, folder: Path) -> None:
    subprocess.run(command, shell=True, cwd=folder, check=True)


def data_of(folder: Path) -> Mapping[str, str]:
    return hash_files([Path("data"), Path("models"), Path("params.yaml")], folder)


def test_it_holds_params_and_the_data_that_is_read(home, tmp_path):
    pack_project(home, tmp_path / "box")
    there, here = data_of(tmp_path / "box"), data_of(home)
    assert there.items() <= here.items()
    assert here.keys() - there.keys() == {
        "data/raw/train.parquet",
        "models/pretrained/manifest.json",
    }


def test_it_holds_the_weights_that_training_begins_with(home, tmp_path):
    text = (home / "params.yaml").read_text()
    changed = text.replace("initialize_from: null", "initialize_from: pretrained")
    (home / "params.yaml").write_text(changed)
    pack_project(home, tmp_path / "box")
    assert (tmp_path / "box/models/pretrained/manifest.json").exists()


def test_it_holds_the_code_that_runs(home, tmp_path):
    pack_project(home, tmp_path / "box")
    root = Path(__file__).parents[3]
    code = [Path("pipeline"), Path("transformer"), Path("dvc.yaml")]
    assert hash_files(code, tmp_path / "box") == hash_files(code, root)


def test_its_hashes_cover_every_file(home, tmp_path):
    box = tmp_path / "box"
    pack_project(home, box)
    shell("sha256sum --check --quiet --strict SHA256SUMS", box)
    covered = {line.split("  ")[1] for line in (box / "SHA256SUMS").read_text().splitlines()}
    assert covered | {"SHA256SUMS"} == hash_files([Path()], box).keys()


def test_its_requirements_are_a_list_that_any_index_has(home, tmp_path):
    requirements = pack_project(home, tmp_path / "box")
    assert (tmp_path / "box/requirements.txt").read_text().splitlines() == requirements
    torch = [line for line in requirements if line.startswith("torch")]
    assert torch == ["torch>=2.11"]
    for line in set(requirements) - set(torch):
        _, version = line.split("==")
        assert "+" not in version


def test_plain_tools_join_parts_of_the_size_that_was_asked_for(home, tmp_path):
    (home / "data/ids/train.source.bin").write_bytes(random.Random(1).randbytes(5 * 2**20 // 2))
    pack_project(home, tmp_path / "whole")
    parts = tmp_path / "parts"
    pack_parts(home, parts, part_mib=1)
    sizes = [part.stat().st_size for part in sorted(parts.glob("*.tar.gz.*"))]
    assert set(sizes[:-1]) == {2**20}
    assert len(sizes) >= 3
    assert 0 < sizes[-1] <= 2**20
    shell("sha256sum --check --quiet --strict SHA256SUMS && cat project.tar.gz.* | tar xz", parts)
    assert hash_files([Path()], parts / "project") == hash_files([Path()], tmp_path / "whole")


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (["data/ids"], "data/ids missing; `dvc repro tokenize` there"),
        (["models/tokenizer"], "models/tokenizer missing; `dvc repro vocab` there"),
        (["data/raw", "data/clean"], r"data/raw/manifest.json, .* missing; `dvc repro download cl"),
    ],
)
def test_a_project_that_lacks_data_is_refused(home, tmp_path, gone, message):
    for name in gone:
        (home / name).rename(tmp_path / name.replace("/", "-"))
    with pytest.raises(ValueError, match=message):
        pack_project(home, tmp_path / "box")
    assert not (tmp_path / "box").exists()


@pytest.mark.parametrize("pack", [pack_project, lambda *paths: pack_parts(*paths, 1)])
def test_a_folder_that_holds_something_is_refused(home, tmp_path, pack):
    (tmp_path / "box").mkdir()
    (tmp_path / "box/letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="box is there already; give a folder that is new"):
        pack(home, tmp_path / "box")
    assert [file.name for file in (tmp_path / "box").iterdir()] == ["letter.txt"]


def test_stages_that_dvc_would_run_are_named():
    done = Forecast("download", StageStatus.UNCHANGED, ())
    later = Forecast("train", StageStatus.RUNS, ("it has never run",))
    require_level([done, later])
    vocab = Forecast("vocab", StageStatus.RUNS, ("models/tokenizer is missing",))
    ids = Forecast("tokenize", StageStatus.MAY_RUN, ("models/tokenizer",))
    with pytest.raises(ValueError, match="`dvc repro tokenize pretrain`") as raised:
        require_level([done, vocab, ids, later])
    lines = str(raised.value).splitlines()[1:]
    assert lines == [
        "  vocab runs: models/tokenizer is missing",
        "  tokenize may run: models/tokenizer",
    ]
