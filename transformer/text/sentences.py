"""Cutting a text into its sentences."""

import re

# What may close a sentence in scripts with spaces, then the quotes or brackets that belong to it.
# French puts a space before its marks, and inside its quotes; that space belongs to the sentence.
_END = re.compile(
    r"""(?: \s? [!?؟]+ (?:\s?[!?؟])* | \.+ | … | [।॥۔] )  # the marks
        [.…]*
        (?: \s?[»›] | [)\]}"'”’“]+ )*                        # what closes with them
        \s+                                                   # the gap between two sentences
      | [。！？｡]+ [」』”’）》〉]*\s*                           # marks that need no gap
    """,
    re.VERBOSE,
)
_OPENING = "\"'“”„‚‘«‹([{¿¡-–— "
# Before a full stop that ends no sentence, in the languages that the recipes use; lower-cased.
_ABBREVIATIONS = {
    # English
    *(
        "mr",
        "mrs",
        "ms",
        "mt",
        "dr",
        "prof",
        "st",
        "sr",
        "jr",
        "vs",
        "etc",
        "approx",
        "dept",
        "est",
    ),
    *("inc", "ltd", "corp", "gen", "col", "sgt", "capt", "lt", "rev", "hon", "vol", "fig", "pp"),
    *("jan", "feb", "apr", "aug", "sept", "oct", "nov", "dec", "cf"),
    # French
    *("mm", "mme", "mmes", "mlle", "mlles", "mgr", "env", "tél", "av"),
    # German
    *("hr", "bzw", "usw", "ggf", "evtl", "inkl", "nr", "jh", "mio", "mrd", "ca", "str"),
    # Spanish
    *("sra", "srta", "dra", "uds"),
}
_LAST_WORD = re.compile(r"(\w+(?:\.\w+)*)\.$")


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, in order, without spaces at their edges.

    By rule, so that every machine cuts alike: after an end mark, unless it closes an abbreviation,
    an initial or a German ordinal ("am 3. Mai"), and unless the text goes on in lower case. In
    doubt it does not cut. Only spaces are lost; empty text has no sentences.
    """
    sentences, begin = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if end < len(text) and _is_boundary(text[begin:end].rstrip(), text[end:]):
            sentences.append(text[begin:end].strip())
            begin = end
    sentences.append(text[begin:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_boundary(before: str, after: str) -> bool:
    following = after.lstrip(_OPENING)[:1]
    if following.islower():
        return False
    last = _LAST_WORD.search(before)
    if last is None:
        return True
    word = last[1]
    is_initial = len(word) == 1 and word.isalpha() and word != "I"
    is_ordinal = word.isdigit() and len(word) <= 2
    return not (is_initial or is_ordinal or "." in word or word.lower() in _ABBREVIATIONS)
