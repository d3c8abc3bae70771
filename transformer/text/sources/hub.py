"""Corpora in the form of Hugging Face datasets."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from transformer.text.corpus import BATCH_PAIRS, PARTS, Pair
from transformer.text.corpus_config import HubSource
from transformer.text.sources.source import Source


def open_hub(config: HubSource) -> Source:
    """Loads the splits that the config names, from the Hub or from the folder `path`.

    Raises:
        ValueError: the dataset, a split or a column is missing, a column holds no text, or the
            Hub can't be reached.
    """
    if config.dataset is None:
        folder = Path(config.path)
        if not folder.is_dir():
            raise ValueError(
                f"corpus.path = {config.path}: no such folder; with corpus.dataset = null it "
                "holds the files, such as train.parquet, in the layout of a Hub dataset"
            )
        origin, name = config.path, str(folder.resolve())
    else:
        origin = name = config.dataset
    revision = _find_commit(config) if config.dataset is not None else None
    parts: dict[str, Callable[[], Iterator[Pair]]] = {}
    for part in PARTS:
        split = getattr(config, part)
        if split is not None:
            dataset = _load(config, name, revision, origin, part, split)
            where = f"{origin}, corpus.{part} = {split!r}"
            _check_columns(config, dataset, where)
            parts[part] = partial(_read, config, dataset)
    return Source(parts=parts, origin=origin, revision=revision, sha256={})


def _find_commit(config: HubSource) -> str | None:
    # Branches and tags move, also between two splits: all are taken from one commit, which the
    # manifest names.
    from huggingface_hub import HfApi

    try:
        info = HfApi().dataset_info(config.dataset, revision=config.revision, timeout=30)
        return None if info.sha is None else str(info.sha)
    except Exception:  # without a network `datasets` may have it, or says what is wrong
        return config.revision


def _load(
    config: HubSource, name: str, revision: str | None, origin: str, part: str, split: str
) -> Any:
    import datasets  # a second and a half, which the other kinds need not spend

    try:
        return datasets.load_dataset(name, config.config, revision=revision, split=split)
    except ConnectionError as error:
        raise ValueError(
            f"corpus.dataset = {origin!r} can't be loaded: {error}. Without a network, put the "
            "dataset's files into a folder, set corpus.path to it and corpus.dataset to null"
        ) from error
    # The library raises its own and built-in types for a wrong id, config, split or file.
    except Exception as error:
        reasons: list[str] = []
        cause: BaseException | None = error
        while cause is not None:  # its own words are often no more than that it failed
            if (line := str(cause).strip().split("\n")[0]) not in (*reasons, ""):
                reasons.append(line)
            cause = cause.__cause__ or cause.__context__
        told = "; ".join(reasons) or type(error).__name__
        raise ValueError(
            f"{origin}, corpus.{part} = {split!r}, corpus.config = {config.config!r}: {told}"
        ) from error


def _check_columns(config: HubSource, dataset: Any, where: str) -> None:
    features: Mapping[str, Any] = dataset.features
    fields = ("source_column", "target_column")
    if config.translation_column is not None:
        _check_name("translation_column", config.translation_column, list(features), where)
        nested = features[config.translation_column]
        languages = getattr(nested, "languages", None)
        if languages is None and not isinstance(nested, Mapping):
            raise ValueError(
                f"{where}: corpus.translation_column = {config.translation_column!r} holds "
                f"{nested}, not a mapping from languages to text; set it to null for plain columns"
            )
        keys = list(languages or nested)
        for field in fields:
            _check_name(field, getattr(config, field), keys, where)
            if languages is None:
                _check_text(field, getattr(config, field), nested, where)
        return
    for field in fields:
        _check_name(field, getattr(config, field), list(features), where)
        _check_text(field, getattr(config, field), features, where)


def _check_name(field: str, name: str, there: list[str], where: str) -> None:
    if name not in there:
        raise ValueError(f"{where}: corpus.{field} = {name!r}: no such column; there are {there}")


def _check_text(field: str, name: str, features: Mapping[str, Any], where: str) -> None:
    dtype = getattr(features[name], "dtype", None)
    if dtype not in ("string", "large_string"):
        raise ValueError(
            f"{where}: corpus.{field} = {name!r} holds {dtype or features[name]}, not text; if it "
            "is a mapping from languages to text, name it as corpus.translation_column"
        )


def _read(config: HubSource, dataset: Any) -> Iterator[Pair]:
    # A null is no text: it becomes empty text, which `clean` rejects with that reason.
    for batch in dataset.iter(batch_size=BATCH_PAIRS):
        if config.translation_column is not None:
            for row in batch[config.translation_column]:
                row = row or {}
                yield row.get(config.source_column) or "", row.get(config.target_column) or ""
        else:
            sides = (batch[config.source_column], batch[config.target_column])
            for source, target in zip(*sides, strict=True):
                yield source or "", target or ""
