"""A worker that translates with PyTorch or onnxruntime.

python -m benchmarks.decoding.worker KIND WORK OPTIONS: kind onnx or torch; the options are a JSON
of the arguments of `load_onnx` or `load_torch`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.decoding.work import Loaded, Work, serve_engine


def main(kind: str, work: Work, options: dict[str, Any]) -> None:
    """Serves one engine; what it imports is part of its loading."""

    def load() -> Loaded:
        from benchmarks.decoding.engines import load_onnx, load_torch

        return (load_onnx if kind == "onnx" else load_torch)(work, **options)

    serve_engine(load, work)


if __name__ == "__main__":
    main(sys.argv[1], Work.load(Path(sys.argv[2])), json.loads(sys.argv[3]))
