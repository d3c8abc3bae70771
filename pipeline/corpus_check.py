"""What a local corpus gives the stages that follow, told before any of them runs."""

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any

from pipeline.paths import IMPORTED, MONOLINGUAL, SETS, TEACHER
from pipeline.repository import main_checkout, run_git
from transformer.text.collection import assign_rows, open_source
from transformer.text.corpus import PARTS, Pair
from transformer.text.corpus_config import CorpusConfig, MixedCorpus
from transformer.text.normalize import normalize
from transformer.text.special_tokens import SPECIAL_TOKENS
from transformer.text.splitting import TRAIN
from transformer.text.vocab_config import VocabConfig
from transformer.training.config import TrainConfig

# Of more pairs only the first ones are read: such a corpus has enough of them.
MAX_PAIRS = 100_000
# Of a sub-word piece in vocabularies of a thousand; larger ones have longer pieces, hence fewer
# steps than are foretold. `train` counts them, and refuses what passes here.
_CHARACTERS_PER_PIECE = 2.5


@dataclass(frozen=True)
class CorpusCheck:
    """What was found; all counts are before the filters of `clean`."""

    # A line each, for people.
    facts: Sequence[str]
    # What would stop a later stage.
    problems: Sequence[str]


def is_local(corpus: CorpusConfig) -> bool:
    """Whether a corpus is files of the user's own."""
    sources = corpus.parts.values() if isinstance(corpus, MixedCorpus) else [corpus]
    return all(
        one.kind in ("text", "localization")
        or (one.kind == "tabular" and one.url is None)
        or (one.kind == "hub" and one.dataset is None)
        for one in sources
    )


def check_corpus(
    corpus: CorpusConfig, vocab: VocabConfig, train: TrainConfig, *, is_all: bool
) -> CorpusCheck:
    """Reads a local corpus, and works out what the stages would make of it.

    Args:
        corpus: whose files are read.
        vocab: how they will be cut.
        train: how long it will take.
        is_all: no other pairs are made; else steps are told, and none are too few.

    Raises:
        ValueError: it is not there, or can't be read.
    """
    with open_source(corpus) as source:
        rows = list(islice(source.parts["train"](), MAX_PAIRS + 1))
        given = [part for part in PARTS if part in source.parts]
    pairs = [(row[0], row[1]) for row in rows]
    if len(pairs) > MAX_PAIRS:
        return CorpusCheck([f"{corpus.path}: more than {MAX_PAIRS} training pairs"], [])
    weights = [1.0] * len(rows)
    if isinstance(corpus, MixedCorpus):
        weights = [corpus.parts[row[-1].partition("/")[0]].weight for row in rows]
    split = getattr(corpus, "split", None)
    facts, problems = [f"{corpus.path}: {len(pairs)} pairs"], list[str]()
    if split is not None:
        missing = [part for part in PARTS if part not in given]
        sizes = [split.valid_pairs if part == "valid" else split.test_pairs for part in missing]
        try:
            parts = list(assign_rows(lambda: rows, source.has_origins, split, sizes, missing))
        except ValueError as error:  # what follows is of all pairs then
            problems.append(f"corpus.split: {error}")
        else:
            is_kept = [part == TRAIN for part in parts]
            pairs, weights = list(compress(pairs, is_kept)), list(compress(weights, is_kept))
            held = ", ".join(f"{size} {part}" for size, part in zip(sizes, missing, strict=True))
            facts[0] += f": {len(pairs)} for training, {held}"
    _check_vocabulary(pairs, vocab, facts)
    _check_steps(pairs, weights, vocab, train, facts, problems if is_all else [])
    if not is_all:
        facts[-1] += "; of the corpus alone: what `synthesize` makes is not counted"
    return CorpusCheck(facts, problems)


def list_inputs(params: Mapping[str, Any]) -> list[Path]:
    """The files and folders of the user's own that the stages read, by the whole of the params."""
    paths = [Path(params["corpus"]["path"])]
    synthesis, pretrain = params["synthesize"], params["pretrain"]
    if synthesis["kind"] != "none":
        paths.append(TEACHER)
    if pretrain["kind"] == "imported":
        paths.append(IMPORTED)
    names = [synthesis.get("text"), *(pretrain.get("text") or {}).values()]
    paths += [MONOLINGUAL / name for name in names if name is not None]
    for one in params["evaluate"]["sets"].values():
        if one["kind"] == "files":
            paths += [SETS / one["source"], SETS / one["target"]]
    specs = [params["vocab"][side] for side in ("joint", "source", "target")]
    ready_made = [spec["name"] for spec in specs if spec and spec["kind"] == "pretrained"]
    return paths + [Path(name) for name in ready_made if name.endswith(".json")]


