"""Names for the paths that `dvc.yaml` declares, relative to the repository."""

from pathlib import Path

PARAMS = Path("params.yaml")

RAW = Path("data/raw")
MANIFEST = RAW / "manifest.json"
CLEAN = Path("data/clean")
# What the section `pretrain` may read besides the pairs.
MONOLINGUAL = Path("data/monolingual")
# Files of further test sets.
SETS = Path("data/sets")
# What `import` read of a model that was trained elsewhere.
IMPORTED = Path("data/imported")
IDS = Path("data/ids")
TOKENIZER = Path("models/tokenizer")
PRETRAINED = Path("models/pretrained")
CHECKPOINT = Path("models/checkpoint")
TRANSLATOR = Path("models/translator")
REPORTS = Path("reports")
# The figures of each stage that `dvc metrics` and `dvc exp show` print.
METRICS = REPORTS / "metrics"
