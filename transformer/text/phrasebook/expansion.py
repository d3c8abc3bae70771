"""Expand the grammar to distinct sentence pairs, held-out combinations of structures kept apart."""

import hashlib
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from transformer.text.phrasebook import english, french
from transformer.text.phrasebook.chance import Weighted
from transformer.text.phrasebook.lexicon import Lexicon, check_known, load_lexicon
from transformer.text.phrasebook.rules import Rule, load_rules
from transformer.text.phrasebook.sentences import Sentences
from transformer.text.phrasebook.speaker import Said
from transformer.text.phrasebook.tables import read_table
from transformer.text.phrasebook.words import Derivation

PARTS = ("train", "valid", "test")
# How many pairs each held-out part gets, of all pairs at most, and the share of the combinations of
# structures that is reserved for it. Combinations of few structures, which everything else is
# built on, are never reserved.
MAX_HELD_OUT, HELD_OUT_SHARE = 1_000, 0.04
_RESERVED_SHARE, _RESERVED_SHARE_OF_SMALL, _SMALL = 0.03, 0.15, 40_000
_MIN_RESERVED_STRUCTURES = 5
# Fixed sentences are repeated, with and without their mark, up to this share of the pairs.
IDIOM_SHARE = 0.18
# How often a sentence is of rules.txt, is wrapped (Bonjour, ...), or is two sentences.
_RULES, _WRAPPED, _TWO = 0.23, 0.11, 0.002
# What is drawn may not go together; so many times its kind of sentence is tried again.
_TRIES = 12
# Structures of what may be asked with a please.
_REQUESTS = frozenset(("modal pouvoir cond", "modal vouloir cond", "request"))
# What is a greeting already takes no other one.
_GREETINGS = ("bonjour", "bonsoir", "salut", "merci", "au revoir", "bon", "attends", "rendez-vous")
_CHUNK = 4_096
# After so many draws in a row without anything new the grammar counts as exhausted.
_PATIENCE = 20 * _CHUNK


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What may stand before and after a sentence: a greeting, a name, a please."""

    # Of the sentences that it goes with: their marks, `o` for orders, `r` for
    # requests, `s` for plain statements.
    marks: frozenset[str]
    before: tuple[str, str]
    after: tuple[str, str]


@dataclass(frozen=True)
class Grammar:
    """The whole phrasebook: words, sentences that are composed, rules, fixed sentences."""

    lexicon: Lexicon
    sentences: Sentences
    rules: Weighted[Rule]
    wrappers: Weighted[Wrapper]
    idioms: tuple[Derivation, ...]

    def draw(self, rng: Random) -> Derivation | None:
        """One sentence pair; None when what was drawn does not go together."""
        self.sentences.speaker.phrases.begin_sentence(rng.random() < 0.4)
        said = self._sentence(rng)
        if said is None:
            return None
        if rng.random() < _WRAPPED and said.structure[0] != "fragment":
            said = self._wrapped(rng, said)
        source, target = _finished(said)
        words, structure = said.words, said.structure
        if said.mark and rng.random() < _TWO:
            polite = self.sentences.speaker.phrases.polite
            more = self._sentence(rng)
            alike = self.sentences.speaker.phrases.polite == polite
            if more is not None and more.mark and alike:
                second = _finished(more)
                source, target = f"{source} {second[0]}", f"{target} {second[1]}"
                words, structure = words + more.words, (*structure, "then", *more.structure)
        self.sentences.speaker.phrases.balance.use(words)
        return Derivation(source, target, words, structure)

    def draw_chunk(self, seed: int, number: int) -> list[Derivation]:
        """The pairs of one chunk: the same, whichever process draws it, and after whichever."""
        rng = Random(f"{seed}:{number}")
        self.sentences.speaker.phrases.balance.reset()
        drawn = (self.draw(rng) for _ in range(_CHUNK))
        return [pair for pair in drawn if pair is not None]

    def _sentence(self, rng: Random) -> Said | None:
        is_rule = rng.random() < _RULES
        make = self.rules.draw(rng).apply if is_rule else self.sentences.kinds.draw(rng)
        for _ in range(_TRIES):
            said = make(rng)
            if said is not None:
                return said
        return None

    def _wrapped(self, rng: Random, said: Said) -> Said:
        wrapper = self.wrappers.draw(rng)
        around = wrapper.before[0] + wrapper.after[0]
        if not said.mark or not wrapper.marks & _manners(said):
            return said
        if not self.sentences.speaker.phrases.may_say(around) or said.fr.startswith(_GREETINGS):
            return said
        name = self.sentences.speaker.phrases.name(rng)
        fr, en = said.fr, said.en
        before, after = wrapper.before, wrapper.after
        fr = f"{before[0]}{fr}{after[0]}".replace("{name}", name.fr)
        en = f"{before[1]}{en}{after[1]}".replace("{name}", name.en)
        kind = f"wrapped {before[0].strip()} {after[0].strip()}"
        return Said(fr, en, said.mark, said.words, (*said.structure, kind))


def _manners(said: Said) -> set[str]:
    """The marks of wrappers that go with the sentence."""
    if said.structure[0].startswith("order"):
        return set() if said.structure[0] == "order nous" else {"o"}
    manners = {said.mark}
    if said.structure[0] == "statement":
        manners.add("s")
    if not _REQUESTS.isdisjoint(said.structure) and said.mark in "?.":
        manners.add("r")
    return manners


def _finished(said: Said) -> tuple[str, str]:
    fr, en = french.finish(said.fr), english.finish(said.en)
    space = " " if said.mark in ("?", "!") else ""
    return f"{fr}{space}{said.mark}", f"{en}{said.mark}"


def load_grammar(folder: Path) -> Grammar:
    """Read the folder; raises ValueError naming file and line, and what to do."""
    lexicon = load_lexicon(folder)
    sentences = Sentences(lexicon)
    columns = ("weight", "marks", "fr before", "en before", "fr after", "en after")
    rows = read_table(folder / "wrappers.txt", columns)
    for row in rows:
        for mark in row["marks"]:
            check_known(row.place, "mark", mark, ".?!ors")
    wrappers = [
        (
            Wrapper(
                frozenset(row["marks"]),
                (_spaced(row["fr before"]), _spaced(row["en before"])),
                (row["fr after"], row["en after"]),
            ),
            row.number("weight"),
        )
        for row in rows
    ]
    idioms = tuple(
        Derivation(row["fr"], row["en"], (), ("idiom",))
        for row in read_table(folder / "idioms.txt", ("fr", "en"))
    )
    return Grammar(
        lexicon,
        sentences,
        load_rules(folder, lexicon, sentences.speaker),
        Weighted(wrappers),
        idioms,
    )


def _spaced(text: str) -> str:
    return f"{text} " if text else ""


def part_of(structure: Sequence[str], seed: int, share: float = _RESERVED_SHARE) -> int:
    """Index into PARTS: test or valid if the seed reserves this combination of structures.

    `share` of the combinations is reserved for each of the two.
    """
    if len(structure) < _MIN_RESERVED_STRUCTURES:
        return 0
    text = "\x1f".join(sorted(structure)).encode()
    digest = hashlib.blake2b(text, digest_size=8, key=str(seed).encode()).digest()
    fraction = int.from_bytes(digest, "big") / 2**64
    return 2 if fraction < share else 1 if fraction < 2 * share else 0


_WORD = re.compile(r"\w+(?:['-]\w+)*")


def words_of(text: str) -> set[str]:
    """The lower-cased words of a sentence, what a hyphen or an apostrophe joins as one."""
    return set(_WORD.findall(text.lower()))


class _Worker:
    """A process's own grammar, loaded once."""

    grammar: Grammar | None = None


