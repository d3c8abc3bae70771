"""The share of mutants that the tests notice: `python -m tools.mutation`.

A mutant is the code with one operator, number, condition, loop, decorator or caught exception
changed (cosmic-ray's operators). Places are drawn at random by a seed, and at each one of the
changes that are possible there. A mutant is noticed if one of the quick tests that reach its line
fails, or doesn't end. All mutants meet the nearest of them first; those that survive meet the rest.

Works on the commit that is checked out, in a clone for each core, and goes on where it stopped;
where tests alone have changed since, only the survivors meet those.
"""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import hypothesis
import psutil
import pytest
import typer
from hypothesis import HealthCheck

from tools.mutation.child import MEMORY_BYTES
from tools.mutation.mutants import Mutant, draw_mutants
from tools.mutation.reach import Reach, choose_tests, digest_of, file_of, read_reach
from tools.mutation.trial import try_mutant

ROOT = Path(__file__).parents[2]
SUBJECTS = tuple(
    f"transformer/{name}" for name in ("model", "search", "training", "text", "serving")
)
# In the forked processes they are there already. None of this project's, which are mutated.
_PRELOADED = (
    *("torch", "torch.onnx", "torch._dynamo", "onnx", "onnxscript", "onnxruntime", "numpy"),
    *("pydantic", "tokenizers", "hypothesis", "pyarrow.parquet", "sacrebleu", "ruamel.yaml"),
    *("safetensors.torch", "torch.distributed.tensor", "typer.testing"),
)


