"""The corpus: counts, held-out parts, fixed sentences, determinism, processes that end."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.text.phrasebook.conftest import FOLDER
from transformer.text.phrasebook import expansion
from transformer.text.phrasebook.expansion import (
    IDIOM_SHARE,
    PARTS,
    Grammar,
    derive,
    expand,
    load_grammar,
    load_idioms,
    part_of,
    words_of,
)
from transformer.text.phrasebook.words import Derivation

ROOT = Path(__file__).parents[3]
HELD_OUT = ("valid", "test")


# --- how many


def test_as_many_distinct_pairs_as_asked_for(parts: dict[str, list[Derivation]]) -> None:
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 5_520,
        "valid": 240,
        "test": 240,
    }
    pairs = [pair for part in parts.values() for pair in part]
    assert len({pair.source for pair in pairs}) == 6_000


def _bare(sentence: str) -> tuple[str, bool]:
    return sentence.lower().rstrip(" .!?"), sentence.endswith("?")


def test_sentences_differ_in_more_than_case_and_marks(parts: dict[str, list[Derivation]]) -> None:
    composed = [pair for part in parts.values() for pair in part if pair.structure != ("idiom",)]
    bare = Counter(_bare(pair.source) for pair in composed)
    assert [key for key, count in bare.items() if count > 1] == []


def test_a_french_sentence_has_one_translation(parts: dict[str, list[Derivation]]) -> None:
    meanings: dict[str, set[str]] = {}
    for part in parts.values():
        for pair in part:
            meanings.setdefault(pair.source, set()).add(pair.target)
    assert {fr: en for fr, en in meanings.items() if len(en) > 1} == {}


def test_a_small_corpus_is_possible_and_half_of_it_composed() -> None:
    parts = derive(FOLDER, 800, 1)
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 736,
        "valid": 32,
        "test": 32,
    }
    assert sum(pair.structure == ("idiom",) for pair in parts["train"]) <= 368


# --- held-out parts


@pytest.mark.parametrize("name", HELD_OUT)
def test_train_never_shows_a_held_out_combination_of_structures(
    parts: dict[str, list[Derivation]], name: str
) -> None:
    seen = {tuple(sorted(pair.structure)) for pair in parts["train"]}
    assert [pair for pair in parts[name] if tuple(sorted(pair.structure)) in seen] == []


@pytest.mark.parametrize("name", HELD_OUT)
def test_train_shows_each_held_out_structure_and_word(
    parts: dict[str, list[Derivation]], name: str
) -> None:
    train = parts["train"]
    structures = {structure for pair in train for structure in pair.structure}
    french = set().union(*(words_of(pair.source) for pair in train))
    english = set().union(*(words_of(pair.target) for pair in train))
    for pair in parts[name]:
        assert structures.issuperset(pair.structure), pair
        assert words_of(pair.source) <= french, pair
        assert words_of(pair.target) <= english, pair


def test_valid_and_test_hold_out_other_combinations(parts: dict[str, list[Derivation]]) -> None:
    valid, test = ({tuple(sorted(pair.structure)) for pair in parts[name]} for name in HELD_OUT)
    assert not valid & test


@pytest.mark.parametrize("side", ["source", "target"])
def test_no_sentence_is_in_train_and_held_out(
    parts: dict[str, list[Derivation]], side: str
) -> None:
    train, valid, test = ({getattr(pair, side) for pair in parts[name]} for name in PARTS)
    assert not train & valid
    assert not train & test
    assert not valid & test


def test_held_out_sentences_are_of_many_kinds(parts: dict[str, list[Derivation]]) -> None:
    kinds = {pair.structure[0] for pair in parts["test"]}
    assert {"statement", "question inversion", "question est-ce que"} <= kinds
    assert len(kinds) > 12


# --- fixed sentences


def test_fixed_sentences_are_repeated_in_train_alone_half_of_them_without_mark() -> None:
    idioms = load_idioms(FOLDER)
    expanded, num_train = expand(FOLDER, 12_000, 1), 11_040
    repeats = round(IDIOM_SHARE * num_train / len(idioms))
    assert repeats > 1
    counts = Counter(expanded["train"])
    # What only a mark tells apart is said once without it, as the first of its kind.
    bare: dict[str, str] = {}
    for fr, en in idioms:
        bare.setdefault(fr.rstrip(" .!?"), en)
    num_bare = (repeats + 1) // 2
    more = num_bare * len(bare) + (repeats - num_bare) * len(idioms)
    assert len(expanded["train"]) == num_train + more
    assert min(counts[pair] for pair in idioms) >= 1 + repeats // 2
    assert min(counts[pair] for pair in bare.items()) >= num_bare
    sources = {fr for fr, _ in expanded["train"]}
    others = {(fr.rstrip(" .!?"), en) for fr, en in idioms} - set(bare.items())
    assert not others & set(counts)
    assert set(bare) <= sources
    for name in HELD_OUT:
        assert not set(idioms) & set(expanded[name])
        assert len(expanded[name]) == 480


def test_a_fixed_sentence_means_one_thing() -> None:
    meanings: dict[str, set[str]] = {}
    for fr, en in load_idioms(FOLDER):
        meanings.setdefault(fr, set()).add(en)
    assert {fr: en for fr, en in meanings.items() if len(en) > 1} == {}


# --- determinism


def test_another_seed_gives_other_pairs(parts: dict[str, list[Derivation]]) -> None:
    other = derive(FOLDER, 1_200, 2)
    assert len(set(parts["train"]) & set(other["train"])) < 0.6 * len(other["train"])
    assert not set(parts["test"]) & set(other["test"])


_DIGEST = """
import hashlib, sys
from pathlib import Path
from transformer.text.phrasebook.expansion import expand
parts = expand(Path(sys.argv[1]), 1_000, 5)
print(hashlib.sha256(repr(parts).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_pairs_whatever_the_hash_seed() -> None:
    """Two processes with other orders of sets."""
    digests = []
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _DIGEST, FOLDER]
        digests.append(subprocess.check_output(command, env=environment, text=True))
    assert digests[0] == digests[1]


def test_every_machine_draws_what_all_have_drawn(grammar: Grammar) -> None:
    """A change of the grammar, and nothing else, brings another digest."""
    drawn = [grammar.draw_chunk(0, number) for number in range(8)]  # rare constructions too
    assert hashlib.sha256(repr(drawn).encode()).hexdigest()[:16] == "8b81d2b53ccc814f"


def test_two_processes_give_what_one_gives(
    parts: dict[str, list[Derivation]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "_num_processes", lambda num_pairs: 2)
    assert derive(FOLDER, 6_000, 1) == parts


def test_a_plain_loop_gives_the_same_train(
    grammar: Grammar, parts: dict[str, list[Derivation]]
) -> None:
    """Train is what is drawn chunk by chunk, but what came before and what is reserved."""
    seen = {_bare(pair.source) for pair in grammar.idioms}
    train = list(grammar.idioms)
    number = 0
    while len(train) < len(parts["train"]):
        rng = Random(f"1:{number}")
        grammar.sentences.speaker.phrases.balance.reset()
        for pair in [grammar.draw(rng) for _ in range(expansion._CHUNK)]:
            if pair is not None and _bare(pair.source) not in seen:
                seen.add(_bare(pair.source))
                if part_of(pair.structure, 1, expansion._RESERVED_SHARE_OF_SMALL) == 0:
                    train.append(pair)
        number += 1
    assert set(train[: len(parts["train"])]) == set(parts["train"])


# --- what goes wrong


def test_no_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="num_pairs = 0 must be at least 1"):
        expand(FOLDER, 0, 1)


def test_asking_for_too_many_says_how_many_there_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "rules.txt").write_text("weight | fr | en | flags?\n1 | bonjour. | hello.\n")
    monkeypatch.setattr(expansion, "_RULES", 1.0)
    monkeypatch.setattr(expansion, "_PATIENCE", 5_000)
    message = r"num_pairs = 5000, but this grammar gives only \d+ pairs .* ask for fewer"
    with pytest.raises(ValueError, match=message):
        expand(folder, 5_000, 1)


