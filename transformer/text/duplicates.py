"""Rows that stood before: a join of the whole corpus, by DuckDB, which spills to disk."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Beyond it DuckDB writes to a file in the folder of the rows.
MEMORY_LIMIT = "256MB"

_LATER_ROWS = """
    SELECT row FROM (
        SELECT
            file_row_number AS row,
            row_number() OVER (PARTITION BY key ORDER BY file_row_number) AS occurrence
        FROM read_parquet(?, file_row_number = true)
    )
    WHERE occurrence > 1
    ORDER BY row
"""


def find_duplicates(path: Path, memory_limit: str = MEMORY_LIMIT) -> NDArray[np.int64]:
    """The rows of a Parquet file whose `key` an earlier row has: from 0, rising.

    Args:
        path: with the column `key`; DuckDB's temporary file lies beside it.
        memory_limit: of DuckDB, as it writes sizes.
    """
    import duckdb  # here: no worker needs it

    settings: dict[str, Any] = {
        "memory_limit": memory_limit,
        "temp_directory": str(path.with_suffix(".spill")),
    }
    with duckdb.connect(config=settings) as database:
        found = database.execute(_LATER_ROWS, [str(path)]).fetchnumpy()
    rows: NDArray[np.int64] = np.asarray(found["row"], dtype=np.int64)
    return rows
