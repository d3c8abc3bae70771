"""A small whole project to break: corpora of each kind, and what every stage makes of one."""

import gzip
import json
import shutil
import sys
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness.environment import ROOT
from benchmarks.robustness.child import Ended, Process, pipeline_command
from pipeline.recipes import load_recipe, make_params
from pipeline.repository import output_paths
from transformer.files import sha256_file

STAGES = (
    *("download", "synthesize", "clean", "vocab", "tokenize"),
    *("pretrain", "train", "evaluate", "export"),
)
# What each stage reads, besides its params.
READS = {
    "download": ("corpora",),
    "synthesize": ("data/raw",),
    "clean": ("data/raw", "data/synthetic"),
    "vocab": ("data/clean",),
    "tokenize": ("data/clean", "models/tokenizer"),
    "pretrain": ("data/ids", "models/tokenizer"),
    "train": ("data/ids", "models/pretrained"),
    "evaluate": ("data/raw", "data/clean", "models/checkpoint", "models/tokenizer"),
    "export": ("data/raw", "data/clean", "data/ids", "models/checkpoint", "models/tokenizer"),
}
_SPLIT = {"valid_pairs": 16, "test_pairs": 16, "seed": 1, "origin_pattern": None}
_NO_SPLIT = {"valid": None, "test": None, "split": _SPLIT}
_TABLE = {"url": None, "origin_column": None, "sha256": None, "member": None, "split": _SPLIT}
_COLUMNS = {"source_column": 1, "target_column": 2}
_HUB = {"dataset": None, "config": None, "revision": None, "train": "train"} | _NO_SPLIT
_TRAIN = {
    **{"device": "cpu", "num_threads": 1, "batch_tokens": 256, "max_steps": 12},
    "initial_embeddings": "random",
    "validate_every_steps": 4,
    "log_every_steps": 1,
    "save_every_seconds": 0.001,
    "max_epochs": 100,
    "schedule": {"kind": "constant", "warmup_steps": 2},
}
# By name: the section `corpus`, and where a file of it may be damaged.
CORPORA: dict[str, dict[str, Any]] = {
    "text": {"kind": "text", "train": {"source": "train.fr", "target": "train.en"}} | _NO_SPLIT,
    "gzip": {"kind": "text", "train": {"source": "train.fr.gz", "target": "train.en.gz"}}
    | _NO_SPLIT,
    "tabular": {"kind": "tabular", "path": "pairs.tsv"} | _TABLE | _COLUMNS,
    "tabular.gz": {"kind": "tabular", "path": "pairs.tsv.gz"} | _TABLE | _COLUMNS,
    "zip": {"kind": "tabular", "path": "pairs.zip"} | _TABLE | _COLUMNS,
    **{
        f"hub.{form}": {"kind": "hub", "translation_column": None}
        | {"source_column": "fr", "target_column": "en"}
        | _HUB
        for form in ("csv", "json", "parquet")
    },
    "phrasebook": {"kind": "phrasebook", "num_pairs": 400, "seed": 1},
}


def make_pairs(num_pairs: int, seed: int) -> list[tuple[str, str]]:
    """Different sentences of made-up words, with their word for word translations."""
    random = Random(seed)
    words = ["".join(random.choices("aeioubdlmnprst", k=random.randrange(2, 7))) for _ in range(80)]
    pairs: dict[str, str] = {}
    while len(pairs) < num_pairs:
        sentence = random.choices(words, k=random.randrange(2, 9))
        pairs[f"L’{' '.join(sentence)}."] = f"The {' '.join(word[::-1] for word in sentence)}."
    return list(pairs.items())