def test_asking_for_too_few_says_to_ask_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "_PATIENCE", 5_000)
    message = r"num_pairs = 60, but this grammar gives only \d+ pairs .* ask for more"
    with pytest.raises(ValueError, match=message):
        expand(FOLDER, 60, 1)


def test_a_malformed_table_is_found_before_processes_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*arguments: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(expansion, "ProcessPoolExecutor", start)
    with (folder / "names.txt").open("a") as names:
        names.write("Dominique | n\n")
    with pytest.raises(ValueError, match=r"names\.txt, line \d+: unknown gender 'n'"):
        expand(folder, 200_000, 1)


_LONG = """
from pathlib import Path
from transformer.text.phrasebook import expansion
if __name__ == "__main__":
    expansion._num_processes = lambda num_pairs: 2
    print("started", flush=True)
    expansion.derive(Path({folder!r}), 2_000_000, 1)
"""


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _children(process: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{process}/task/{process}").glob("children"):
        found += map(int, path.read_text().split())
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for children in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, "a worker"])
def test_however_it_ends_no_process_is_left(tmp_path: Path, how: signal.Signals | str) -> None:
    script = tmp_path / "long.py"
    script.write_text(_LONG.format(folder=str(FOLDER)))
    process = subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs, and so what CI starts there, inherit a SIGINT that is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Two workers, and the process that cleans up after the pool.
    while len(_children(process.pid)) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    children = _children(process.pid)
    if isinstance(how, str):
        os.kill(children[-1], signal.SIGKILL)
    elif how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        os.kill(process.pid, how)
    printed = process.communicate(timeout=30)[1]
    assert process.returncode != 0
    waited = 0.0
    while any(map(_is_running, children)) and waited < 10:
        time.sleep(0.05)
        waited += 0.05
    assert not any(map(_is_running, children))
    if how == "a worker":
        assert re.search("BrokenProcessPool", printed)


def test_an_error_in_a_worker_is_the_callers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A table that was spoiled after it had been read here."""

    def spoil(path: Path) -> Grammar:
        grammar = load_grammar(path)
        (path / "names.txt").unlink()
        return grammar

    monkeypatch.setattr(expansion, "_num_processes", lambda num_pairs: 2)
    monkeypatch.setattr(expansion, "load_grammar", spoil)
    with pytest.raises(ValueError, match=r"names\.txt: no such file"):
        derive(folder, 2_000, 1)
