"""What a translation has to carry over as it stands: variables, addresses, code, emoji."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Braces in braces, as in ICU's plurals, down to the third level.
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_NAME = r"[A-Za-z_][\w.-]*"
_PLACEHOLDER = re.compile(
    rf"""(?P<float>
        (?: [\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a-\u23ff] | [0-9\#*]\ufe0f?\u20e3 )
        [\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f\u20e3\U000e0020-\U000e007f]*
      | &(?:[A-Za-z]{{2,8}}|\#[0-9]{{1,7}}|\#x[0-9A-Fa-f]{{1,6}});
      | </?[A-Za-z0-9][\w:.-]*(?:\s+[\w:.-]+=(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>
      )
      | (?P<number>
        (?<![\d%]) %(?:\({_NAME}\)|\d+\$)?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|z)?[diu](?!\w)
      )
      | (?P<word>
        `[^`\n]+`
      | (?:https?|ftp)://[^\s<>"'«»`{{}}]*[^\s<>"'«»`{{}}.,;:!?()\]…]
      | \bwww\.[^\s<>"'«»`{{}}]*[^\s<>"'«»`{{}}.,;:!?()\]…]
      | \b[\w+][\w.+-]*@[\w-]+(?:\.[\w-]+)+
      | [$\#%]?{_BRACES}
      | (?<![\d%]) %\({_NAME}\)[-+0#]*\d*(?:\.\d+)?[a-zA-Z]
      | (?<![\d%]) %(?:\d+\$)?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[oxXeEfFgGcrsap@](?!\w)
      | %%
      | [\ue000-\uf8ff\U000f0000-\U0010ffff]  # private use: ours too, see `segment`
      )""",
    re.VERBOSE,
)


class Placeholder(NamedTuple):
    """A span of text that is kept.

    `kind` is `word` where it is a part of the sentence, `number` where it is one that stands for a
    number, `float` where the sentence is whole without it.
    """

    begin: int
    end: int
    kind: str


def find_placeholders(text: str) -> Iterator[Placeholder]:
    """The placeholders of a text, in order, without overlap."""
    for match in _PLACEHOLDER.finditer(text):
        yield Placeholder(*match.span(), match.lastgroup or "word")
