"""What all dialects ask of the translators: one way from texts to translations."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from transformer.search.options import SearchOptions
from transformer.serving.documents import (
    PLAIN,
    TEXT_FORMATS,
    strip_markup,
    translate_file,
    translate_texts,
)
from transformer.serving.http.batching import Batcher, Job
from transformer.serving.http.cache import Cache
from transformer.serving.http.catalog import AUTO, Catalog, Model
from transformer.serving.http.errors import ServiceError, invalid
from transformer.serving.http.files import FileStore
from transformer.serving.http.keys import Caller, Keys
from transformer.serving.http.limits import Limits
from transformer.serving.http.lines import pair_sentences, split_lines
from transformer.serving.http.metrics import Metrics
from transformer.serving.session import count_threads
from transformer.serving.translator import Translation, UntranslatableError
from transformer.text.alignment import Span, split_words
from transformer.text.markup.placeholders import find_placeholders
from transformer.text.markup.translation import Translate

# Cutting up a longer text takes so long that other requests would notice.
_LONG_TEXT = 5_000
# Texts and files of other formats than plain text that are worked on side by side.
_NUM_FORMATTERS = 32
# Words of a sentence times words of its translation: the time that links take grows with it.
_MAX_WORD_PAIRS = 50_000

_T = TypeVar("_T")
# What a translated text was written in, and how sure that is (1 where the client said so).
Detected = tuple[str, float]
# Words that belong together, as spans of a text and of its translation.
Link = tuple[Span, Span]


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's translations, best first, by which model, from which language."""

    translations: list[Translation]
    model: Model
    # None: the client named the language.
    confidence: float | None
    # For each translation its links; None: nobody asked for them.
    alignments: list[list[Link]] | None
    # The text without its markup.
    spoken: str


