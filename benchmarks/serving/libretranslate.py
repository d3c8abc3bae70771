"""LibreTranslate's own server with our weights in CTranslate2, in its environment: `FOLDER PORT`.

Its packages hold a SentencePiece model, which our tokenizer is none of, and it downloads models
that find the ends of sentences. Ours stand in for both, and nothing is downloaded.
"""

import sys
from pathlib import Path

from transformer.serving.card import load_card
from transformer.text.normalize import normalize
from transformer.text.sentences import split_sentences
from transformer.text.tokenizer import TokenizerPair


class PackageTokenizer:
    """A translator's tokenizers as Argos Translate calls them. A token's name is its id."""

    def __init__(self, folder: Path) -> None:
        self._tokenizers = TokenizerPair.load(folder)
        self._normalization = dict(load_card(folder).normalization.source)

    def encode(self, sentence: str) -> list[str]:
        """Tokens with the end token."""
        tokenizer = self._tokenizers.source
        ids = tokenizer.encode(normalize(sentence, **self._normalization))
        return [str(id) for id in (*ids, tokenizer.eos_id)]

    def decode(self, tokens: list[str]) -> str:
        """Their text."""
        return self._tokenizers.target.decode([int(name) for name in tokens])


def main(folder: Path, port: str) -> None:
    """Serves until it is ended."""
    from argostranslate import sbd
    from argostranslate.package import Package
    from libretranslate import init
    from libretranslate.main import main as serve

    Package.tokenizer = PackageTokenizer(folder)
    sbd.MiniSBDSentencizer.split_sentences = lambda self, text: split_sentences(text)
    init.check_and_install_models = lambda **options: None
    sys.argv = ["libretranslate", "--port", port, "--disable-web-ui"]
    serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
