"""Further test sets, read in the form in which the test part is."""

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

from transformer.evaluation.config import (
    EvaluateConfig,
    FilesSet,
    NoiseSet,
    PartSet,
    SacrebleuSet,
    SetConfig,
)
from transformer.text.clean_config import NormalizationConfig
from transformer.text.corpus import Pair, part_path, read_pairs
from transformer.text.heldout import Heldout, draw_rows
from transformer.text.manifest import check_parts, read_manifest
from transformer.text.noise import NoiseKind, add_noise
from transformer.text.normalize import normalize
from transformer.text.sources.lines import read_lines


def read_sets(
    config: EvaluateConfig, raw: Path, folder: Path, source: NormalizationConfig
) -> dict[str, Heldout]:
    """The sets of the params by name; of each the same sample as of the test part.

    Args:
        config: which sets, and of how many sentences each.
        raw: what `download` wrote.
        folder: where files of sets lie.
        source: how sources are normalised, as those of the test part are.

    Raises:
        ValueError: a set can't be had, or holds nothing; the message begins with its field.
    """
    return {
        name: _read(name, one, config, raw, folder, source) for name, one in config.sets.items()
    }


def fingerprint(texts: Heldout) -> str:
    """The SHA-256 of a set's sources and references as they came."""
    pairs = json.dumps([texts.raw_sources, texts.references])
    return hashlib.sha256(pairs.encode()).hexdigest()


def count_changed(texts: Heldout, test: Heldout) -> int:
    """How many sources of a set of noise differ, once normalised, from the test part's."""
    return sum(map(str.__ne__, texts.sources, test.sources))


def _read(
    name: str,
    one: SetConfig,
    config: EvaluateConfig,
    raw: Path,
    folder: Path,
    source: NormalizationConfig,
) -> Heldout:
    field = f"evaluate.sets.{name}"
    if isinstance(one, PartSet):
        pairs = _read_part(raw, one.part)
    elif isinstance(one, FilesSet):
        pairs = _read_files(field, _find_files(field, folder, one))
    elif isinstance(one, SacrebleuSet):
        manifest = read_manifest(raw)
        languages = _join_languages(manifest.source_language, manifest.target_language)
        pairs = _fetch(field, one.name, languages)
    else:
        pairs = _make_noise(_read_part(raw, "test"), one)
    if not pairs:
        raise ValueError(f"{field}: there are no sentences in it")
    rows, sampled_from = draw_rows(len(pairs), config.num_sentences)
    sources = [pairs[row][0] for row in rows]
    return Heldout(
        raw_sources=sources,
        sources=[normalize(text, **dict(source)) for text in sources],
        references=[pairs[row][1] for row in rows],
        normalized_references=None,
        sampled_from=sampled_from,
    )


def _read_part(raw: Path, part: str) -> list[Pair]:
    check_parts(raw, "download", (part,))
    return list(read_pairs(part_path(raw, part)))


def check_sets(config: EvaluateConfig, folder: Path, languages: tuple[str, str]) -> None:
    """Refuses sets that can't be had, before anything is trained for them.

    Args:
        config: the section `evaluate`.
        folder: where files of the user's lie.
        languages: the corpus's source and target.

    Raises:
        ValueError: a file is missing, or sacreBLEU has no such set.
    """
    for name, one in config.sets.items():
        if isinstance(one, FilesSet):
            _find_files(f"evaluate.sets.{name}", folder, one)
        elif isinstance(one, SacrebleuSet):
            _check_name(f"evaluate.sets.{name}", one.name, _join_languages(*languages))


def _join_languages(source: str, target: str) -> str:
    return "-".join(code.replace("_", "-").split("-")[0] for code in (source, target))


def _find_files(field: str, folder: Path, one: FilesSet) -> dict[str, Path]:
    files = {side: folder / getattr(one, side) for side in ("source", "target")}
    for side, path in files.items():
        if not path.is_file():
            raise ValueError(
                f"{field}.{side} = {path.name!r}: there is no such file in {path.parent}; put or "
                "link it there"
            )
    return files


def _read_files(field: str, files: Mapping[str, Path]) -> list[Pair]:
    source, target = (list(read_lines(path)) for path in files.values())
    if len(source) != len(target):
        names = " and ".join(map(str, files.values()))
        raise ValueError(
            f"{field}: {names} have {len(source)} and {len(target)} lines; line n of one has to be "
            "the translation of line n of the other"
        )
    return list(zip(source, target, strict=True))


def _make_noise(pairs: list[Pair], config: NoiseSet) -> list[Pair]:
    # By line alone, so that a sample has the noise of the whole.
    return [
        (_put_noise(config.noise, source, f"{config.seed} {line}"), target)
        for line, (source, target) in enumerate(pairs)
    ]


def _put_noise(kind: NoiseKind, text: str, seed: str) -> str:
    plain = normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)
    return add_noise(kind, plain, Random(seed))


def _check_name(field: str, name: str, languages: str) -> None:
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        alike = difflib.get_close_matches(name, DATASETS, n=3)
        advice = f"; did you mean {', '.join(alike)}?" if alike else ""
        raise ValueError(f"{field}.name = {name!r}: sacreBLEU has no such set{advice}")
    if languages not in DATASETS[name].langpairs:
        known = ", ".join(sorted(DATASETS[name].langpairs))
        raise ValueError(
            f"{field}.name = {name!r}: sacreBLEU has it in {known}, but the corpus is {languages}"
        )


def _fetch(field: str, name: str, languages: str) -> list[Pair]:
    from sacrebleu.dataset import DATASETS
    from sacrebleu.utils import SACREBLEU_DIR

    _check_name(field, name, languages)
    try:
        source = Path(DATASETS[name].get_source_file(languages))
        target = Path(DATASETS[name].get_reference_files(languages)[0])
    except (Exception, SystemExit) as error:  # it ends the process where a checksum is wrong
        raise ValueError(
            f"{field}.name = {name!r}: sacreBLEU can't fetch it ({type(error).__name__}: {error}); "
            f"where there is a network, `sacrebleu --download {name} --language-pair "
            f"{languages}` puts it into {SACREBLEU_DIR}: bring that folder here, or remove the set"
        ) from error
    return _read_files(field, {"source": source, "target": target})
