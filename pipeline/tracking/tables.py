"""Tables that MLflow's pages show as tables, and compare between runs."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.tracking.tracker import Tracker

# The tag by which MLflow knows which artefacts are tables.
_TABLES = "mlflow.loggedArtifacts"


def log_table(tracker: Tracker, folder: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Puts rows of the same keys into `folder` of the artefacts as a table; none write nothing."""
    if not rows:
        return
    columns = list(rows[0])
    table = {"columns": columns, "data": [[row.get(key) for key in columns] for row in rows]}
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / f"{name}.json"
        path.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
        # A folder of its own, since what is sent again is told by folder.
        if not tracker.files(f"{folder}/{name}", [path]):
            return
    run = tracker.read()
    known = json.loads(run.data.tags.get(_TABLES, "[]")) if run is not None else []
    entry = {"path": f"{folder}/{name}/{name}.json", "type": "table"}
    if entry not in known:
        tracker.tags({_TABLES: json.dumps([*known, entry])})
