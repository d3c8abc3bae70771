"""A translator without a model: it turns words around, and says them in capitals."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def translate() -> Callable[..., str]:
    """Translates a document; `say` replaces what turns the words, of which the links are true."""
    from transformer.text.alignment import Alignment, split_words
    from transformer.text.markup.translation import translate_documents

    def turn(sentence: str) -> str:
        words = [sentence[begin:end] for begin, end in split_words(sentence)]
        return " ".join(word if word[0].isupper() else word.upper() for word in reversed(words))

    def align(source: str, target: str) -> Alignment:
        words, others = split_words(source), split_words(target)
        places = zip(range(len(words)), reversed(range(len(others))), strict=False)
        return Alignment(words, others, list(places))

    def run(document: Any, say: Callable[[str], str] = turn) -> str:
        (text,) = translate_documents(
            [document], lambda sentences: [say(one) for one in sentences], align, " "
        )
        return text

    return run
