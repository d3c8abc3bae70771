"""Names for the paths that `dvc.yaml` declares, relative to the repository."""

from pathlib import Path

PARAMS = Path("params.yaml")

RAW = Path("data/raw")
MANIFEST = RAW / "manifest.json"
CLEAN = Path("data/clean")
# What the sections `pretrain` and `synthesize` may read besides the pairs.
MONOLINGUAL = Path("data/monolingual")
# Files of further test sets.
SETS = Path("data/sets")
# What `import` read of a model that was trained elsewhere.
IMPORTED = Path("data/imported")
# An exported translator that `synthesize` asks, and the training pairs that it makes.
TEACHER = Path("data/teacher")
SYNTHETIC = Path("data/synthetic")
IDS = Path("data/ids")
TOKENIZER = Path("models/tokenizer")
PRETRAINED = Path("models/pretrained")
CHECKPOINT = Path("models/checkpoint")
TRANSLATOR = Path("models/translator")
REPORTS = Path("reports")
# The figures of each stage that `dvc metrics` and `dvc exp show` print.
METRICS = REPORTS / "metrics"