def _num_processes(num_pairs: int) -> int:
    """Small corpora are quicker made by one process than by several that have to start."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, num_pairs // (5 * _CHUNK))


def _begin_worker() -> None:
    """Leaves Ctrl-C to the process that started this one, and ends with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _draw_chunk(folder: Path, seed: int, number: int) -> list[Derivation]:
    """The pairs of one chunk: the same, whichever process draws it."""
    if _Worker.grammar is None:
        _Worker.grammar = load_grammar(folder)
    return _Worker.grammar.draw_chunk(seed, number)


def _chunks(folder: Path, seed: int, workers: int) -> Generator[list[Derivation], None, None]:
    """Chunk after chunk, drawn ahead by as many processes."""
    if workers < 2:
        grammar = load_grammar(folder)
        number = 0
        while True:
            yield grammar.draw_chunk(seed, number)
            number += 1
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_begin_worker) as pool:
        ahead = [pool.submit(_draw_chunk, folder, seed, number) for number in range(2 * workers)]
        number = len(ahead)
        try:
            while True:
                yield ahead.pop(0).result()
                ahead.append(pool.submit(_draw_chunk, folder, seed, number))
                number += 1
        finally:
            pool.shutdown(cancel_futures=True)


def derive(folder: Path, num_pairs: int, seed: int) -> dict[str, list[Derivation]]:
    """As `expand`, with the structure and the content words of each sentence."""
    if num_pairs < 1:
        raise ValueError(f"num_pairs = {num_pairs} must be at least 1")
    grammar = load_grammar(folder)
    num_held_out = min(MAX_HELD_OUT, round(num_pairs * HELD_OUT_SHARE))
    num_train = num_pairs - 2 * num_held_out
    # What a small corpus may hold out is scarce: its train knows few words.
    share = _RESERVED_SHARE if num_pairs >= _SMALL else _RESERVED_SHARE_OF_SMALL
    train = list(grammar.idioms[: num_train // 2])
    parts: list[list[Derivation]] = [train, [], []]
    waiting: list[list[Derivation]] = [[], [], []]  # held out if train turns out to know its words
    held_out: _HeldOut | None = None
    sources = {_key(pair.source) for pair in grammar.idioms}
    misses = 0
    with closing(_chunks(folder, seed, _num_processes(num_pairs))) as chunks:
        for chunk in chunks:
            for pair in chunk:
                misses += 1
                key = _key(pair.source)
                if key in sources:
                    continue
                part = part_of(pair.structure, seed, share)
                if part == 0:
                    if len(train) >= num_train:
                        continue
                    train.append(pair)
                elif held_out is None:
                    waiting[part].append(pair)
                elif len(parts[part]) < num_held_out and held_out.fits(pair):
                    parts[part].append(pair)
                else:
                    continue
                sources.add(key)
                misses = 0
            if held_out is None and len(train) >= num_train:
                held_out = _HeldOut(train)
                for part in (1, 2):
                    fitting = (pair for pair in waiting[part] if held_out.fits(pair))
                    parts[part] = list(islice(fitting, num_held_out))
            if sum(map(len, parts)) >= num_pairs or misses > _PATIENCE:
                break
    Random(f"{seed}:order").shuffle(train)
    total = sum(map(len, parts))
    if total < num_pairs:
        # Where train is whole it knows too few words for sentences to be held out.
        other = "more" if len(train) == num_train else "fewer"
        raise ValueError(
            f"num_pairs = {num_pairs}, but this grammar gives only {total} pairs with seed {seed} "
            f"({', '.join(f'{len(part)} {name}' for name, part in zip(PARTS, parts, strict=True))}"
            f"); ask for {other}, or add words and rules to {folder}"
        )
    return dict(zip(PARTS, parts, strict=True))


def _unmarked(sentence: str) -> str:
    return sentence.rstrip(" .!?")


def _key(source: str) -> str:
    """What two sources share that differ in case and marks alone."""
    return _unmarked(source).lower() + ("?" if source.endswith("?") else "")


class _HeldOut:
    """Says which pairs may be held out: train knows all their words and single structures."""

    def __init__(self, train: Sequence[Derivation]) -> None:
        self._targets = {pair.target for pair in train}
        self._source_words: set[str] = set()
        self._target_words: set[str] = set()
        self._structures: set[str] = set()
        for pair in train:
            self._source_words.update(words_of(pair.source))
            self._target_words.update(words_of(pair.target))
            self._structures.update(pair.structure)

    def fits(self, pair: Derivation) -> bool:
        """Whether the pair may be held out; notes its English if so."""
        if (
            pair.target in self._targets
            or not words_of(pair.source) <= self._source_words
            or not words_of(pair.target) <= self._target_words
            or not self._structures.issuperset(pair.structure)
        ):
            return False
        self._targets.add(pair.target)
        return True


def expand(folder: Path, num_pairs: int, seed: int) -> dict[str, list[tuple[str, str]]]:
    """Expand the grammar in `folder` to `num_pairs` distinct (French, English) pairs.

    Returns lists under "train", "valid" and "test". Every sentence of valid and test is built of a
    combination of structures (kind of sentence, subject, tense, negation, complements, adjuncts,
    what it is wrapped in) that train never shows, while each of its words and each of these
    structures occurs in train; no sentence of either language is in two parts. The fixed sentences
    of idioms.txt are repeated in train, beyond `num_pairs`, until they make up IDIOM_SHARE of it,
    every other time without their mark. The same folder, number and seed give the same lists on
    every machine.

    Raises ValueError naming file and line, and what to do, for a malformed grammar, and one that
    says how many pairs there are when the grammar cannot give `num_pairs`.
    """
    parts = {
        name: [(pair.source, pair.target) for pair in pairs]
        for name, pairs in derive(folder, num_pairs, seed).items()
    }
    train, idioms = parts["train"], load_idioms(folder)
    unmarked: dict[str, str] = {}
    for fr, en in idioms:
        # "Ça va ?" and "Ça va." are one without their marks: what it means then is the first's.
        unmarked.setdefault(_unmarked(fr), en)
    for number in range(round(len(train) * IDIOM_SHARE / max(1, len(idioms)))):
        train += unmarked.items() if number % 2 == 0 else idioms
    Random(f"{seed}:idioms").shuffle(train)
    return parts


def load_idioms(folder: Path) -> list[tuple[str, str]]:
    """The fixed sentences of `folder`."""
    return [(row["fr"], row["en"]) for row in read_table(folder / "idioms.txt", ("fr", "en"))]
