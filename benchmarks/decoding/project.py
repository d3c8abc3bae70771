"""The project that is measured: its model, its test set, what the workers get of them."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar, cast

from benchmarks.decoding.work import Work
from pipeline.params import load_section, load_sections
from pipeline.paths import CHECKPOINT, CLEAN, IDS, PARAMS, RAW, TOKENIZER, TRANSLATOR
from transformer.evaluation.config import EvaluateConfig
from transformer.export.config import FORMS, ExportConfig, Precision
from transformer.export.shortlist.choose import Shortlist, make_shortlist
from transformer.model.checkpoint import CheckpointInfo, load_with_tokenizers
from transformer.model.transformer import Transformer
from transformer.search.options import SearchConfig, SearchOptions
from transformer.text.clean_config import CleanConfig
from transformer.text.heldout import encode_sources, read_heldout
from transformer.text.ids import load_ids
from transformer.text.lexicon import fit_lexicon
from transformer.text.normalize import normalize
from transformer.text.tokenizer import Tokenizer

# Slow contenders translate one batch of so many, but so many batches at least.
FEW_SHARE = 5
MIN_FEW = 3

T = TypeVar("T")

# The plan of the whole test set.
ALL = "all"
ALL_BATCH_SIZE = 32


@dataclass(frozen=True)
class Subject:
    """A model with the test set that it translates."""

    model: Transformer
    info: CheckpointInfo
    target_tokenizer: Tokenizer
    source_pad: int
    options: SearchOptions
    bleu_tokenizer: str
    sources: list[str]  # normalised
    references: list[str]  # raw
    ids: list[list[int]]  # with end token; none for an empty source
    shortlist: Shortlist | None  # as the export made it


def graph_file(project: Path, precision: str) -> Path:
    """The graph of a project's translator in a precision of `FORMS`; it need not exist."""
    return project / TRANSLATOR / FORMS[cast(Precision, precision)].file


def load_subject(project: Path, source: Path | None, reference: Path | None) -> Subject:
    """Reads model, params and test set.

    Args:
        project: with models/, params.yaml, and data/raw and data/clean if no files are given.
        source: line-aligned raw text; None takes the project's own test part.
        reference: likewise.

    Raises:
        ValueError: something is missing, or the files have different numbers of lines.
    """
    path = project / PARAMS
    search, evaluate, clean = load_sections(
        ("search", SearchConfig),
        ("evaluate", EvaluateConfig),
        ("clean", CleanConfig),
        path=path,
    )
    export = load_section("export", ExportConfig, path=path)
    model, info, tokenizers = load_with_tokenizers(project / CHECKPOINT, project / TOKENIZER)
    if source is None or reference is None:
        if source is not reference:
            raise ValueError("give both --source and --reference, or neither of them")
        test = read_heldout(project / RAW, project / CLEAN)
        sources, references = test.sources, test.references
    else:
        sources, references = _read_lines(source), _read_lines(reference)
        if len(sources) != len(references):
            raise ValueError(
                f"{source} has {len(sources)} lines and {reference} {len(references)}; "
                "they must match line by line"
            )
        settings = clean.source.model_dump()
        sources = [normalize(text, **settings) for text in sources]
    ids, _ = encode_sources(tokenizers.source, sources, info.model.max_positions)
    if not any(ids):
        raise ValueError("the test set has no text to translate; give --source and --reference")
    target = tokenizers.target
    shortlist = None
    if export.shortlist is not None and (project / IDS).is_dir():
        pairs = load_ids(project / IDS).train
        shortlist = make_shortlist(
            fit_lexicon(pairs, info.source_vocab_size, info.target_vocab_size),
            export.shortlist,
            source_vocab_size=info.source_vocab_size,
            target_vocab_size=info.target_vocab_size,
            special=info.target,
            is_joint=tokenizers.is_joint,
        )
    return Subject(
        model=model,
        info=info,
        target_tokenizer=target,
        source_pad=tokenizers.source.pad_id,
        options=search.options(info.model.max_positions),
        bleu_tokenizer=evaluate.bleu_tokenizer,
        sources=sources,
        references=references,
        ids=ids,
        shortlist=shortlist,
    )


def plan_work(subject: Subject, num_sentences: int, batch_sizes: Sequence[int]) -> Work:
    """What the workers translate: the sample of each batch size, some of it, and the test set."""
    lengths = [len(ids) for ids in subject.ids]
    real = [index for index, length in enumerate(lengths) if length]  # empty ones need no engine
    sample = spread(real, num_sentences)
    plans = {ALL: length_batches(real, lengths, ALL_BATCH_SIZE)}
    for size in batch_sizes:
        batches = length_batches(sample, lengths, size)
        for is_slow, chosen in ((False, batches), (True, few(batches))):
            # In any order but that of lengths, so that a measurement left off is not of long ones.
            plans[plan_name(size, is_slow)] = random.Random(size).sample(chosen, len(chosen))
    options = subject.options
    limits = [options.max_length(length) for length in lengths]
    special = list(subject.info.target)
    return Work(subject.source_pad, special, asdict(options), subject.ids, limits, plans)


def plan_name(batch_size: int, is_slow: bool = False) -> str:
    """The name of the sample in batches of one size, or of the part of it for slow contenders."""
    return f"{batch_size} few" if is_slow else str(batch_size)


def spread(items: Sequence[T], count: int) -> list[T]:
    """`count` of the items at even distances, first and last half a distance from the ends."""
    count = min(count, len(items))
    return [items[(2 * place + 1) * len(items) // (2 * count)] for place in range(count)]


def length_batches(
    indices: Sequence[int], lengths: Sequence[int], batch_size: int
) -> list[list[int]]:
    """The indices in batches of one size, the longest sentences first; the last may be smaller."""
    order = sorted(indices, key=lambda index: (-lengths[index], index))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def few(batches: Sequence[list[int]]) -> list[list[int]]:
    """Some of the batches, evenly spaced over their lengths, for contenders that are slow."""
    return spread(batches, max(MIN_FEW, -(-len(batches) // FEW_SHARE)))


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}; unpack or convert it") from None
