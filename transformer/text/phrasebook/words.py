"""What a slot of a pattern can be filled with: nominals, verbs, adjectives, phrases."""

from dataclasses import dataclass, field
from typing import Literal

Gender = Literal["m", "f"]
Aspect = Literal["state", "habit", "event"]


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
    classes: frozenset[str]
    mass: bool  # no plural, partitive article
    en_mass: bool  # no English article or plural
    en_pair: bool  # English plural only: trousers


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
    """Which nouns, numbers and determiners may fill a slot."""

    nouns: tuple[Noun, ...]
    number: str  # sg, pl, any or mass
    determiners: tuple[str, ...]  # codes; "poss" is the possessive of the owner


@dataclass(frozen=True, slots=True)
class Sense:
    """A verb in one use: French and English side by side, and what it takes as object."""

    key: str
    verb: FrenchVerb
    reflexive: bool
    with_etre: bool  # its compound tenses
    agrees: bool  # whether the participle of a reflexive agrees with the subject
    tail: str  # French words after the verb
    en_verb: EnglishVerb
    en_tail: str
    aspect: Aspect
    preposition: str  # French preposition before the object
    objects: NounChoice | None


@dataclass(slots=True)
class Nominal:
    """A person or thing in a sentence: a pronoun, a name, or a noun with its determiner."""

    fr: str
    en: str
    gender: Gender
    plural: bool
    person: int
    en_person: int
    pronoun: Pronoun  # itself, or what replaces it in a second mention
    determiner: Determiner | None = None
    noun: Noun | None = None
    preposition: str = ""
    classes: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_pronoun(self) -> bool:
        """Whether it is realised as a bare pronoun."""
        return self.noun is None and self.fr == self.pronoun.subject
