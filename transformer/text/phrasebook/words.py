"""The words of the phrasebook, and what they are put together to: noun phrases and derivations."""

from dataclasses import dataclass, field
from typing import Literal

Gender = Literal["m", "f"]
# How English says a positive present: I know, I am eating, or not at all (to find, to fall).
Aspect = Literal["state", "event", "point"]
# The tenses that each language says; english.py tells how.
FrenchTense = Literal["pres", "imp", "fut", "cond", "subj", "pc", "pqp"]
EnglishTense = Literal[
    "simple", "past", "prog", "pastprog", "going", "perf", "just", "perfprog", "pastperf", "used",
    "will", "would", "can", "could", "must", "should", "might",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Determiner:
    """A determiner in both languages; French forms by gender and following sound."""

    code: str
    masculine: str
    masculine_vowel: str
    feminine: str
    feminine_vowel: str
    plural: str
    en_singular: str
    en_plural: str
    en_mass: str
    negated: str  # code of the determiner that replaces it in a negated clause
    asked: str  # code of the determiner that replaces it in a question
    usual: str  # code of the determiner that replaces it in what is habitual


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal pronoun with all its cases; `person` counts 0 (je) to 5 (ils)."""

    key: str
    subject: str
    gender: Gender | None  # None: either (je, tu, nous, vous)
    plural: bool | None  # None: either (vous)
    person: int
    direct: str
    indirect: str
    stressed: str
    en_subject: str
    en_person: int
    en_object: str
    en_reflexive: str
    possessive: str  # determiner code
    weight: int  # how often it is drawn as a subject; 0 = never


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun; `forms[gender]` is (singular, plural), an empty form does not exist."""

    key: str
    forms: dict[Gender, tuple[str, str]]
    en_singular: str
    en_plural: str
    classes: frozenset[str]  # with those above them, and its own name
    mass: bool  # no plural, partitive article
    en_mass: bool  # no English article or plural
    en_pair: bool  # English plural only: trousers
    weight: int  # how often it is drawn, beside others of its class


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; French forms are masculine, feminine and their plurals."""

    key: str
    masculine: str
    masculine_vowel: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before: bool
    plus: str  # masculine of an irregular comparative (meilleur), else empty
    en: str
    comparative: str
    superlative: str
    classes: frozenset[str]
    has_degrees: bool  # False: neither very nor more (married, wooden)
    attributive: bool  # False: not beside a noun (an ill man)
    weight: int  # how often it is drawn, beside others

    def agree(self, gender: Gender, plural: bool) -> str:
        """The French form for this gender and number."""
        if gender == "m":
            return self.masculine_plural if plural else self.masculine
        return self.feminine_plural if plural else self.feminine


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that do not inflect; `fr[""]` is the plain form, others are named forms."""

    key: str
    fr: dict[str, str]
    en: dict[str, str]


@dataclass(frozen=True, slots=True)
class FrenchVerb:
    """A conjugated verb: `forms[tense]` lists six persons, `imperative` tu, nous, vous."""

    infinitive: str
    forms: dict[str, tuple[str, ...]]
    imperative: tuple[str, ...]
    participle: str
    gerund: str
    with_etre: bool


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """The forms of an English verb's first word."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


@dataclass(frozen=True, slots=True)
class NounChoice:
    """Which nouns, numbers and determiners may fill a place."""

    nouns: tuple[Noun, ...]
    number: str  # sg, pl, one, any, mass or all
    determiners: tuple[str, ...]  # codes; "poss" is the possessive of the subject


@dataclass(frozen=True, slots=True)
class ObjectChoice:
    """What a verb takes: `kind` says how it is drawn, the preposition how it is joined.

    `kind` is `noun` (of `nouns`), `person`, or one of `clauses.COMPLEMENTS` (at, to, adjective ...)
    with the classes that it may be of.
    """

    kind: str
    preposition: str = ""
    nouns: NounChoice | None = None
    classes: tuple[str, ...] = ()
    recipient: str = ""  # "à", "pour", "de": a person follows


@dataclass(frozen=True, slots=True)
class VerbUse:
    """A verb in one use: French and English side by side, what it takes, what goes with it."""

    key: str
    verb: FrenchVerb
    reflexive: bool
    with_etre: bool  # its compound tenses
    agrees: bool  # whether the participle of a reflexive agrees with the subject
    tail: str  # French words after the verb
    en_verb: EnglishVerb
    en_tail: str
    aspect: Aspect
    tags: frozenset[str]
    subjects: tuple[Noun, ...]  # empty: persons alone
    also_persons: bool
    weight: float
    objects: tuple[ObjectChoice, ...]  # one of them is drawn


@dataclass(frozen=True, slots=True)
class Modal:
    """A verb before an infinitive, in one tense of both languages."""

    key: str
    verb: FrenchVerb
    with_etre: bool
    tail: str  # French words up to the infinitive: "envie de"
    tense: str
    en_verb: EnglishVerb | None  # None: an English modal, which `en_tense` names
    en_tail: str  # English words up to the verb
    en_tense: str
    en_form: str  # base or ing
    weight: float
    tags: frozenset[str]


@dataclass(slots=True)
class NounPhrase:
    """A person or thing in a sentence, said in all the ways that its place may ask for.

    French changes after a negation (un, du, des become de), English in a negated clause, in a
    question (some becomes any) and in what is habitual (some goes).
    """

    fr: str
    en: str
    gender: Gender
    plural: bool
    person: int
    en_person: int
    pronoun: Pronoun  # itself, or what stands for it
    kind: str  # pronoun, name, noun, quantity, pair: a feature of the structure
    fr_negated: str = ""
    en_negated: str = ""
    en_asked: str = ""
    en_usual: str = ""
    definite: bool = True
    words: tuple[str, ...] = ()  # content words
    classes: frozenset[str] = field(default_factory=frozenset)
    fr_bare: str = ""  # without determiner, for quel, combien de
    en_bare: str = ""

    def french(self, negated: bool = False) -> str:
        """The French words; `negated`: as direct object of a negated verb."""
        return self.fr_negated if negated and self.fr_negated else self.fr

    def english(self, way: str = "") -> str:
        """The English words; `way` is empty, negated, asked or usual."""
        if self.definite or not way:
            return self.en
        return {"negated": self.en_negated, "asked": self.en_asked, "usual": self.en_usual}[way]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One sentence pair, the content words in it, and the structure that it has."""

    source: str
    target: str
    words: tuple[str, ...]
    structure: tuple[str, ...]
