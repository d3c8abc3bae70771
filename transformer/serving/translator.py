"""Text in, text out: an exported translator, without torch."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from transformer.batches import length_batches
from transformer.search.options import SearchOptions
from transformer.serving.card import INPUTS, OUTPUTS, load_card, verify_graph
from transformer.serving.int8_probe import saturates
from transformer.serving.session import Provider, count_threads, expect_provider, open_session
from transformer.text.alignment import TABLE, Aligner, Alignment
from transformer.text.normalize import normalize
from transformer.text.sentences import split_sentences
from transformer.text.tokenizer import TokenizerPair
from transformer.text.word_list import WORDS, WordList

# Source slots times beams in one run of the graph. On the CPU more of them gain nothing, and fewer
# leave batches for the other cores.
MAX_SLOTS = {"cpu": 1024, "cuda": 16384}
# Rows of fewer tokens cost as much as this many: the decoder's work doesn't shrink with them.
MIN_LENGTH = 16
SATURATION = (
    "int8 products saturate on this processor, which has no VNNI instructions: translations may be "
    "worse than the card says; precision = 'float32' is exact"
)
# Languages that put no space between two sentences: Chinese, Japanese, Thai.
UNSPACED_LANGUAGES = ("zh", "ja", "th")


_A = TypeVar("_A")
_B = TypeVar("_B")


@dataclass(frozen=True, slots=True)
class Translation:
    """One translation of one text.

    `score` is the length-normalised log-probability: at most 0, higher is better, comparable
    within one text. For a text that was split at sentence ends it is the mean over its sentences;
    for an empty text 0. `is_complete` is False where the translation reached the length limit
    before the model had ended it.
    """

    text: str
    score: float
    is_complete: bool


class UntranslatableError(ValueError):
    """A text that can't be translated as it stands. `index` is its place among those given."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"text {index + 1}: {reason}")
        self.index = index
        self.reason = reason


