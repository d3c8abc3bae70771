"""A worker that translates with PyTorch or onnxruntime.

python -m benchmarks.decoding.worker KIND WORK OPTIONS: kind onnx, search or tutorial; the options
are a JSON of `load_onnx`'s and `load_torch`'s arguments.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.decoding.work import Loaded, Work, serve_engine


def main(kind: str, work: Work, options: dict[str, Any]) -> None:
    """Serves one engine."""

    def load() -> Loaded:
        from benchmarks.decoding.engines import Marks, load_onnx, load_torch

        path, marks = Path(options["path"]), Marks(*options["marks"])
        settings = work.ranking, options["num_threads"], options["device"]
        if kind == "onnx":
            return load_onnx(path, marks, *settings, options["num_workers"])
        return load_torch(kind == "search", path.parent, marks, *settings)

    serve_engine(load, work)


if __name__ == "__main__":
    main(sys.argv[1], Work.load(Path(sys.argv[2])), json.loads(sys.argv[3]))