def main(
    num_mutants: Annotated[int, typer.Option(min=1, help="How many are drawn.")] = 400,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 1,
) -> None:
    """Tells which of the mutants that a seed gives the tests notice, and which they don't."""

    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()

    commit = git("rev-parse", "HEAD")
    # What was found holds for the code as it is, whatever becomes of its tests.
    code = git("rev-parse", f"HEAD:{SUBJECTS[0].partition('/')[0]}")
    work = ROOT / ".state" / "mutation" / code[:12]
    clones = [work / f"clone-{number}" for number in range(_count_workers())]
    for clone in clones:
        _check_out(commit, clone)
    os.chdir(clones[0])
    os.environ["OMP_NUM_THREADS"] = "1"
    # Compiling packages anew in each process takes longer than most tests.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    drawn = work / f"drawn-{seed}-{num_mutants}.json"
    if not drawn.exists():
        new = [one._asdict() for one in islice(draw_mutants(Path(), SUBJECTS, seed), num_mutants)]
        drawn.with_suffix(".tmp").write_text(json.dumps(new))
        drawn.with_suffix(".tmp").rename(drawn)
    mutants = [Mutant(**one) for one in json.loads(drawn.read_text())]
    for module in _PRELOADED:
        import_module(module)
    with redirect_stdout(StringIO()):
        pytest.main(["--version"])  # its plugins too
    # The same examples each time, however long they take to make.
    hypothesis.settings.register_profile(
        "mutation", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    hypothesis.settings.load_profile("mutation")
    results_file = work / f"mutants-{seed}.jsonl"

    # Not the tests of this program, which would run it.
    tests = {file.as_posix() for file in Path("tests").rglob("test_*.py")}
    files = sorted(file for file in tests if not file.startswith("tests/tools/"))
    rooms = tuple(f"{Path('tests', *Path(subject).parts[1:])}/" for subject in SUBJECTS)
    for is_last in (False, True):
        chosen = [file for file in files if is_last or file.startswith(rooms)]

        def record(worker: int) -> None:
            read_reach(clones[worker], SUBJECTS, chosen[worker :: len(clones)], work / "reach")  # noqa: B023

        _in_clones(clones, record)
        reach = read_reach(clones[0], SUBJECTS, chosen, work / "reach")

        def try_share(worker: int) -> None:
            results = _read_results(results_file)
            for number, mutant in list(enumerate(mutants, start=1))[worker :: len(clones)]:
                known, clone = results.get(mutant.name), clones[worker]
                found = _try_further(clone, mutant, known, reach, is_whole=is_last)  # noqa: B023
                if found is None:
                    continue
                with results_file.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                told = f"{found['outcome']}  {mutant.name}  {found['by']}"
                typer.echo(f"{number} of {num_mutants}  {told}")

        _in_clones(clones, try_share)
        results = _read_results(results_file)
        _tell([results[mutant.name] for mutant in mutants], seed, commit)


def _count_workers() -> int:
    # Each on a core, and with the memory that it may take.
    return max(1, min(os.cpu_count() or 1, int(psutil.virtual_memory().total // MEMORY_BYTES)))


def _in_clones(clones: Sequence[Path], work: Callable[[int], None]) -> None:
    """Lets a process in each clone do its share."""

    def run(worker: int) -> None:
        os.chdir(clones[worker])
        sys.path.insert(0, str(clones[worker]))
        os.environ["PYTHONPATH"] = str(clones[worker])
        work(worker)

    fork = multiprocessing.get_context("fork")
    workers = [fork.Process(target=run, args=(number,)) for number in range(len(clones))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("A worker failed; what was found is kept, and the same command goes on")


def _read_results(file: Path) -> dict[str, dict[str, Any]]:
    text = file.read_text() if file.exists() else ""
    return {one["mutant"]: one for one in map(json.loads, text.splitlines())}


def _try_further(
    clone: Path, mutant: Mutant, known: dict[str, Any] | None, reach: Reach, *, is_whole: bool
) -> dict[str, Any] | None:
    """What comes of the tests that a mutant hasn't met; None if there are none, or it was noticed.

    Args:
        known: what came of others.
        is_whole: all that reach it, not the nearest alone.
    """
    if known and known["outcome"] != "survived":
        return None
    batches = choose_tests(mutant, reach)[: None if is_whole else 2]
    labels = {test: f"{digest_of(file_of(test))} {test}" for test in chain(*batches)}
    met = set(known["met"]) if known else set()
    left = [[test for test in tests if labels[test] not in met] for tests in batches]
    if known and not any(left):
        return None
    started = time.monotonic()
    outcome, by = try_mutant(clone, mutant, left, reach, clone.with_suffix(".log"))
    return {
        "mutant": mutant.name,
        "outcome": outcome,
        "by": by,
        "seconds": round(time.monotonic() - started, 1),
        "change": mutant.change,
        "met": sorted({*met, *labels.values()}) if outcome == "survived" else [],
    }


def _check_out(commit: str, clone: Path) -> None:
    """Brings a clone of this repository to a commit."""
    if not clone.exists():
        clone.parent.mkdir(parents=True, exist_ok=True)
        new = clone.with_suffix(".tmp")
        shutil.rmtree(new, ignore_errors=True)
        command = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(new)]
        subprocess.run(command, check=True)
        new.rename(clone)
    for command in (["fetch", "--quiet", "origin", commit], ["checkout", "--quiet", "-f", commit]):
        subprocess.run(["git", *command], cwd=clone, check=True)


def _tell(results: Sequence[dict[str, Any]], seed: int, commit: str) -> None:
    """Prints the survivors, and how many mutants were noticed in each room."""
    survivors = [one for one in results if one["outcome"] == "survived"]
    for one in survivors:
        header = f"survived {len(one['met'])} tests: {one['mutant']}"
        typer.echo("\n".join(["", header, *one["change"]]))
    counts = Counter(one["mutant"].split("/")[1] for one in results)
    missed = Counter(one["mutant"].split("/")[1] for one in survivors)
    typer.echo("")
    for subject in sorted(counts):
        typer.echo(f"{subject:10} {counts[subject] - missed[subject]:4} of {counts[subject]}")
    noticed = len(results) - len(survivors)
    share = f"{noticed} of {len(results)} mutants noticed ({noticed / len(results):.1%})"
    typer.echo(f"{share}, seed {seed}, commit {commit[:7]}")


if __name__ == "__main__":
    typer.run(main)
