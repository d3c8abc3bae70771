"""Pairs that a translator makes: what it says of each text, whatever the shards and the engine."""

import gzip
from functools import partial
from random import Random

import pytest

from tests.text.test_cleaning import config as clean_config
from transformer.serving import corpus
from transformer.serving.translator import Translation, Translator
from transformer.synthesis import making
from transformer.synthesis.config import BackTranslation, Distillation, TranslationNoise
from transformer.synthesis.making import make_shard, synthesize
from transformer.synthesis.noise import BLANK, add_noise, draw_one
from transformer.text.cleaning import clean_corpus
from transformer.text.corpus import (
    SCHEMA_WITH_ORIGIN,
    part_path,
    read_pairs,
    read_side,
    write_pairs,
)
from transformer.text.manifest import Manifest, Origin, hash_parts, write_manifest
from transformer.text.synthetic import SYNTHETIC, read_share, read_synthetic, write_nothing

TRAIN = [
    ("un chat", "a cat"),
    ("deux chien dort", "two dogs"),
    ("chat", "cat"),
    ("un " * 9, "too long for it"),
    ("trois  chat", "three cats"),
    (" ", "nothing"),
]
TEXTS = ["a cat", "UN CHAT", "", "trois", "chien dort", "un deux trois quatre", "deux"]


def distillation(**changes):
    values = {"precision": "float32", "beam_size": 3, "original_weight": 0.0, "num_best": 1}
    return Distillation(kind="distillation", **values | changes)