class Project:
    """The project's folder, from which parts are copied for each attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._modules = folder / "modules.txt"

    def build(self, stages: Iterable[str], tell: Any) -> None:
        """Writes params and corpora, and runs the stages that did not run yet."""
        if not (self.folder / "params.yaml").exists():
            self._write_corpora()
            (self.folder / "params.yaml").write_text(make_tiny_params("text"), encoding="utf-8")
        for stage in ("check", *stages):
            outputs = [self._modules] if stage == "check" else output_paths(stage)
            if not all((self.folder / path).exists() for path in outputs):
                tell(f"the small project: {stage}")
                run = partial(self._run_and_note_modules, stage)
                ended = Process(run, self.folder, is_limited=False).wait()
                if ended.outcome != "accepted":
                    raise ValueError(f"the small project's {stage} failed: {ended.errors[-2000:]}")

    @property
    def modules(self) -> list[str]:
        """What its stages imported."""
        return self._modules.read_text(encoding="utf-8").split()

    def _run_and_note_modules(self, stage: str) -> None:
        try:
            pipeline_command([stage])()
        finally:
            with self._modules.open("a", encoding="utf-8") as file:
                file.write("\n".join([*sys.modules, ""]))

    def copy(self, folder: Path, *names: str) -> None:
        """Copies files and folders of the project, and params.yaml."""
        for name in ("params.yaml", *names):
            source, target = self.folder / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)

    @cache  # noqa: B019
    def outputs(self, stage: str) -> Mapping[str, str]:
        """SHA-256 of every file that the stage wrote, undisturbed."""
        return hash_outputs(self.folder, stage)

    @cache  # noqa: B019
    def corpus_outputs(self, kind: str) -> Mapping[str, str]:
        """The same of `download` on a corpus of each kind."""
        folder = self.folder / "downloads" / kind
        if not folder.exists():
            self.copy(folder, f"corpora/{kind}")
            (folder / "params.yaml").write_text(make_tiny_params(kind), encoding="utf-8")
            ended = download(folder)
            assert ended.outcome == "accepted", ended.errors
        return hash_outputs(folder, "download")

    def _write_corpora(self) -> None:
        pairs = make_pairs(320, seed=1)
        table = "".join(f"{source}\t{target}\n" for source, target in pairs)
        sides = {
            side: "".join(f"{text}\n" for text in texts)
            for side, texts in zip(("fr", "en"), zip(*pairs, strict=True), strict=True)
        }
        for kind in CORPORA:
            folder = self.folder / "corpora" / kind
            if kind == "phrasebook":
                shutil.copytree(ROOT / "data/phrasebook", folder)
                continue
            folder.mkdir(parents=True)
            rows = [{"fr": source, "en": target} for source, target in pairs]
            if kind == "text":
                for side, text in sides.items():
                    (folder / f"train.{side}").write_text(text, encoding="utf-8")
            elif kind == "gzip":
                for side, text in sides.items():
                    (folder / f"train.{side}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            elif kind == "tabular":
                (folder / "pairs.tsv").write_text(table, encoding="utf-8")
            elif kind == "tabular.gz":
                (folder / "pairs.tsv.gz").write_bytes(gzip.compress(table.encode(), mtime=0))
            elif kind == "zip":
                with zipfile.ZipFile(folder / "pairs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                    archive.writestr("_about.txt", "made up")
                    archive.writestr("pairs.tsv", table)
            elif kind == "hub.json":
                lines = "".join(f"{json.dumps(row)}\n" for row in rows)
                (folder / "train.json").write_text(lines, encoding="utf-8")
            elif kind == "hub.csv":
                lines = "".join(f'"{row["fr"]}","{row["en"]}"\n' for row in rows)
                (folder / "train.csv").write_text(f"fr,en\n{lines}", encoding="utf-8")
            else:
                import pyarrow as pa
                import pyarrow.parquet as pq

                pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")


def download(folder: Path) -> Ended:
    """Runs `download` there; the library `datasets` keeps its cache there too."""

    def run() -> None:
        import datasets

        datasets.config.HF_DATASETS_CACHE = str(folder / ".cache")
        pipeline_command(["download"])()

    return Process(run, folder).wait()


def hash_outputs(folder: Path, stage: str) -> dict[str, str]:
    """SHA-256 of every file that a stage wrote, by its path."""
    found = {}
    for path in output_paths(stage):
        files = (folder / path).rglob("*") if (folder / path).is_dir() else [folder / path]
        for file in files:
            if file.is_file():
                found[file.relative_to(folder).as_posix()] = sha256_file(file)
    return found


def corpus_section(kind: str) -> dict[str, Any]:
    """The section `corpus` of a kind."""
    about = {"name": "tiny", "source_language": "fr", "target_language": "en", "license": "CC0-1.0"}
    section = CORPORA[kind]
    path = f"corpora/{kind}/{section['path']}" if "path" in section else f"corpora/{kind}"
    return about | section | {"path": path}


@cache
def make_tiny_params(kind: str) -> str:
    """The text of params.yaml, with a corpus of that kind."""
    word = {"kind": "word", "boundary": "sign", "size": 200, "min_frequency": 1}
    pretrain = {"kind": "masked", "mask_probability": 0.15, "next_sentence": False}
    pretrain |= {"dupe_factor": 1, "seed": 1, "text": {"source": None, "target": None}}
    train = load_recipe("phrasebook")["train"] | _TRAIN
    changes = {
        "corpus": corpus_section(kind),
        "vocab": {"joint": word, "source": None, "target": None},
        "tokenize.max_tokens": 40,
        **{f"model.num_{side}_layers": 1 for side in ("encoder", "decoder")},
        **{"model.d_model": 16, "model.num_heads": 2, "model.d_ff": 32, "model.max_positions": 48},
        "pretrain": pretrain | {"train": train},
        "train": train | {"initialize_from": "pretrained"},
        "search.beam_size": 2,
        **{"evaluate.num_bootstrap": 40, "evaluate.num_attention_plots": 1},
        # What a model that learned nothing scores is no matter here.
        "export.max_bleu_loss": 100.0,
        "export.shortlist": {"num_frequent": 20, "num_per_token": 4},
    }
    return make_params("phrasebook", [f"{key}={json.dumps(one)}" for key, one in changes.items()])
