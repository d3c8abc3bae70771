"""MarianMT folders: the same logits and translations as `transformers` has, there and back."""

import json
import pickle
import shutil

import pytest
import torch

from tests.marian.conftest import make_sentences
from transformer.marian.folder import read_folder, write_folder
from transformer.search.corpus import decode_corpus
from transformer.search.options import SearchConfig

SHAPES = {
    "shared": {"wave": -5.5, "seed": 2},
    "separate": {"share_encoder_decoder_embeddings": False},
    "untied": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    "relu": {"activation_function": "relu", "encoder_layers": 1, "wave": -8.0},
}
LENGTH = 24


QUICK = ("shared", "separate")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SHAPES
    ],
)
def both(request, make_marian):
    folder, theirs = make_marian(**SHAPES[request.param])
    return folder, theirs, read_folder(folder)


def encode(ours, count, seed=3):
    tokenizer = ours.tokenizers.source
    return [[*ids, tokenizer.eos_id] for ids in tokenizer.encode_batch(make_sentences(seed, count))]


def pad(rows, value):
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])
    return ids, torch.arange(longest) < torch.tensor([[len(row)] for row in rows])


def their_translations(theirs, rows, beam_size):
    """Without start token and padding."""
    special = theirs.config
    ids, mask = pad(rows, special.pad_token_id)
    found = theirs.generate(
        ids, attention_mask=mask.long(), num_beams=beam_size, max_new_tokens=LENGTH,
        length_penalty=0.0, early_stopping=False, do_sample=False, forced_eos_token_id=None,
        bad_words_ids=[[special.pad_token_id]], max_length=None,
    )  # fmt: skip
    return [[id for id in row if id != special.pad_token_id] for row in found[:, 1:].tolist()]


def our_translations(ours, rows, beam_size, batch_size):
    search = SearchConfig(
        beam_size=beam_size, length_penalty=0.0, patience=None, max_length_factor=0.0,
        max_length_extra=LENGTH,
    )  # fmt: skip
    found = decode_corpus(
        ours.model, rows, search.options(ours.info.model.max_positions),
        batch_tokens=1 if batch_size == 1 else 10**6, source_pad=ours.info.source.pad_id,
        special=ours.info.target,
    )  # fmt: skip
    return [best.ids for (best,) in found]


def test_logits_are_those_of_transformers_with_padding_on_both_sides(both):
    _, theirs, ours = both
    source, mask = pad(encode(ours, 8), ours.info.source.pad_id)
    size = ours.info.target_vocab_size
    target, _ = pad([[size - 1, *range(n)] for n in (3, 9, 1, 5, 2, 7, 4, 6)], size - 1)
    with torch.no_grad():
        expected = theirs(source, mask.long(), target).logits
        assert expected.std() > 0.5
        torch.testing.assert_close(ours.model(source, mask, target), expected)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_are_those_of_transformers_token_by_token(both, beam_size):
    _, theirs, ours = both
    rows = encode(ours, 32)
    expected = their_translations(theirs, rows, beam_size)
    # One that was cut is the best by their beam search if it is likelier; by ours if none ended.
    compared = [i for i, row in enumerate(expected) if beam_size == 1 or row[-1] == 0]
    assert len({len(expected[i]) for i in compared}) > 2, "targets of several lengths are padded"
    assert len(compared) >= 12
    together = our_translations(ours, rows, beam_size, 32)
    alone = our_translations(ours, rows[:8], beam_size, 1)
    assert [together[i] for i in compared] == [expected[i] for i in compared]
    assert alone == together[:8]
    assert [their_translations(theirs, [row], beam_size)[0] for row in rows[:2]] == expected[:2]


