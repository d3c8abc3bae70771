"""The special tokens: their names, ids and order, fixed here for the whole project."""

from typing import NamedTuple

PAD = "<pad>"
UNK = "<unk>"
BOS = "<s>"
EOS = "</s>"

# A tokenizer fitted here gives them the ids 0, 1, 2, 3.
SPECIAL_TOKENS = (PAD, UNK, BOS, EOS)

# A piece that ends the model's vocabulary in a tokenizer's file: those behind it are cut out of a
# text like others, but the model has no id for them, so that they count as unknown. Itself it is
# never cut out: no normalized text has its first character.
END_OF_VOCABULARY = "\x01<end>"

# The names under which a pretrained tokenizer may hold them, in the order they are looked for.
KNOWN_NAMES = {
    "pad": (PAD, "[PAD]"),
    "unk": (UNK, "[UNK]"),
    "bos": (BOS, "[BOS]", "[CLS]", PAD),  # without a start token, padding opens (Marian, T5)
    "eos": (EOS, "[EOS]", "[SEP]"),
}


class SpecialIds(NamedTuple):
    """The ids of padding, unknown text, start token and end token on one side."""

    pad_id: int
    unk_id: int
    bos_id: int
    eos_id: int


def find_special_ids(vocabulary: dict[str, int], where: str) -> SpecialIds:
    """Finds the special tokens of a vocabulary by their known names.

    Raises:
        ValueError: some are missing; all of them are listed, with the names that were tried.
    """
    found = {
        role: next((vocabulary[name] for name in names if name in vocabulary), None)
        for role, names in KNOWN_NAMES.items()
    }
    missing = [
        f"{role} (tried {', '.join(KNOWN_NAMES[role])})" for role, id in found.items() if id is None
    ]
    if missing:
        raise ValueError(
            f"{where}: a tokenizer for translation needs tokens for padding, unknown text, start "
            f"and end; missing are {'; '.join(missing)}. Add them to the tokenizer, choose another "
            "one, or fit one with vocab kind 'bpe'"
        )
    pad, unk, bos, eos = (id for id in found.values() if id is not None)
    return SpecialIds(pad_id=pad, unk_id=unk, bos_id=bos, eos_id=eos)
