"""Say things in English: auxiliaries, do-support, contractions of not, a or an, plurals."""

import re
from collections.abc import Callable

from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.words import EnglishVerb, Nominal, Sense

BE_PRESENT = ("am", "are", "is", "are", "are", "are")
BE_PAST = ("was", "were", "was", "were", "were", "were")
MODALS = ("will", "would", "can", "could", "must", "should", "might")
VERB_FORMS = ("base", "ing", "pp")
_NEGATED = {"will": "won't", "can": "can't", "must": "mustn't", "am": "am not"}
_SPACES = re.compile(r" {2,}")
_LOOSE = re.compile(r" ([,.!?])")
_ARTICLE = re.compile(r"\ba° (?=(\S))")


def _perfect(sense: Sense, person: int) -> tuple[str, str]:
    return ("has" if person == 2 else "have"), sense.en_verb.participle


def _simple(sense: Sense, person: int) -> tuple[str, str]:
    verb = sense.en_verb
    if verb.base == "be":
        return BE_PRESENT[person], ""
    return "", verb.third if person == 2 else verb.base


def _past(sense: Sense, person: int) -> tuple[str, str]:
    verb = sense.en_verb
    return (BE_PAST[person], "") if verb.base == "be" else ("", verb.past)


# Each tense: the first auxiliary (empty where only do-support brings one) and what follows.
_TENSES: dict[str, Callable[[Sense, int], tuple[str, str]]] = {
    "simple": _simple,
    "past": _past,
    "were": lambda sense, person: ("were", ""),
    "prog": lambda sense, person: (BE_PRESENT[person], sense.en_verb.gerund),
    "pastprog": lambda sense, person: (BE_PAST[person], sense.en_verb.gerund),
    "going": lambda sense, person: (BE_PRESENT[person], f"going to {sense.en_verb.base}"),
    "perf": _perfect,
    "just": lambda sense, person: (_perfect(sense, person)[0], f"just {sense.en_verb.participle}"),
    "perfprog": lambda sense, person: (_perfect(sense, person)[0], f"been {sense.en_verb.gerund}"),
    "pastperfprog": lambda sense, person: ("had", f"been {sense.en_verb.gerund}"),
    "pastperf": lambda sense, person: ("had", sense.en_verb.participle),
    "used": lambda sense, person: ("", f"used to {sense.en_verb.base}"),
}
TENSES = ("pres", *_TENSES, *MODALS)


def finish(text: str) -> str:
    """Choose a or an, drop marks and extra spaces, and begin with a capital."""
    text = _SPACES.sub(" ", text).strip()
    text = _ARTICLE.sub(lambda match: "an " if match[1] in "aeiouAEIOU^" else "a ", text)
    text = _LOOSE.sub(r"\1", text.replace("*", "").replace("^", ""))
    return text[0].upper() + text[1:]


class English:
    """The English side of the grammar, over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._determiners = lexicon.determiners

    def clause(
        self,
        subject: Nominal,
        sense: Sense,
        tense: str,
        *,
        negated: bool = False,
        asked: bool = False,
        adverb: str = "",
    ) -> str:
        """Subject and verb group; `pres` is progressive for a positive event, else simple."""
        person = subject.en_person
        if tense == "pres":
            event = sense.aspect == "event" and not negated and not adverb
            tense = "prog" if event else "simple"
        if tense in MODALS:
            auxiliary, rest = tense, sense.en_verb.base
        else:
            auxiliary, rest = _TENSES[tense](sense, person)
        if not auxiliary and (negated or asked):
            auxiliary = "did" if tense in ("past", "used") else "does" if person == 2 else "do"
            rest = f"use to {sense.en_verb.base}" if tense == "used" else sense.en_verb.base
        if negated:
            auxiliary = _NEGATED.get(auxiliary, f"{auxiliary}n't")
        name = self.nominal(subject)
        order = [auxiliary, name] if asked else [name, auxiliary]
        return " ".join([*order, adverb, rest, self.tail(sense, subject)])

    def verb_form(self, sense: Sense, form: str, owner: Nominal | None) -> str:
        """A base form, gerund or participle; `owner` is who one's and oneself refer to."""
        verb: EnglishVerb = sense.en_verb
        word = {"base": verb.base, "ing": verb.gerund, "pp": verb.participle}[form]
        return f"{word} {self.tail(sense, owner)}"

    def tail(self, sense: Sense, owner: Nominal | None) -> str:
        """The words after the verb, in which one's and oneself agree with the owner."""
        if "one" not in sense.en_tail:
            return sense.en_tail
        possessive, reflexive = "your", "yourself"
        if owner is not None:
            possessive = self._determiners[owner.pronoun.possessive].en_singular
            reflexive = owner.pronoun.en_reflexive
        return sense.en_tail.replace("one's", possessive).replace("oneself", reflexive)

    def nominal(
        self,
        nominal: Nominal,
        code: str = "",
        adjective: str = "",
        owner: Nominal | None = None,
        genitive: bool = False,
    ) -> str:
        """A pronoun, a name, or a noun phrase; `genitive` adds 's."""
        noun = nominal.noun
        words = nominal.en
        if noun is not None:
            determiner = nominal.determiner
            possessor = ""
            if code:
                if code == "poss":
                    assert owner is not None
                    code = owner.pronoun.possessive
                    if not owner.is_pronoun:
                        possessor = self.nominal(owner, genitive=True)
                determiner = self._determiners[code]
            article = ""
            if determiner is not None:
                if noun.en_mass:
                    article = determiner.en_mass
                elif nominal.plural or noun.en_pair:
                    article = determiner.en_plural
                else:
                    article = determiner.en_singular
                if noun.en_pair and not nominal.plural and determiner.en_singular == "a":
                    article = "a pair of"
            if article == "a" or article.endswith(" a"):
                article += "°"
            words = f"{possessor or article} {adjective} {words}"
        if genitive:
            words += "'" if words.endswith("s") and nominal.plural else "'s"
        return words
