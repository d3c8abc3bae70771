"""An exported translator, of this project or another one of its kind, to make training pairs."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.paths import TRANSLATOR
from pipeline.tracking.versions import SCHEME, fetch_translator, find_version
from transformer.serving.card import CARD, Card, load_card, verify_graph

# Of git, which no translator has.
_KEPT = (".gitignore", "README.md")


def put_translator(found: str, folder: Path) -> Card:
    """Copies a translator into `folder`, in the place of another one there.

    Its page stays behind: the folder has one of its own.

    Args:
        found: the folder of an export, of a project that has one, or a version of the registry.
        folder: data/teacher.

    Raises:
        ValueError: there is no translator, it is damaged, or the registry has no such version.
    """
    with _fetched(found) as source:
        card = load_card(source)
        for precision in card.precisions:
            verify_graph(source, card, precision)
        if source.resolve() == folder.resolve():
            return card
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if old.name not in _KEPT and old.suffix != ".dvc":
                old.unlink()
        for name in (*card.files, CARD):  # what was cut short has no card
            shutil.copyfile(source / name, folder / name)
    return card


@contextmanager
def _fetched(found: str) -> Iterator[Path]:
    if not found.startswith(SCHEME):
        folder = Path(found)
        is_project = not (folder / CARD).exists() and (folder / TRANSLATOR / CARD).exists()
        yield folder / TRANSLATOR if is_project else folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        version = find_version(found)
        yield fetch_translator(version.name, str(version.version), Path(temporary))