class Translator:
    """An exported translator. Safe to share between threads; nothing changes after loading.

    Args:
        folder: models/translator, or a copy of it. Every file that is used is held against its
            checksum.
        provider: `auto` takes CUDA where it works, else the CPU; see the attribute `provider`.
        num_threads: on the CPU; None means all cores. In float32 they share each operation; in
            int8, whose operations are too short for that, each takes another batch of a call.
        precision: float32, int8 or float16, if the folder holds it; `auto` takes what the card
            names for the provider: on the CPU int8 where it passed its gate at the export, unless
            this processor's int8 products saturate (`transformer.serving.int8_probe`).

    Attributes:
        card: languages, limits, search defaults, hashes.
        provider: what it really runs on, `cpu` or `cuda`.
        precision: of the graph that really runs.

    Raises:
        ValueError: no translator there, a missing or changed file, an unknown format, a tokenizer
            that doesn't belong to the graph, a provider or a precision that isn't there.
    """

    def __init__(
        self,
        folder: Path | str,
        provider: Provider = "auto",
        num_threads: int | None = None,
        precision: str = "auto",
    ) -> None:
        folder = Path(folder)
        self.card = load_card(folder)
        self._tokenizers = TokenizerPair.load(folder)
        if self._tokenizers.sha256 != self.card.tokenizer_sha256:
            raise ValueError(
                f"{folder}: the tokenizer is not the one that the graph was trained with "
                f"({self._tokenizers.sha256[:12]}…, not {self.card.tokenizer_sha256[:12]}…); "
                "export the translator again"
            )
        self._normalization = dict(self.card.normalization.source)
        self._words = WordList.load(folder / WORDS) if WORDS in self.card.files else None
        table = folder / TABLE if TABLE in self.card.files else None
        self._aligner = Aligner.load(self._tokenizers, table)

        def choose(provider: Literal["cpu", "cuda"]) -> str:
            wanted = precision
            if precision == "auto":
                wanted = getattr(self.card.default_precision, provider)
            if wanted != "int8" or not saturates():
                return wanted
            if precision == "auto":
                return "float32"
            warnings.warn(SATURATION, RuntimeWarning, stacklevel=3)
            return wanted

        self.provider = expect_provider(provider)
        self.precision = choose(self.provider)
        path = verify_graph(folder, self.card, self.precision)
        self._session, self.provider = self._open(path, provider, num_threads)
        if choose(self.provider) != self.precision:  # CUDA didn't start, which a warning tells
            self.precision = choose(self.provider)
            path = verify_graph(folder, self.card, self.precision)
            self._session, self.provider = self._open(path, self.provider, num_threads)

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int | None = None,
        num_best: int = 1,
        length_penalty: float | None = None,
        patience: float | None = None,
    ) -> list[list[Translation]]:
        """Translates texts of any length, best translations first.

        A text longer than the model holds is split at its sentence ends; the translations are
        joined by spaces, where the target language has them. Only the best one is offered then,
        since the n-best lists of sentences don't make an n-best list of their text.

        Args:
            texts: plain text in the source language. One that is empty, or is nothing after
                normalisation, has one translation: the empty one.
            beam_size: hypotheses kept alive; 1 is greedy search; None takes the card's.
            num_best: translations wanted per text, at most `beam_size`.
            length_penalty: exponent of the length normalisation; 0 favours short translations;
                None takes the card's.
            patience: a sentence is done after patience * beam_size ended hypotheses, or when no
                live one could win with a score a fifth better; 1 or more, `math.inf` to go on
                until none can win; None takes the card's.

        Returns:
            A list per text, in order, of `num_best` translations.

        Raises:
            UntranslatableError: a text isn't valid Unicode; a single sentence is too long; a text
                must be split and `num_best` is over 1.
            ValueError: an option out of its range.
        """
        if isinstance(texts, str):
            raise ValueError("texts must be a list of texts, not one text; write [text]")
        options = self.options(
            beam_size=beam_size,
            num_best=num_best,
            length_penalty=length_penalty,
            patience=patience,
        )
        pieces = self.encode(texts, num_best)
        rows = [ids for of_text in pieces for ids in of_text]
        translations: list[list[Translation]] = [[]] * len(rows)
        # What is a batch depends on the texts alone: in int8 it can move scores a little.
        batches = length_batches([len(ids) for ids in rows], self.max_slots(options), MIN_LENGTH)

        def run(batch: list[int]) -> list[list[Translation]]:
            return self.run([rows[row] for row in batch], options)

        for batch, answers in zip(batches, self._map(run, batches), strict=True):
            for row, answer in zip(batch, answers, strict=True):
                translations[row] = answer
        remaining = iter(translations)
        return [self.join([next(remaining) for _ in of_text]) for of_text in pieces]

    def options(
        self,
        *,
        beam_size: int | None = None,
        num_best: int = 1,
        length_penalty: float | None = None,
        patience: float | None = None,
    ) -> SearchOptions:
        """The card's search options but for those given, as `translate` describes them.

        Raises:
            ValueError: an option out of its range.
        """
        given = {"beam_size": beam_size, "length_penalty": length_penalty, "patience": patience}
        chosen: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
        options = self.card.search.options(self.card.max_target_tokens)
        options = replace(options, num_best=num_best, **chosen)
        options.check_vocabulary(self.card.model.target_vocab_size)
        return options

    def max_slots(self, options: SearchOptions) -> int:
        """Rows times the longest row's tokens that one `run` should have at most."""
        return MAX_SLOTS[self.provider] // options.beam_size

    def join(self, pieces: Sequence[Sequence[Translation]]) -> list[Translation]:
        """The translations of a text from those of its pieces, as `encode` cut it."""
        return _join(pieces, self.sentence_gap)

    @property
    def sentence_gap(self) -> str:
        """What the target language puts between two sentences: a space, or nothing."""
        language = self.card.target_language.replace("_", "-").partition("-")[0]
        return "" if language in UNSPACED_LANGUAGES else " "

    def align(self, source: str, target: str) -> Alignment:
        """Which words of a sentence and of its translation belong together, in their spans.

        By a table that the export made (`transformer.text.alignment`); by spelling and place alone
        where the folder has none, as older ones.
        """
        return self._aligner.align(source, target)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the training text never had, each once, as they stand.

        They are carried over or guessed. What counts as a word, and how many are known at most,
        is told by `transformer.text.word_list`. A translator without a list of words, as older
        ones are, has no unknown ones.

        Raises:
            UntranslatableError: the text isn't valid Unicode.
        """
        return [] if self._words is None else self._words.missing(self._normalize(0, text))

    def _open(
        self, path: Path, provider: Provider, num_threads: int | None
    ) -> tuple[Any, Literal["cpu", "cuda"]]:
        is_parallel = self.precision == "int8" and expect_provider(provider) == "cpu"
        self._num_workers = count_threads(num_threads) if is_parallel else 1
        session, found = open_session(path, provider, 1 if is_parallel else num_threads)
        for what, taken, told in (
            ("inputs", session.get_inputs(), INPUTS),
            ("outputs", session.get_outputs(), OUTPUTS),
        ):
            names = sorted(value.name for value in taken)
            if names != sorted(told):
                raise ValueError(
                    f"{path}: its {what} are {', '.join(names)}, where a translator has "
                    f"{', '.join(sorted(told))}; export the translator again"
                )
        return session, found

    def _map(self, function: Callable[[_A], _B], items: Sequence[_A]) -> list[_B]:
        num_workers = min(self._num_workers, len(items))
        if num_workers <= 1:
            return [function(item) for item in items]
        with ThreadPoolExecutor(num_workers) as pool:
            return list(pool.map(function, items))

    def encode(self, texts: Sequence[str], num_best: int = 1) -> list[list[list[int]]]:
        """Per text its pieces as ids with the end token: none if empty, several if it was split.

        Raises:
            UntranslatableError: as `translate` does.
        """
        cleaned = [self._normalize(index, text) for index, text in enumerate(texts)]
        places = [index for index, text in enumerate(cleaned) if text]
        pieces: list[list[list[int]]] = [[] for _ in texts]
        encoded = self._encode_batch([cleaned[index] for index in places])
        for index, ids in zip(places, encoded, strict=True):
            if len(ids) <= self.card.max_source_tokens:
                pieces[index] = [ids] if len(ids) > 1 else []  # the end token alone is no text
            else:
                pieces[index] = self._split(index, texts[index], len(ids), num_best)
        return pieces

    def _normalize(self, index: int, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UntranslatableError(
                index, f"not valid Unicode: {error}; convert it to UTF-8"
            ) from None
        return normalize(text, **self._normalization)

    def _split(self, index: int, text: str, num_tokens: int, num_best: int) -> list[list[int]]:
        # The text as it came: normalisation may have taken the punctuation that ends a sentence.
        limit = self.card.max_source_tokens
        sentences = [self._normalize(index, sentence) for sentence in split_sentences(text)]
        pieces = self._encode_batch([sentence for sentence in sentences if sentence])
        longest = max(map(len, pieces))
        if longest > limit:
            what = "it" if len(pieces) == 1 else f"one of its {len(pieces)} sentences"
            raise UntranslatableError(
                index,
                f"{what} has {longest} tokens, and this model holds {limit}; "
                "break it into shorter sentences",
            )
        if num_best > 1:
            raise UntranslatableError(
                index,
                f"its {num_tokens} tokens are over the {limit} that this model holds, so it is "
                f"translated sentence by sentence, and num_best = {num_best} can't be offered; "
                "give its sentences one by one, or ask for one translation",
            )
        return pieces

    def _encode_batch(self, texts: list[str]) -> list[list[int]]:
        tokenizer = self._tokenizers.source
        return [[*ids, tokenizer.eos_id] for ids in tokenizer.encode_batch(texts)]

    def run(self, rows: list[list[int]], options: SearchOptions) -> list[list[Translation]]:
        """One run of the graph: the translations of each piece, best first."""
        tokenizer = self._tokenizers.target
        inputs = options.graph_inputs(rows, self._tokenizers.source.pad_id)
        target, scores, target_lengths = self._session.run(
            ["target", "scores", "lengths"],
            {name: inputs[name] for name in self.card.interface.inputs},
        )  # [B, N, T], [B, N], [B, N]
        answers = []
        for row in range(len(rows)):
            answer = []
            for best in range(options.num_best):
                length = int(target_lengths[row, best])
                if length == 0:  # a tiny vocabulary has fewer hypotheses than were asked for
                    continue
                tokens = target[row, best, :length].tolist()
                is_complete = tokens[-1] == tokenizer.eos_id
                text = tokenizer.decode(tokens[:-1] if is_complete else tokens)
                answer.append(Translation(text, float(scores[row, best]), is_complete))
            answers.append(answer)
        return answers


def _join(pieces: Sequence[Sequence[Translation]], gap: str) -> list[Translation]:
    if not pieces:
        return [Translation("", 0.0, True)]
    if len(pieces) == 1:
        return list(pieces[0])
    best = [piece[0] for piece in pieces]
    return [
        Translation(
            gap.join(translation.text for translation in best),
            sum(translation.score for translation in best) / len(best),
            all(translation.is_complete for translation in best),
        )
    ]
