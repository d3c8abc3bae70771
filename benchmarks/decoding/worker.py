"""A worker that translates with PyTorch or onnxruntime.

python -m benchmarks.decoding.worker WORK '{"kind": "onnx", "path": …, "marks": […], …}'
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.decoding.work import Loaded, Work, serve


def main(work: Work, options: dict[str, Any]) -> None:
    """Serves one engine: kind onnx, search or tutorial."""

    def load() -> Loaded:
        from benchmarks.decoding.engines import Marks, load_onnx, load_torch

        path, marks = Path(options["path"]), Marks(*options["marks"])
        settings = work.ranking, options["num_threads"], options["device"]
        if options["kind"] == "onnx":
            return load_onnx(path, marks, *settings, options["num_workers"])
        return load_torch(options["kind"], path, marks, *settings)

    serve(load, work)


if __name__ == "__main__":
    main(Work.load(Path(sys.argv[1])), json.loads(sys.argv[2]))