def test_ids_and_texts_are_those_of_their_tokenizer(both):
    from transformers import MarianTokenizer

    folder, theirs, ours = both
    separate = not theirs.config.share_encoder_decoder_embeddings
    names = {"source_spm": "source.spm", "target_spm": "target.spm", "vocab": "vocab.json"}
    if separate:
        names["target_vocab_file"] = "target_vocab.json"
    paths = {key: str(folder / name) for key, name in names.items()}
    tokenizer = MarianTokenizer(**paths, separate_vocabs=separate)
    sentences = make_sentences(5, 300)
    eos = ours.tokenizers.source.eos_id
    mine = [[*ids, eos] for ids in ours.tokenizers.source.encode_batch(sentences)]
    known = set(json.loads((folder / "vocab.json").read_text()).values())
    assert tokenizer(sentences)["input_ids"] == mine
    assert {id for row in mine for id in row} <= known
    target = tokenizer(text_target=sentences)["input_ids"]
    assert [[*ids, eos] for ids in ours.tokenizers.target.encode_batch(sentences)] == target
    texts = [ours.tokenizers.target.decode(ids).replace("<unk>", "") for ids in target]
    theirs_text = tokenizer.batch_decode(target, skip_special_tokens=True)
    assert [text.split() for text in texts] == [text.split() for text in theirs_text]


def test_what_is_saved_loads_in_transformers_and_comes_back_the_same(both, tmp_path):
    from transformers import AutoTokenizer, MarianMTModel

    _, theirs, ours = both
    search = SearchConfig(
        beam_size=6, length_penalty=1.0, patience=None, max_length_factor=2.0, max_length_extra=9
    )
    languages = {"source": "de", "target": "en"}
    write_folder(tmp_path / "saved", ours.model, ours.tokenizers, search, languages)
    saved = MarianMTModel.from_pretrained(tmp_path / "saved").eval()
    for name, value in theirs.state_dict().items():
        assert torch.equal(saved.state_dict()[name], value), name
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "saved")
    sentences = make_sentences(6, 100)
    eos = ours.tokenizers.source.eos_id
    mine = [[*ids, eos] for ids in ours.tokenizers.source.encode_batch(sentences)]
    assert tokenizer(sentences)["input_ids"] == mine
    again = read_folder(tmp_path / "saved")
    assert again.tokenizers.source.json == ours.tokenizers.source.json
    assert again.languages == languages
    assert again.search == {"beam_size": 6, "length_penalty": 1.0, "patience": None}


def own_model(model_maker, mark_case=False, **changes):
    """A model of this project's own vocabulary, in a shape that MarianMT has."""
    from transformer.text.tokenizer import TokenizerPair
    from transformer.text.vocab_config import BpeSpec
    from transformer.text.vocabulary import fit_tokenizer

    spec = BpeSpec(kind="bpe", size=500, min_frequency=1, mark_case=mark_case)
    tokenizer = fit_tokenizer(spec, make_sentences(8, 200))
    shape = {"norm": "post", "position_encoding": "sinusoidal_halves", "tie_embeddings": "output"}
    sizes = {"source_vocab_size": tokenizer.size, "target_vocab_size": tokenizer.size}
    model = model_maker(**(sizes | shape | {"with_biases": True, "sharpness": 1.0} | changes))
    return model, TokenizerPair(tokenizer, tokenizer)


SEARCH = SearchConfig(
    beam_size=1, length_penalty=0.0, patience=None, max_length_factor=0.0, max_length_extra=LENGTH
)


@pytest.mark.parametrize("tie", ["none", "output", "all"])
def test_a_model_of_our_own_translates_the_same_in_transformers(tie, model_maker, tmp_path):
    from transformers import AutoTokenizer, MarianMTModel

    model, pair = own_model(model_maker, tie_embeddings=tie, output_bias=tie == "none")
    write_folder(tmp_path / "own", model, pair, SEARCH, {"source": "fr", "target": "en"})
    theirs = MarianMTModel.from_pretrained(tmp_path / "own").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "own")
    texts = [text for text in make_sentences(9, 20) if len(pair.source.encode(text)) < 35]
    rows = [[*pair.source.encode(text), pair.source.eos_id] for text in texts]
    assert tokenizer(texts)["input_ids"] == rows
    source, mask = pad(rows, pair.source.pad_id)
    special = pair.target.special
    found = theirs.generate(
        source, attention_mask=mask.long(), max_new_tokens=LENGTH, max_length=None,
        num_beams=1, forced_eos_token_id=None,
    )  # fmt: skip
    options = SEARCH.options(model.config.max_positions)
    ours = decode_corpus(
        model, rows, options, batch_tokens=10**6, source_pad=special.pad_id, special=special
    )
    expected = [[id for id in row if id != special.pad_id] for row in found[:, 1:].tolist()]
    assert [best.ids for (best,) in ours] == expected