class Service:
    """The translators behind a queue, a cache and limits. Lives on one event loop.

    Args:
        load: opens the translators; it is given those that are open, and keeps what has not
            changed. Called from a thread.
        load_keys: reads the API keys.
        limits: of requests.
        num_workers: batches side by side; None for one per core.

    Raises:
        ValueError: what `load` and `load_keys` raise.
    """

    def __init__(
        self,
        load: Callable[[Catalog | None], Catalog],
        load_keys: Callable[[], Keys] = Keys,
        limits: Limits | None = None,
        num_workers: int | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self._load, self._load_keys = load, load_keys
        self.keys = load_keys()
        self.catalog = load(None)
        self._tell_models()
        self.files = FileStore(self.limits.max_files, self.limits.file_seconds)
        self._cache = Cache(self.limits.cache_entries)
        self._batcher = Batcher(
            count_threads(num_workers),
            self.limits.max_waiting_requests,
            self.limits.max_waiting_pieces,
            self.metrics.observe_batch,
        )
        self._formatters = ThreadPoolExecutor(_NUM_FORMATTERS, "format")
        self._reloading = asyncio.Lock()
        self.metrics.gauge(
            "waiting_requests", "Requests that wait or run.", lambda: self._batcher.num_jobs
        )
        self.metrics.gauge(
            "waiting_pieces", "Pieces that wait or run.", lambda: self._batcher.num_pieces
        )
        self.metrics.gauge("cache_entries", "Pieces remembered.", lambda: len(self._cache))

    def close(self) -> None:
        """Ends the workers."""
        self._batcher.close()
        self._formatters.shutdown(wait=False, cancel_futures=True)

    def expect_room(self) -> None:
        """Spares reading what would be refused.

        Raises:
            ServiceError: 429, too many requests wait.
        """
        self._batcher.expect_room()

    async def reload(self) -> Catalog:
        """Takes on new keys and new versions of the translators.

        Requests that have begun end with the version that they began with.

        Raises:
            ValueError: something can't be loaded; all stays as it was.
        """
        async with self._reloading:
            try:
                keys = await asyncio.to_thread(self._load_keys)
                catalog = await asyncio.to_thread(self._load, self.catalog)
            except (ValueError, OSError) as error:
                self.metrics.reloads.labels("failed").inc()
                raise ValueError(f"all stays as it was: {error}") from error
            self.keys, self.catalog = keys, catalog
            self._tell_models()
            self.metrics.reloads.labels("done").inc()
            return catalog

    async def translate_texts(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        caller: Caller,
        text_format: str = PLAIN,
        *,
        alignment: bool = False,
        num_best: int = 1,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        patience: float | None = None,
    ) -> list[Answer]:
        """Translates texts as they come, with their structure.

        Args:
            texts: of any length, within the limits.
            source: a language, or `auto`, which each text is asked for.
            target: a language.
            caller: who asks.
            text_format: one of `TEXT_FORMATS`.
            alignment: links words of plain texts and of their translations, sentence by sentence.
            num_best: translations wanted of each text. One that has several lines or a
                placeholder, or that the model doesn't hold as a whole, or that isn't plain text,
                has one.
            beam_size: as `Translator.translate` takes it; at least `num_best` where it is None.
            length_penalty: as `Translator.translate` takes it.
            patience: as `Translator.translate` takes it.

        Raises:
            ServiceError: the request is wrong, too much, or took too long.
        """
        if text_format not in TEXT_FORMATS:
            known = ", ".join(TEXT_FORMATS)
            raise invalid(f"format = {text_format!r} is not supported; there is {known}")
        if alignment and text_format != PLAIN:
            raise invalid(f"alignment is there for format = {PLAIN!r}, not for {text_format!r}")
        self._check(texts)
        catalog = self.catalog
        spoken = [strip_markup(text, text_format) for text in texts]
        models = [self._choose(catalog, text, source, target) for text in spoken]
        options = {
            model: self._options(model, num_best, beam_size, length_penalty, patience)
            for model, _ in models
        }
        caller.charge(sum(map(len, texts)))
        for text, (model, _) in zip(texts, models, strict=True):
            self.metrics.characters.labels(model.name).inc(len(text))
        translated: list[list[Translation]] = [[]] * len(texts)
        alignments: list[list[list[Link]] | None] = [None] * len(texts)
        try:
            async with asyncio.timeout(self.limits.deadline_seconds):
                for model in options:
                    places = [n for n, (chosen, _) in enumerate(models) if chosen is model]
                    of_model = [texts[place] for place in places]
                    answers = await self._translate(of_model, model, options[model], text_format)
                    for place, answer in zip(places, answers, strict=True):
                        translated[place] = answer
                        if alignment:
                            alignments[place] = [
                                await self._align(model, texts[place], one.text) for one in answer
                            ]
        except TimeoutError:
            raise self._too_late() from None
        except ValueError as error:  # a text can't be translated, or isn't of its format
            raise invalid(str(error)) from None
        return [
            Answer(translations, model, confidence, links, text)
            for translations, (model, confidence), links, text in zip(
                translated, models, alignments, spoken, strict=True
            )
        ]

    async def translate_file(
        self, content: bytes, ending: str, source: str, target: str, caller: Caller
    ) -> bytes:
        """Translates a file; its structure stays.

        Args:
            content: of the file.
            ending: of its name, such as `.txt`.
            source: a language, or `auto`.
            target: a language.
            caller: who asks.

        Raises:
            ServiceError: the file or the request is wrong, too much, or took too long.
        """
        text = content.decode("utf-8", "replace")
        self._check([text])
        model, _ = self._choose(self.catalog, text, source, target)
        caller.charge(len(text))
        self.metrics.characters.labels(model.name).inc(len(text))
        options = self._options(model)

        def translate(pieces: Translate) -> bytes:
            return translate_file(f"file{ending}", content, model.translator, pieces)

        try:
            async with asyncio.timeout(self.limits.deadline_seconds):
                return await self._in_thread(translate, model, options)
        except TimeoutError:
            raise self._too_late() from None
        except ValueError as error:
            raise invalid(f"Invalid request: {error}") from None

    def _check(self, texts: Sequence[str]) -> None:
        if len(texts) > self.limits.max_texts:
            raise invalid(
                f"Invalid request: {len(texts)} texts exceed the limit of {self.limits.max_texts}"
            )
        num_characters = sum(map(len, texts))
        if num_characters > self.limits.max_characters:
            raise invalid(
                f"Invalid request: {num_characters} characters exceed the limit of "
                f"{self.limits.max_characters}"
            )
        for number, text in enumerate(texts, 1):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise invalid(f"text {number}: not valid Unicode: {error}") from None

    def _choose(
        self, catalog: Catalog, text: str, source: str, target: str
    ) -> tuple[Model, float | None]:
        if source.casefold() != AUTO:
            return catalog.find(source, target), None
        language, share = catalog.detect(text[:_LONG_TEXT], target)[0]
        return catalog.find(language, target), share

    def detect(self, text: str) -> list[Detected]:
        """Source languages, as `Catalog.detect` finds them in the beginning of a text.

        Raises:
            ServiceError: it is too long, or not valid Unicode.
        """
        self._check([text])
        return self.catalog.detect(text[:_LONG_TEXT])

    def _options(
        self,
        model: Model,
        num_best: int = 1,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        patience: float | None = None,
    ) -> SearchOptions:
        largest = self.limits.max_beam_size
        for name, value in (("num_best", num_best), ("beam_size", beam_size)):
            if value is not None and value > largest:
                raise invalid(f"{name} = {value}: this service allows at most {largest}")
        if beam_size is None and num_best > model.translator.card.search.beam_size:
            beam_size = num_best
        try:
            return model.translator.options(
                beam_size=beam_size,
                num_best=num_best,
                length_penalty=length_penalty,
                patience=patience,
            )
        except ValueError as error:
            raise invalid(str(error)) from None

    async def _translate(
        self, texts: Sequence[str], model: Model, options: SearchOptions, text_format: str
    ) -> list[list[Translation]]:
        answers: list[list[Translation]] = [[]] * len(texts)
        # What has structure has one translation; plain text has each line's own.
        is_plain = [
            text_format == PLAIN and next(find_placeholders(text), None) is None for text in texts
        ]
        plain = [place for place, is_so in enumerate(is_plain) if is_so]
        split = [split_lines(texts[place]) for place in plain]
        owned = [
            (place, line) for place, (lines, _) in zip(plain, split, strict=True) for line in lines
        ]
        try:
            translated = await self._translate_pieces([line for _, line in owned], model, options)
        except UntranslatableError as error:
            raise UntranslatableError(owned[error.index][0], error.reason) from None
        remaining = iter(translated)
        for place, (lines, around) in zip(plain, split, strict=True):
            answers[place] = _assemble([next(remaining) for _ in lines], around)
        others = [place for place, is_so in enumerate(is_plain) if not is_so]
        if others:

            def translate(pieces: Translate) -> list[str]:
                structured = [texts[place] for place in others]
                return translate_texts(structured, text_format, model.translator, pieces)

            best = replace(options, num_best=1)
            for place, whole in zip(
                others, await self._in_thread(translate, model, best), strict=True
            ):
                answers[place] = [Translation(whole, 0.0, True)]
        return answers

    async def _in_thread(
        self, function: Callable[[Translate], _T], model: Model, options: SearchOptions
    ) -> _T:
        # Formats are plain functions: they run in a thread, and what they translate waits there
        # for the event loop.
        loop = asyncio.get_running_loop()
        begun: list[Future[list[list[Translation]]]] = []
        is_over = False

        def translate(pieces: list[str]) -> list[str]:
            if is_over:
                raise TimeoutError
            work = self._translate_pieces(pieces, model, options)
            begun.append(asyncio.run_coroutine_threadsafe(work, loop))
            return [answer[0].text for answer in begun[-1].result()]

        try:
            return await loop.run_in_executor(self._formatters, function, translate)
        finally:  # nobody waits for what is still going on
            is_over = True
            for future in begun:
                future.cancel()

    async def _translate_pieces(
        self, texts: Sequence[str], model: Model, options: SearchOptions
    ) -> list[list[Translation]]:
        # As `Translator.translate` does it, but in batches with other requests.
        translator = model.translator
        if sum(map(len, texts)) > _LONG_TEXT:
            pieces = await asyncio.to_thread(translator.encode, texts)
        else:
            pieces = translator.encode(texts)
        rows = [ids for of_text in pieces for ids in of_text]
        keys = [self._cache.key(model.version, options, ids) for ids in rows]
        answers = {key: self._cache.get(key) for key in keys}
        wanted = [key for key, answer in answers.items() if answer is None]
        self.metrics.pieces.labels(model.name).inc(len(rows))
        self.metrics.cache_hits.inc(len(rows) - len(wanted))
        self.metrics.cache_misses.inc(len(wanted))
        if wanted:
            ids_of = dict(zip(keys, rows, strict=True))
            job = Job(translator, options, [ids_of[key] for key in wanted])
            self._batcher.submit(job)
            for key, answer in zip(wanted, await job.future, strict=True):
                answers[key] = answer
                self._cache.put(key, answer)
        remaining = iter([answers[key] or [] for key in keys])
        return [translator.join([next(remaining) for _ in of_text]) for of_text in pieces]

    async def _align(self, model: Model, source: str, target: str) -> list[Link]:
        # In a thread, and not longer than a sentence takes if nobody waits any more.
        links: list[Link] = []
        for (at, sentence), (target_at, translation) in pair_sentences(source, target):
            if len(split_words(sentence)) * len(split_words(translation)) > _MAX_WORD_PAIRS:
                continue
            found = await asyncio.to_thread(model.translator.align, sentence, translation)
            for i, j in found.links:
                (begin, end), (target_begin, target_end) = found.source[i], found.target[j]
                span = target_at + target_begin, target_at + target_end
                links.append(((at + begin, at + end), span))
        return links

    def _too_late(self) -> ServiceError:
        seconds = self.limits.deadline_seconds
        message = f"not done within {seconds:g} seconds; try again, or send less at once"
        return ServiceError(503, message, "late", 1)

    def _tell_models(self) -> None:
        self.metrics.model_info.clear()
        for model in self.catalog.models:
            translator = model.translator
            self.metrics.model_info.labels(
                model.name, model.version, translator.precision, translator.provider
            ).set(1)


def _assemble(lines: list[list[Translation]], around: list[str]) -> list[Translation]:
    if len(lines) == 1:
        before, after = around
        return [
            Translation(f"{before}{one.text}{after}", one.score, one.is_complete)
            for one in lines[0]
        ]
    best = [line[0] for line in lines]
    text = around[0] + "".join(
        one.text + after for one, after in zip(best, around[1:], strict=True)
    )
    score = sum(one.score for one in best) / len(best) if best else 0.0
    return [Translation(text, score, all(one.is_complete for one in best))]