def back_translation(**changes):
    values = {
        "precision": "float32",
        "beam_size": 3,
        "original_weight": 1.0,
        "text": "en.txt",
        "max_sentences": None,
        "num_best": 1,
        "noise": None,
        "tag": None,
        "seed": 1,
    }
    return BackTranslation(kind="back_translation", **values | changes)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A raw corpus, and text of its target language."""
    monkeypatch.setenv("COMPUTE_WORKERS", "1")
    monkeypatch.setattr(corpus, "SHARD_LINES", 3)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/en.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    write_raw(tmp_path / "raw", TRAIN)
    return tmp_path


def write_raw(folder, train, origin=None, **changes):
    folder.mkdir(exist_ok=True)
    rows = train if origin is None else [(*pair, origin) for pair in train]
    schema = {} if origin is None else {"schema": SCHEMA_WITH_ORIGIN}
    write_pairs(part_path(folder, "train"), rows, **schema)
    for part in ("valid", "test"):
        write_pairs(part_path(folder, part), [("quatre chat", "QUATRE DEUX")])
    values = {
        "name": "toy",
        "kind": "text",
        "origin": "here",
        "revision": None,
        "license": "CC0-1.0",
        "source_language": "fr",
        "target_language": "en",
        "counts": {"train": len(train), "valid": 1, "test": 1},
        "num_empty": {"train": 0, "valid": 0, "test": 0},
        "sha256": hash_parts(folder),
        "origin_sha256": {},
    }
    write_manifest(folder, Manifest(**values | changes))


def make(here, config, translator):
    folders = here / "raw", translator, here / "texts", here / "synthetic", here / "states"
    made = synthesize(config, *folders)
    assert read_synthetic(here / "synthetic") == made
    path = part_path(here / "synthetic", "train")
    return made, list(read_pairs(path)), list(read_side(path, "origin"))


def test_a_teacher_replaces_the_references(here, make_translator):
    folder = make_translator()
    made, pairs, origins = make(here, distillation(), folder)
    translator = Translator(folder, "cpu", 1, "float32")
    sources = ["un chat", "deux chien dort", "chat", "trois chat"]
    assert pairs == [
        (source, answer[0].text)
        for source, answer in zip(sources, translator.translate(sources, beam_size=3), strict=True)
    ]
    assert set(origins) == {SYNTHETIC}
    assert (made.num_texts, made.num_untranslatable, made.num_pairs) == (5, 1, 4)
    assert (made.model_hash, made.license) == (translator.card.model_hash, "CC0-1.0")
    assert not list((here / "synthetic").glob(".*"))


def test_its_n_best_join_them(here, make_translator):
    made, pairs, origins = make(
        here, distillation(num_best=2, original_weight=1.0), make_translator()
    )
    assert pairs[: len(TRAIN)] == TRAIN
    assert origins == ["toy"] * len(TRAIN) + [SYNTHETIC] * made.num_pairs
    answers = Translator(here / "translator", "cpu", 1, "float32").translate(
        ["un chat"], beam_size=3, num_best=2
    )[0]
    assert pairs[len(TRAIN) : len(TRAIN) + 2] == [("un chat", one.text) for one in answers]


@pytest.mark.parametrize("is_gzip", [False, True])
def test_sources_are_made_for_text(here, make_translator, is_gzip):
    if is_gzip:
        path = here / "texts/en.txt"
        path.write_bytes(gzip.compress(path.read_bytes()))
    back = make_translator(source_language="en", target_language="fr")
    made, pairs, _ = make(here, back_translation(original_weight=0.0), back)
    translator = Translator(back, "cpu", 1, "float32")
    texts = [text for text in TEXTS if text]
    answers = translator.translate(texts, beam_size=3)
    assert pairs == [(answer[0].text, text) for text, answer in zip(texts, answers, strict=True)]
    assert made.num_texts == len(texts)


def test_a_sample_of_the_text(here, make_translator):
    back = make_translator(source_language="en", target_language="fr")
    config = back_translation(original_weight=0.0, max_sentences=3)
    _, pairs, _ = make(here, config, back)
    _, all_pairs, _ = make(here, back_translation(original_weight=0.0), back)
    assert 2 <= len(pairs) <= 3  # a line is empty
    assert pairs == [pair for pair in all_pairs if pair in pairs]


@pytest.mark.slow
def test_the_same_by_any_number_of_workers(here, make_translator, monkeypatch):
    back = make_translator(source_language="en", target_language="fr")
    config = back_translation(
        num_best=3, noise=TranslationNoise(drop=0.2, blank=0.2, max_shift=2), tag="<bt>"
    )
    found = []
    for workers in ("1", "2"):
        monkeypatch.setenv("COMPUTE_WORKERS", workers)
        found.append(make(here, config, back))
    assert found[0] == found[1]
    assert found[0][0].train_sha256 == found[1][0].train_sha256


def test_what_was_killed_goes_on_where_it_was(here, make_translator, monkeypatch):
    back = make_translator(source_language="en", target_language="fr")
    config = back_translation(num_best=3, noise=TranslationNoise(drop=0.2, blank=0, max_shift=1))
    whole = make(here, config, back)
    assert not list((here / "states").iterdir())
    asked = []

    def dies_at(count):
        def make_some(translator, config, shard):
            if len(asked) == count:
                raise KeyboardInterrupt
            asked.append(shard.lines.start)
            return make_shard(translator, config, shard)

        monkeypatch.setattr(making, "make_shard", make_some)

    for count in (2, 2):  # at once again, the second time
        dies_at(count)
        with pytest.raises(KeyboardInterrupt):
            make(here, config, back)
    # What was damaged is made again.
    (kept,) = (here / "states").iterdir()
    (kept / "1.json").write_text((kept / "1.json").read_text().replace("chien", "chat"))
    dies_at(None)
    assert make(here, config, back) == whole
    assert asked == [1, 4, 4, 7]
    assert not list((here / "states").iterdir())
    # Another translator, text or setting begins anew.
    asked.clear()
    make(here, config.model_copy(update={"seed": 2}), back)
    assert asked == [1, 4, 7]


def clean(here, **changes):
    values = {"drop_leaks": True, "drop_duplicates": True} | changes
    report = clean_corpus(clean_config(**values), here / "raw", here / "clean", here / "synthetic")
    path = part_path(here / "clean", "train")
    return report, list(read_pairs(path)), list(read_side(path, "origin"))


def test_what_was_made_is_cleaned_weighted_tagged_and_counted(here, make_translator):
    (here / "texts/en.txt").write_text("QUATRE DEUX\nun chat\nun chat\nquatre chat\n")
    back = make_translator(source_language="en", target_language="fr")
    make(here, back_translation(tag="<bt>", original_weight=3.0), back)
    report, pairs, origins = clean(here, drop_copies=False)
    tagged = [pair for pair, origin in zip(pairs, origins, strict=True) if origin == SYNTHETIC]
    # Of four lines one stands in the test part, one repeats.
    assert tagged == [("<bt> UN CHAT", "un chat"), ("<bt> QUATRE CHAT", "quatre chat")]
    assert report.rejected["leak"] == 1
    assert report.origins[SYNTHETIC].rejected["duplicate"] == 1
    kept = report.origins["toy"].kept
    assert origins.count("toy") == 3 * kept == report.origins["toy"].weighted
    share = read_share(here / "clean")
    assert share is not None
    assert (share.num_pairs, share.share) == (2, round(2 / len(pairs), 6))


def test_a_source_that_was_made_is_no_leak_either(here, make_translator):
    """Judged before the tag is put on."""
    (here / "texts/en.txt").write_text("un chat\n")
    write_raw(here / "raw", TRAIN)
    for part in ("valid", "test"):
        write_pairs(part_path(here / "raw", part), [("UN CHAT", "something else")])
    back = make_translator(source_language="en", target_language="fr")
    make(here, back_translation(tag="<bt>"), back)
    report, _, origins = clean(here)
    assert SYNTHETIC not in origins
    assert report.origins[SYNTHETIC].rejected["leak"] == 1


def test_nothing_made_is_the_corpus_alone(here):
    write_nothing(here / "synthetic")
    settings = clean_config(drop_leaks=True)
    clean_corpus(settings, here / "raw", here / "one", here / "synthetic")
    clean_corpus(settings, here / "raw", here / "two")
    assert hash_parts(here / "one") == hash_parts(here / "two")
    assert read_share(here / "one") is None


def test_parts_of_a_corpus_keep_their_weights(here, make_translator):
    part = Origin("text", "here", None, "CC0-1.0", 2.0, {"train": 6, "valid": 0, "test": 0})
    write_raw(here / "raw", TRAIN, "web/a", origins={"web": part})
    make(here, distillation(original_weight=2.0), make_translator())
    report, _, origins = clean(here, drop_copies=False)
    assert origins.count("web/a") == 4 * report.origins["web"].kept


def test_a_changed_file_is_told(here, make_translator):
    make(here, distillation(), make_translator())
    path = part_path(here / "synthetic", "train")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="synthesize"):
        clean(here)


@pytest.mark.parametrize(
    ("config", "changes", "told"),
    [
        (distillation(), {"source_language": "de"}, "from de to en; distillation .* from fr to en"),
        (back_translation(), {}, "translates from fr to en; back_translation .* from en to fr"),
        (distillation(), {"graphs": {"float32": {"file": None, "passed": False, "problems": ["x"]}},
                          "default_precision": {"cuda": "int8"}}, "holds int8 alone"),
    ],
)  # fmt: skip
def test_a_translator_that_does_not_fit_is_refused(here, make_translator, config, changes, told):
    with pytest.raises(ValueError, match=told):
        make(here, config, make_translator(**changes))
    assert not (here / "synthetic").exists()


def test_a_missing_text_and_a_taken_name_are_told(here, make_translator):
    back = make_translator(source_language="en", target_language="fr")
    with pytest.raises(ValueError, match=r"synthesize.text = 'no.txt': there is no such file"):
        make(here, back_translation(text="no.txt"), back)
    write_raw(here / "raw", TRAIN, f"{SYNTHETIC}/x")
    with pytest.raises(ValueError, match="call that part of the corpus something else"):
        make(here, back_translation(), back)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (partial(distillation, num_best=4), "num_best = 4: at most beam_size = 3"),
        (partial(back_translation, num_best=4), "num_best = 4: at most beam_size = 3"),
        (partial(back_translation, text="../x"), "the name of a file in data/monolingual"),
        (partial(back_translation, tag="a b"), "a tag is one word"),
    ],
)
def test_settings_that_cant_work_are_refused(config, told):
    with pytest.raises(ValueError, match=told):
        config()


def test_one_of_the_n_best_is_drawn_by_its_probability():
    answers = [Translation("a", -0.1, True), Translation("b", -1.2, True)]
    random = Random(1)
    draws = [draw_one(answers, random).text for _ in range(2000)]
    # exp(-0.1) to exp(-1.2) is 3.004 to 1.
    assert draws.count("a") / len(draws) == pytest.approx(0.75, abs=0.03)


def test_noise_drops_blanks_and_moves_words():
    words = [str(number) for number in range(400)]
    text = " ".join(words)
    nothing = TranslationNoise(drop=0.0, blank=0.0, max_shift=0)
    assert add_noise(text, nothing, Random(1)) == text
    dropped = add_noise(text, TranslationNoise(drop=0.25, blank=0.0, max_shift=0), Random(1))
    kept = dropped.split(" ")
    assert kept == [word for word in words if word in set(kept)]
    assert 260 <= len(kept) <= 340
    blanked = add_noise(text, TranslationNoise(drop=0.0, blank=0.25, max_shift=0), Random(1))
    assert 60 <= blanked.split(" ").count(BLANK) <= 140
    moved = add_noise(text, TranslationNoise(drop=0.0, blank=0.0, max_shift=3), Random(1))
    shifts = [abs(place - int(word)) for place, word in enumerate(moved.split(" "))]
    assert sorted(moved.split(" "), key=int) == words
    assert 0 < max(shifts) <= 3
    assert add_noise("x", TranslationNoise(drop=0.9, blank=0.0, max_shift=3), Random(5)) == "x"
