"""Links from the docs to lines of code: each names what stands on its line.

A link such as [`Embedding`](../transformer/model/embedding.py#L16) is right when line 16 makes
`Embedding`. Run as a script, this file moves the numbers to where the names now stand.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[`([\w.-]+)`\]\((\.\./[\w./-]+)#L(\d+)\)")
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if LINK.search(page.read_text())]


def find_line(page: Path, name: str, target: str) -> int:
    """The line, from 1, on which a file makes a name: a class, function, variable or key."""
    file = (page.parent / target).resolve()
    assert file.is_file(), f"{page.name}: no file {target}"
    made = re.compile(rf"^\s*(?:(?:class|def)\s+|self\.)?{re.escape(name)}\b\s*(?:[(:=]|$)")
    lines = file.read_text(encoding="utf-8").split("\n")
    found = [number for number, line in enumerate(lines, start=1) if made.match(line)]
    assert found, f"{page.name}: {target} makes no {name}"
    return found[0]


def mend(page: Path) -> str:
    """The page with every link at the right line."""

    def link(match: re.Match[str]) -> str:
        name, target, _ = match.groups()
        return f"[`{name}`]({target}#L{find_line(page, name, target)})"

    return LINK.sub(link, page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_lines_name_what_stands_there(page):
    assert mend(page) == page.read_text(encoding="utf-8"), "run: python tests/test_docs.py"


def test_every_other_link_to_a_file_has_its_file():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_param_is_told_as_the_code_reads_it():
    from tools.params_page import PAGE, write_page

    assert PAGE.read_text(encoding="utf-8") == write_page(), "run: python -m tools.params_page"


if __name__ == "__main__":
    for changed in PAGES:
        changed.write_text(mend(changed), encoding="utf-8")
