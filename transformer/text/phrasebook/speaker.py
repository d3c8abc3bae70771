"""What a sentence pair is before it is finished, and who says it: both languages' grammars."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from transformer.text.phrasebook.clause import Clause
from transformer.text.phrasebook.clauses import Clauses
from transformer.text.phrasebook.english import English
from transformer.text.phrasebook.french import French
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import NounPhrases


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence pair before its first letter is made a capital, without its mark."""

    fr: str
    en: str
    mark: str
    words: tuple[str, ...]
    structure: tuple[str, ...]


Make = Callable[[Random], Said | None]


class Speaker:
    """Draws clauses and says them in both languages."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.phrases = NounPhrases(lexicon)
        self.clauses = Clauses(lexicon, self.phrases)
        self.in_french = French(lexicon)
        self.in_english = English(lexicon)

    def french(self, clause: Clause) -> str:
        """The French statement."""
        return self.in_french.clause(clause)

    def english(self, clause: Clause) -> str:
        """The English statement."""
        return self.in_english.clause(clause)

    def infinitive(self, clause: Clause) -> str:
        """`manger une pomme`."""
        return self.in_french.infinitive(clause)

    def base(self, clause: Clause) -> str:
        """`eat an apple`."""
        return self.in_english.base(clause)

    def gerund(self, clause: Clause) -> str:
        """`eating an apple`."""
        return self.in_english.gerund(clause)
