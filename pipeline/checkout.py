"""Where the repository itself lies."""

import os
from pathlib import Path


def main_checkout() -> Path:
    """The repository's own folder, also for a stage that runs in a copy under `.dvc/tmp/exps`."""
    here = Path(os.environ.get("DVC_ROOT", Path.cwd())).resolve()
    for parent in here.parents:
        if parent.parts[-3:] == (".dvc", "tmp", "exps"):
            return parent.parents[2]
    return here
