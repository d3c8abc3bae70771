"""Training pairs out of translations: what is translated, by shards, and the pairs it makes."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import assert_never

from transformer.files import atomic_folder, sha256_file
from transformer.serving.card import CARD, Card, load_card
from transformer.serving.corpus import LineShard, cut_lines, load_translator, read_shard
from transformer.serving.translator import Translation, Translator, UntranslatableError
from transformer.synthesis.config import BackTranslation, Distillation
from transformer.synthesis.made import Made, choose_folder, map_kept_shards
from transformer.synthesis.noise import add_noise, draw_one
from transformer.text.corpus import (
    SCHEMA_WITH_ORIGIN,
    Pair,
    PairWriter,
    Row,
    part_path,
    read_pairs,
    read_schema,
    read_side,
)
from transformer.text.manifest import Manifest, read_manifest
from transformer.text.monolingual import find_file
from transformer.text.normalize import normalize
from transformer.text.origins import count_origins
from transformer.text.shards import sample_lines
from transformer.text.sources.lines import read_lines
from transformer.text.synthetic import SYNTHETIC, SyntheticText, hash_train, write_synthetic

_TEXTS = ".texts"


def synthesize(
    config: Distillation | BackTranslation,
    raw: Path,
    translator: Path,
    monolingual: Path,
    folder: Path,
    states: Path,
) -> SyntheticText:
    """Writes training pairs with the column `origin` into `folder`, or nothing.

    First come the pairs of the corpus, if they are kept, then those that are made, in the order of
    the texts: the same on any engine and by any number of workers.

    Args:
        config: what is made.
        raw: what `download` wrote; its training part alone is read.
        translator: an exported one, of the corpus's direction or, to translate back, the other.
        monolingual: the folder of texts without translations.
        folder: where it goes.
        states: where what is made is kept until all is.

    Raises:
        ValueError: a file is missing or damaged, the translator has other languages, an origin of
            the corpus has a name that is kept for what is made, nothing could be translated.
    """
    corpus = read_manifest(raw)
    train = part_path(raw, "train")
    card = check_translator(config, translator, (corpus.source_language, corpus.target_language))
    if SYNTHETIC in count_origins(train).counts:
        raise ValueError(
            f"{train}: the origin {SYNTHETIC!r} is kept for pairs that are made; call that part of "
            "the corpus something else"
        )
    with atomic_folder(folder) as temporary:
        # In the folder, where the workers of a cluster find it.
        texts = temporary / _TEXTS
        with texts.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{text}\n" for text in _read_texts(config, train, monolingual))
        shards = cut_lines(texts)
        facts = {
            "config": config.model_dump(),
            "translator": sha256_file(translator / CARD),
            "texts": sha256_file(texts),
            "lines": [shard.lines.stop for shard in shards],
        }
        kept = choose_folder(states, facts)
        num_texts = num_untranslatable = num_incomplete = num_pairs = 0
        with PairWriter(part_path(temporary, "train"), SCHEMA_WITH_ORIGIN) as writer:
            if config.original_weight:
                for row in _read_originals(train, corpus):
                    writer.write(row)
            for made in map_kept_shards(partial(make_shard, translator, config), shards, kept):
                for source, target in made.pairs:
                    writer.write((source, target, SYNTHETIC))
                num_texts += made.num_texts
                num_untranslatable += made.num_untranslatable
                num_incomplete += made.num_incomplete
                num_pairs += len(made.pairs)
        if not num_pairs:
            raise ValueError(
                f"synthesize: none of {num_texts} texts has a translation: {num_untranslatable} "
                f"can't be translated, {num_incomplete} translations reached the length limit"
            )
        texts.unlink()
        found = SyntheticText(
            kind=config.kind,
            model_hash=card.model_hash,
            corpus=card.corpus.name,
            license=card.corpus.license,
            precision=config.precision,
            num_texts=num_texts,
            num_untranslatable=num_untranslatable,
            num_incomplete=num_incomplete,
            num_pairs=num_pairs,
            original_weight=config.original_weight,
            tag=config.tag if isinstance(config, BackTranslation) else None,
            train_sha256=hash_train(temporary),
        )
        write_synthetic(temporary, found)
    shutil.rmtree(kept, ignore_errors=True)
    return found


def check_translator(
    config: Distillation | BackTranslation, translator: Path, languages: tuple[str, str]
) -> Card:
    """The card of a translator that can make what is asked for.

    Args:
        config: what is made.
        translator: the folder of an exported one.
        languages: the corpus's source and target.

    Raises:
        ValueError: there is none, or it is damaged, has other languages, or lacks the precision.
    """
    if not (translator / CARD).is_file():
        raise ValueError(
            f"{translator} holds no translator; `python -m pipeline teacher FOLDER` puts one there"
        )
    card = load_card(translator)
    found = card.source_language, card.target_language
    wanted = languages[::-1] if isinstance(config, BackTranslation) else languages
    if found != wanted:
        raise ValueError(
            f"{translator} translates from {found[0]} to {found[1]}; {config.kind} of this corpus "
            f"needs one from {wanted[0]} to {wanted[1]}"
        )
    if config.precision not in card.precisions:
        raise ValueError(
            f"synthesize.precision = {config.precision!r}: {translator} holds "
            f"{', '.join(card.precisions)} alone"
        )
    return card


def make_shard(translator: Path, config: Distillation | BackTranslation, shard: LineShard) -> Made:
    """The pairs of some lines of text; empty lines have none."""
    model = load_translator(translator, config.precision)
    lines = enumerate((text for texts in read_shard(shard) for text in texts), shard.lines.start)
    texts = {line: text for line, text in lines if text}
    good = {line: text for line, text in texts.items() if _is_held(model, text, config.num_best)}
    answers = model.translate(
        list(good.values()), beam_size=config.beam_size, num_best=config.num_best
    )
    pairs: list[Pair] = []
    num_incomplete = 0
    for (line, text), answer in zip(good.items(), answers, strict=True):
        complete = [one for one in answer if one.is_complete]
        num_incomplete += len(answer) - len(complete)
        if complete:
            pairs += _make_pairs(config, line, text, complete)
    return Made(pairs, len(texts), len(texts) - len(good), num_incomplete)


def _make_pairs(
    config: Distillation | BackTranslation, line: int, text: str, answer: list[Translation]
) -> list[Pair]:
    match config:
        case Distillation():
            return [(text, translation.text) for translation in answer]
        case BackTranslation():
            random = Random(f"{config.seed} {line}")
            source = draw_one(answer, random).text
            if config.noise is not None:
                source = add_noise(source, config.noise, random)
            return [(source, text)]
        case _:
            assert_never(config)


def _is_held(model: Translator, text: str, num_best: int) -> bool:
    try:
        model.encode([text], num_best)
    except UntranslatableError:
        return False
    return True


def _read_texts(
    config: Distillation | BackTranslation, train: Path, monolingual: Path
) -> Iterator[str]:
    # One form of Unicode and white space: no line end is in a text.
    match config:
        case Distillation():
            texts = read_side(train, "source")
        case BackTranslation():
            path = find_file(monolingual, config.text, "synthesize.text")
            texts = _read_monolingual(path, config.max_sentences)
        case _:
            assert_never(config)
    for text in texts:
        yield normalize(text, lowercase=False, strip_punctuation=False, fold_typography=False)


def _read_monolingual(path: Path, max_sentences: int | None) -> Iterator[str]:
    if max_sentences is None:
        yield from read_lines(path)
        return
    num_lines = sum(1 for _ in read_lines(path))
    wanted = iter(sample_lines(num_lines, min(max_sentences, num_lines)).tolist())
    lines, start = read_lines(path), 1
    for line in wanted:
        yield next(islice(lines, line - start, None))
        start = line + 1


def _read_originals(train: Path, corpus: Manifest) -> Iterator[Row]:
    origins = read_side(train, "origin") if read_schema(train) is SCHEMA_WITH_ORIGIN else None
    for source, target in read_pairs(train):
        yield source, target, corpus.name if origins is None else next(origins)
