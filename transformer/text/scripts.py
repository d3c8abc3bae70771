"""Letters of scripts with spaces between words, and without: for expressions of `tokenizers`."""

# Inside brackets. With the mark of a long vowel, which has no script of its own.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
SPACED = rf"[\p{{L}}\p{{M}}&&[^{UNSPACED}]]"
SPACED_OR_DIGIT = rf"[\p{{L}}\p{{M}}\p{{N}}&&[^{UNSPACED}]]"