def test_what_marian_has_no_form_for_is_refused_with_every_reason(model_maker, tmp_path):
    languages = {"source": "fr", "target": "en"}
    model, pair = own_model(model_maker, norm="pre", position_encoding="rotary")
    with pytest.raises(ValueError, match=r"model\.norm = 'pre': .*\n.*encoding = 'rotary': Marian"):
        write_folder(tmp_path / "own", model, pair, SEARCH, languages)
    model, pair = own_model(model_maker, mark_case=True)
    with pytest.raises(ValueError, match=r"it marks capitals.*mark_case to false"):
        write_folder(tmp_path / "own", model, pair, SEARCH, languages)
    assert not list(tmp_path.iterdir())


def test_a_pickled_state_is_read_and_one_that_runs_code_is_not(marian, tmp_path):
    from safetensors.torch import load_file

    source, _ = marian
    folder = tmp_path / "pickled"
    shutil.copytree(source, folder)
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    expected = read_folder(source).model.state_dict()
    for name, value in read_folder(folder).model.state_dict().items():
        assert torch.equal(value, expected[name])

    class Hostile:
        def __reduce__(self):
            return (type(tmp_path).touch, (tmp_path / "ran",))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Hostile()}))
    with pytest.raises(ValueError, match=r"pytorch_model\.bin holds other than tensors"):
        read_folder(folder)
    assert not (tmp_path / "ran").exists()


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_state(folder, change):
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    state = load_file(path)
    change(state)
    save_file(state, path)


BAD = {
    "no config": (lambda f: (f / "config.json").unlink(), r"config\.json: no such file"),
    "not json": (lambda f: (f / "config.json").write_text("{"), r"config\.json is not JSON"),
    "another model": (lambda f: edit(f, model_type="bart"), r"model_type = 'bart'"),
    "options": (
        lambda f: edit(f, normalize_before=True, activation_function="tanh", d_model=33),
        r"normalize_before = True.*\n.*activation_function = 'tanh'.*\n.*num_heads = 4 must divide",
    ),
    "start token": (lambda f: edit(f, decoder_start_token_id=5), r"only pad_token_id = \d+ is"),
    "no pieces": (lambda f: (f / "target.spm").unlink(), r"target\.spm missing"),
    "torn pieces": (
        lambda f: (f / "source.spm").write_bytes((f / "source.spm").read_bytes()[:900]),
        r"source\.spm is not a SentencePiece model",
    ),
    "another vocabulary": (
        lambda f: (f / "vocab.json").write_text('{"</s>": 0, "<unk>": 1, "a": 2, "<pad>": 3}'),
        r"vocab\.json: holds 1 of the \d+ pieces .* different models",
    ),
    "a vocabulary of another size": (lambda f: edit(f, vocab_size=99), r"by config\.json .* 99,"),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(),
        r"neither model\.safetensors nor pytorch_model\.bin",
    ),
    "torn weights": (
        lambda f: (f / "model.safetensors").write_bytes(b"\x09" * 99),
        r"model\.safetensors is damaged",
    ),
    "shapes": (lambda f: edit(f, encoder_ffn_dim=64, decoder_ffn_dim=64), r"fc1\.weight is \[48, "),
    "a size beyond memory": (
        lambda f: edit(f, d_model=400_000, dropout=0),
        r"model\.shared\.weight is \[\d+, 32\], not \[\d+, 400000\]",
    ),
    "no number": (
        lambda f: edit(f, dropout=None, d_model="a"),
        r"d_model = 'a'.*\n.*dropout = None",
    ),
    "missing": (
        lambda f: change_state(f, lambda s: s.pop("model.decoder.layers.1.fc2.bias")),
        r"model\.decoder\.layers\.1\.fc2\.bias is missing",
    ),
    "unknown": (
        lambda f: change_state(f, lambda s: s.update({"model.extra": torch.zeros(2)})),
        r"model\.extra is unknown",
    ),
    "not finite": (
        lambda f: change_state(f, lambda s: s["final_logits_bias"].fill_(torch.nan)),
        r"final_logits_bias has values that are not finite",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_folder_is_refused_by_what_is_wrong(name, marian, tmp_path):
    spoil, message = BAD[name]
    shutil.copytree(marian[0], tmp_path / "bad")
    spoil(tmp_path / "bad")
    with pytest.raises(ValueError, match=message):
        read_folder(tmp_path / "bad")
