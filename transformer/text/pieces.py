r"""How a text falls into the pieces that sub-words and words are made of: expressions.

A piece of any of them holds a space as its first character or not at all, and none looks past the
next space. So a text may be cut before its spaces first: the pieces are the same
(`transformer.text.chunks`).
"""

from transformer.text.casing import MARKS_PATTERN
from transformer.text.scripts import SPACED, UNSPACED

# A text falls into words, digits and signs, each with the space before it. An apostrophe stays
# with the word before it; what follows does too when it is short: "l'|homme", "d'un", "don't".
# In a script without spaces the text up to the next sign counts as one word.
PIECES = (
    rf" ?{SPACED}+(?:['’]{SPACED}{{1,2}}(?!{SPACED}))*(?:['’](?={SPACED}))?"
    rf"| ?[{UNSPACED}]+"
    r"| ?\p{N}"
    r"| ?([^\s\p{L}\p{M}\p{N}])\1*"  # a run of one sign, such as an ellipsis
    r"|\s"
)
# The same where capitals are marked: "d'" stays a word before a mark. A mark counts as a sign.
MARKED_PIECES = PIECES.replace(f"(?={SPACED})", f"(?={MARKS_PATTERN}?{SPACED})")
BETWEEN_SPACES = r" ?[^ ]+| "
CHARACTERS = r"[\s\S]"
ALL = (PIECES, MARKED_PIECES, BETWEEN_SPACES, CHARACTERS)