def find_unknown_files(paths: Iterable[Path]) -> str | None:
    """What to do about files in the repository that are in neither git nor DVC, if there are any.

    Experiments that run in a copy would not have them.

    Args:
        paths: files or folders that a stage depends on.
    """
    root = main_checkout()
    # Experiments of a grid name the same ones again and again.
    paths = [path for path in {one.resolve(): None for one in paths} if root in path.parents]
    if not paths or not run_git("rev-parse", "HEAD"):
        return None
    known = {root / name for name in run_git("ls-files", "-z").split("\0")}
    found: list[Path] = []
    for path in paths:
        files = [file for file in (path, *sorted(path.rglob("*"))) if file.is_file()]
        unknown = [
            file
            for file in files
            if known.isdisjoint([file, *(Path(f"{one}.dvc") for one in (file, *file.parents))])
        ]
        # All of it at once, but for a folder of which git has a part.
        found += [path] if unknown and len(unknown) == len(files) else unknown
    if not found:
        return None
    names = [path.relative_to(root).as_posix() for path in dict.fromkeys(found)]
    them, they_are = ("it", "it is") if len(names) == 1 else ("them", "they are")
    return (
        f"{', '.join(names)}: neither git nor DVC knows {them}, so experiments in a copy (`dvc exp "
        f"run --temp`, the queue, `sweep`) would not find {them}: `dvc add {' '.join(names)}`, "
        f"`git add {' '.join(f'{name}.dvc' for name in names)}`, and commit; or leave {them} to "
        f"git where {they_are} small"
    )


def _check_vocabulary(pairs: Sequence[Pair], vocab: VocabConfig, facts: list[str]) -> None:
    sides = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    if vocab.joint is not None:
        sides = {"joint": sides["source"] + sides["target"]}
    for name, texts in sides.items():
        spec: Any = getattr(vocab, name)
        most = None if spec.kind == "pretrained" else _count_pieces(texts, spec.kind)
        if most is not None and spec.size > most:
            facts.append(
                f"vocab.{name}.size = {spec.size}: this text gives {most} at most; fewer do no harm"
            )


def _count_pieces(texts: Iterable[str], kind: str) -> int:
    # An upper bound. Each merge of sub-words makes one word or more a piece shorter.
    words = {word for text in texts for word in text.split()}
    if kind == "word":
        return len(words) + len(SPECIAL_TOKENS)
    characters = {character for word in words for character in word}
    if kind == "character":
        return len(characters) + 1 + len(SPECIAL_TOKENS)
    return 256 + len(SPECIAL_TOKENS) + sum(len(word.encode()) for word in words)


def _check_steps(
    pairs: Sequence[Pair],
    weights: Sequence[float],
    vocab: VocabConfig,
    train: TrainConfig,
    facts: list[str],
    problems: list[str],
) -> None:
    if train.batch_sentences is not None:
        num_batches = math.ceil(sum(weights) / train.batch_sentences)
    else:
        lengths = [
            max(_count_tokens(pair[0], vocab), _count_tokens(pair[1], vocab)) for pair in pairs
        ]
        num_slots = sum(map(operator.mul, lengths, weights))
        num_batches = math.ceil(num_slots / (train.batch_tokens or 1))
    in_epoch = math.ceil(num_batches / train.gradient_accumulation)
    num_steps = in_epoch * train.max_epochs
    if train.max_steps is not None:
        num_steps = min(num_steps, train.max_steps)
    warmup = train.schedule.warmup_steps
    facts.append(
        f"training: about {in_epoch} steps in an epoch, {num_steps} in all, {warmup} of warm-up"
    )
    if 0 < num_steps <= warmup:
        problems.append(
            f"train.schedule.warmup_steps = {warmup}: the training has about {num_steps} steps, so "
            "the learning rate would never reach its peak; lower it, or the size of a batch, or "
            "raise train.max_epochs"
        )


def _count_tokens(text: str, vocab: VocabConfig) -> int:
    # With the end token.
    spec: Any = vocab.joint or vocab.source
    text = normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
    if spec.kind == "character":
        return len(text) + 1
    if spec.kind == "word":
        return len(text.split()) + 1
    return math.ceil(len(text) / _CHARACTERS_PER_PIECE) + 1
