"""A clause before it is said: who does what, to what, when, where, and how sure that is."""

from dataclasses import dataclass, field, replace

from transformer.text.phrasebook.words import Modal, NounPhrase, Phrase, VerbUse


@dataclass(slots=True)
class Part:
    """A complement or an adjunct: its words in both languages, or a noun phrase after them.

    `kind` is `direct`, `indirect`, `recipient`, `that`, ... or an adjunct's: `place`, `time`, ...
    """

    kind: str
    fr: str = ""
    en: str = ""
    phrase: NounPhrase | None = None
    words: tuple[str, ...] = ()
    # A pronoun before the French verb, and what English says for it after the verb.
    clitic: str = ""
    name: str = ""  # which kind of time, place or company: a feature of the structure

    def french(self, negated: bool) -> str:
        """The French words after the verb."""
        if self.phrase is None:
            return self.fr
        return f"{self.fr} {self.phrase.french(negated and self.kind == 'direct')}"

    def english(self, way: str) -> str:
        """The English words after the verb."""
        if self.phrase is None:
            return self.en
        return f"{self.en} {self.phrase.english(way)}"


@dataclass(slots=True)
class Clause:
    """Everything that a sentence says, whatever its form."""

    subject: NounPhrase
    use: VerbUse
    tense: str  # of the first verb, in French
    modal: Modal | None = None
    negation: str = ""  # a key of french.NEGATIONS
    adverb: Phrase | None = None  # between subject and verb in English, after the verb in French
    complements: list[Part] = field(default_factory=list)
    adjuncts: list[Part] = field(default_factory=list)
    # An adjunct or a pronoun makes the English present simple (habit) or perfect (since).
    habitual: bool = False
    since: bool = False
    perfect: bool = False  # English perfect for the French passé composé

    def without(self, part: Part) -> "Clause":
        """This clause without one of its complements or adjuncts."""
        return replace(
            self,
            complements=[each for each in self.complements if each is not part],
            adjuncts=[each for each in self.adjuncts if each is not part],
        )

    def words(self) -> tuple[str, ...]:
        """All content words."""
        found = [*self.subject.words, self.use.key]
        for part in (*self.complements, *self.adjuncts):
            found += part.words
            if part.phrase is not None:
                found += part.phrase.words
        return tuple(found)

    def structure(self) -> tuple[str, ...]:
        """What the clause is made of, words aside: the features that held-out parts combine."""
        found = [f"subject {self.subject.kind}", f"tense {self.tense}"]
        if self.modal is not None:
            found.append(f"modal {self.modal.key}")
        if self.negation:
            found.append(f"negation {self.negation}")
        if self.adverb is not None:
            found.append("adverb")
        for part in self.complements:
            kind = f"{part.kind} {part.phrase.kind}" if part.phrase else part.kind
            found.append(f"complement {'clitic ' if part.clitic else ''}{kind}")
        found += [f"adjunct {part.kind} {part.name}".strip() for part in self.adjuncts]
        return tuple(found)
