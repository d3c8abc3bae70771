"""Inflect French and English words: what the tables leave regular, and conjugation models."""

from dataclasses import dataclass

from transformer.text.phrasebook.words import EnglishVerb, FrenchVerb

FRENCH_VOWELS = frozenset("aeiouyàâäéèêëîïôöùûüœhAEIOUYÀÂÉÈÊËÎÏÔÙÛŒH")
_IMPARFAIT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTUR = ("ai", "as", "a", "ons", "ez", "ont")
_SUBJUNCTIVE = ("e", "es", "e", "ions", "iez", "ent")


def starts_with_vowel(word: str) -> bool:
    """Whether French elides before `word`; a leading `*` marks an aspirated h and its like."""
    return word[:1] in FRENCH_VOWELS


def french_plural(word: str) -> str:
    """The regular plural of a French noun or adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu")) and not word.endswith("bleu"):
        return word + "x"
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + "s"


def french_feminine(word: str) -> str:
    """The regular feminine of a French adjective."""
    return word if word.endswith("e") else word + "e"


def english_plural(word: str) -> str:
    """The regular plural of an English noun (of its last word)."""
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


@dataclass(frozen=True, slots=True)
class Model:
    """A French conjugation: endings that replace `ending` of the infinitive."""

    ending: str
    present: tuple[str, ...]
    imparfait: tuple[str, str]  # stem before a, stem before i
    futur: str
    participle: str
    subjunctive: tuple[str, ...]  # empty: regular
    imperative: tuple[str, ...]  # empty: from the present


def conjugate(infinitive: str, model: Model, with_etre: bool) -> FrenchVerb:
    """All simple forms of a verb. Precondition: the infinitive ends in the model's ending."""
    prefix = infinitive[: len(infinitive) - len(model.ending)]
    present = tuple(prefix + form for form in model.present)
    hard, soft = (prefix + stem for stem in model.imparfait)
    imparfait = tuple((soft if end[0] == "i" else hard) + end for end in _IMPARFAIT)
    strong = present[5][:-3]
    subjunctive = tuple(prefix + form for form in model.subjunctive) or tuple(
        (soft if end in ("ions", "iez") else strong) + end for end in _SUBJUNCTIVE
    )
    imperative = tuple(prefix + form for form in model.imperative)
    if not imperative:
        tu = present[1][:-1] if present[1].endswith(("es", "vas")) else present[1]
        imperative = (tu, present[3], present[4])
    future = prefix + model.futur
    return FrenchVerb(
        infinitive=infinitive,
        forms={
            "pres": present,
            "imp": imparfait,
            "fut": tuple(future + end for end in _FUTUR),
            "cond": tuple(future + end for end in _IMPARFAIT),
            "subj": subjunctive,
        },
        imperative=imperative,
        participle=prefix + model.participle,
        gerund=(imparfait[0][:-3] if infinitive not in _GERUNDS else _GERUNDS[infinitive]) + "ant",
        with_etre=with_etre,
    )


_GERUNDS = {"être": "ét", "avoir": "ay", "savoir": "sach"}


def agree_participle(participle: str, feminine: bool, plural: bool) -> str:
    """A French past participle with its agreement."""
    form = participle + "e" if feminine else participle
    return form + "s" if plural and not form.endswith("s") else form


def english_verb(base: str, past: str = "", participle: str = "", gerund: str = "") -> EnglishVerb:
    """The forms of an English verb; those not given are regular."""
    consonant_y = base.endswith("y") and base[-2] not in "aeiou"
    if not past:
        past = base + "d" if base.endswith("e") else base + "ed"
        past = base[:-1] + "ied" if consonant_y else past
    if not gerund:
        drop = base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be"
        gerund = (base[:-1] if drop else base) + "ing"
    if base in _ENGLISH_THIRD:
        third = _ENGLISH_THIRD[base]
    elif consonant_y:
        third = base[:-1] + "ies"
    elif base.endswith(("s", "sh", "ch", "x", "z", "o")):
        third = base + "es"
    else:
        third = base + "s"
    return EnglishVerb(base, third, past, participle or past, gerund)


_ENGLISH_THIRD = {"be": "is", "have": "has"}
