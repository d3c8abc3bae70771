"""Small MarianMT folders with random weights, as `transformers` writes them."""

import io
import json
import os
import random
import shutil
import warnings

import pytest

pytest.importorskip("transformers", reason="needs the extra `marian`")
os.environ["HF_HUB_OFFLINE"] = "1"

# Latin, Cyrillic, Greek, Devanagari, Arabic, Han.
SCRIPTS = ((0x61, 0x7A), (0x430, 0x44F), (0x3B1, 0x3C9), (0x905, 0x939), (0x628, 0x64A))
SCRIPTS += ((0x4E00, 0x4E50),)


def make_sentences(seed, count, odd=""):
    """Words of random letters, each sentence in one script; half have some `odd` characters."""
    draw = random.Random(seed)
    sentences = []
    for _ in range(count):
        script = draw.choice(SCRIPTS)
        words = [
            "".join(chr(draw.randint(*script)) for _ in range(draw.randint(1, 8)))
            for _ in range(draw.randint(1, 12))
        ]
        if odd and draw.random() < 0.5:
            word = "".join(draw.choices(odd, k=draw.randint(1, 4)))
            words.insert(draw.randrange(len(words) + 1), word)
        sentences.append(draw.choice([" ", "  "]).join(words))
    return sentences


def train_spm(seed, size=700, count=1500, **options):
    """The bytes of a `.spm` file."""
    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(make_sentences(seed, count)), model_writer=out, vocab_size=size,
        minloglevel=2, character_coverage=0.999, **options,
    )  # fmt: skip
    return out.getvalue()


@pytest.fixture(scope="session")
def spm_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spm")
    for seed, side in enumerate(("source", "target")):
        (folder / f"{side}.spm").write_bytes(train_spm(seed))
    return folder


def write_vocabularies(folder, separate=False):
    """`vocab.json` as OPUS-MT has it: pieces of both sides, but for some that it never met."""
    import sentencepiece

    pieces = {}
    for side in ("source", "target"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces[side] = [model.id_to_piece(id) for id in range(3, model.get_piece_size() - 20)]
    sides = (
        [pieces["source"], pieces["target"]] if separate else [pieces["source"] + pieces["target"]]
    )
    for name, own in zip(("vocab.json", "target_vocab.json"), sides, strict=False):
        tokens = list(dict.fromkeys(["</s>", "<unk>", *own, "<pad>"]))
        (folder / name).write_text(json.dumps({piece: id for id, piece in enumerate(tokens)}))
    return len(tokens)


@pytest.fixture(scope="session")
def make_marian(spm_files, tmp_path_factory):
    """Writes a folder; keyword arguments replace values of its `config.json`."""

    def make(wave=4.0, seed=0, **changes):
        import torch
        from transformers import MarianConfig, MarianMTModel

        folder = tmp_path_factory.mktemp("marian")
        for path in spm_files.iterdir():
            shutil.copy(path, folder)
        separate = not changes.get("share_encoder_decoder_embeddings", True)
        last = write_vocabularies(folder, separate) - 1
        sizes = [len(json.loads((folder / "vocab.json").read_text())), last + 1]
        values = {
            "vocab_size": sizes[0], "decoder_vocab_size": sizes[1], "d_model": 32,
            "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
            "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
            "max_position_embeddings": 64, "activation_function": "swish",
            "scale_embedding": True, "pad_token_id": last, "decoder_start_token_id": last,
            "eos_token_id": 0, "forced_eos_token_id": None, "num_beams": 6,
            "bad_words_ids": [[last]],
        }  # fmt: skip
        torch.manual_seed(seed)
        config = MarianConfig(**{k: v for k, v in (values | changes).items() if k[:3] != "num"})
        model = MarianMTModel(config).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if not name.endswith("embed_positions.weight"):
                    parameter.normal_(std=0.2)
                if name.endswith("norm.weight"):
                    parameter.add_(1)
            model.model.decoder.layers[-1].final_layer_norm.weight.mul_(4)
            model.final_logits_bias.normal_(std=0.5)
            # A wave of the positions favors the end token, so that most sentences end somewhere.
            model.lm_head.weight[0] = 0
            model.lm_head.weight[0, 3] = wave
        model.generation_config.update(num_beams=6, bad_words_ids=[[last]], max_length=64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.save_pretrained(folder)
        return folder, model

    return make


@pytest.fixture(scope="session")
def marian(make_marian):
    """One folder with the shape that OPUS-MT has."""
    return make_marian()
