"""A mutant among the tests that reach it."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.mutation.child import in_child
from tools.mutation.mutants import Mutant
from tools.mutation.reach import PASSED, Reach, file_of

# Of the processor, beside twice what the tests take: what they share with others, such as an
# exported translator, may have been made in another's time.
_CPU_SECONDS = 60


class _Chooser:
    """Keeps the given tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: number for number, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = (item for item in items if item.nodeid in self.order)
        items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])


def run_tests(tests: Sequence[str], reach: Reach, log: Path) -> int | None:
    """Runs tests in a process of their own until one fails; returns as `in_child`."""

    def run() -> int:
        # Else a change that keeps size and second would run what was compiled before it.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        files = sorted({file_of(test) for test in tests})
        arguments = ["-x", "-p", "no:cacheprovider", "--tb=short", *files]
        return int(pytest.main(arguments, plugins=[_Chooser(tests)]))

    return in_child(run, log, _CPU_SECONDS + 2 * int(sum(reach.seconds[one] for one in tests)))


def try_mutant(
    folder: Path, mutant: Mutant, batches: Sequence[Sequence[str]], reach: Reach, log: Path
) -> tuple[str, str]:
    """Runs tests, each batch in a process, in a folder where a module is changed meanwhile.

    Returns:
        the outcome, and which test noticed it: it fails twice, the second time alone, so that a
        slow machine notices nothing.
    """
    file = folder / mutant.module
    source = file.read_text(encoding="utf-8")
    before = file.stat()
    file.write_text(mutant.source, encoding="utf-8")
    # Code that was compiled before goes by the time of its source, in whole seconds.
    os.utime(file, (before.st_atime, before.st_mtime + 60))
    left = [list(tests) for tests in batches]
    try:
        while left:
            status = run_tests(left[0], reach, log) if left[0] else pytest.ExitCode.OK
            if status in PASSED:
                left.pop(0)
                continue
            if status is None:
                return "endless", ""
            text = log.read_text(errors="replace")
            found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.M)
            failed = [one for one in left[0] if found and one == found[1]]
            if not failed or run_tests(failed, reach, log) not in PASSED:
                return "noticed", found[1] if found else f"exit status {status}"
            left[0].remove(failed[0])
    finally:
        file.write_text(source, encoding="utf-8")
        os.utime(file, (before.st_atime, before.st_mtime))
    return "survived", ""
