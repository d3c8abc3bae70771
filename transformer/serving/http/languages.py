"""Codes and names of languages, as clients write them and as cards do."""

from collections.abc import Iterable

# In English, of the languages that corpora mostly have; others go by their code.
_NAMES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish"},
    **{"de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian"},
    **{"eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish"},
    **{"he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian"},
    **{"is": "Icelandic", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian"},
    **{"lv": "Latvian", "mk": "Macedonian", "mt": "Maltese", "nb": "Norwegian", "nl": "Dutch"},
    **{"pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak"},
    **{"sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili"},
    **{"th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese"},
    **{"zh": "Chinese", "zh-hans": "Chinese (simplified)", "zh-hant": "Chinese (traditional)"},
}


def name_language(code: str) -> str:
    """The English name, or the code itself."""
    return _NAMES.get(_plain(code), _NAMES.get(_base(code), code))


def match_language(wanted: str, codes: Iterable[str]) -> str | None:
    """The code that is meant: in any case, with - or _; one of another region if it is the only."""
    known = sorted(set(codes))
    exact = [code for code in known if _plain(code) == _plain(wanted)]
    related = [code for code in known if _base(code) == _base(wanted)]
    if exact:
        return exact[0]
    return related[0] if len(related) == 1 else None


def _plain(code: str) -> str:
    return code.replace("_", "-").casefold()


def _base(code: str) -> str:
    return _plain(code).partition("-")[0]
