"""Say things in English: auxiliaries, do-support, contractions of not, a or an, plurals."""

import re
from collections.abc import Callable

from transformer.text.phrasebook.clause import Clause
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.words import EnglishVerb, NounPhrase, VerbUse

BE_PRESENT = ("am", "are", "is", "are", "are", "are")
BE_PAST = ("was", "were", "was", "were", "were", "were")
MODALS = ("will", "would", "can", "could", "must", "should", "might")
# Words that follow a pronoun as object: turn it on, wake him up.
_PARTICLES = frozenset(("on", "off", "up", "down", "away", "out", "back", "over"))
_NEGATED = {"will": "won't", "can": "can't", "must": "mustn't", "am": "am not"}
_SPACES = re.compile(r" {2,}")
_LOOSE = re.compile(r" (?=[,.!?])")
_ARTICLE = re.compile(r"\b([aA])° (?=(\S))")


def _perfect(verb: EnglishVerb, person: int) -> tuple[str, str]:
    return ("has" if person == 2 else "have"), verb.participle


def _simple(verb: EnglishVerb, person: int) -> tuple[str, str]:
    if verb.base == "be":
        return BE_PRESENT[person], ""
    return "", verb.third if person == 2 else verb.base


def _past(verb: EnglishVerb, person: int) -> tuple[str, str]:
    return (BE_PAST[person], "") if verb.base == "be" else ("", verb.past)


# Each tense: the first auxiliary (empty where only do-support brings one) and what follows.
_TENSES: dict[str, Callable[[EnglishVerb, int], tuple[str, str]]] = {
    "simple": _simple,
    "past": _past,
    "prog": lambda verb, person: (BE_PRESENT[person], verb.gerund),
    "pastprog": lambda verb, person: (BE_PAST[person], verb.gerund),
    "going": lambda verb, person: (BE_PRESENT[person], f"going to {verb.base}"),
    "perf": _perfect,
    "just": lambda verb, person: (_perfect(verb, person)[0], f"just {verb.participle}"),
    "perfprog": lambda verb, person: (_perfect(verb, person)[0], f"been {verb.gerund}"),
    "pastperf": lambda verb, person: ("had", verb.participle),
    "used": lambda verb, person: ("", f"used to {verb.base}"),
}


def finish(text: str) -> str:
    """Choose a or an, drop marks and extra spaces, and begin with a capital."""
    text = _SPACES.sub(" ", text).strip()
    if "°" in text:
        text = _ARTICLE.sub(
            lambda match: f"{match[1]}n " if match[2] in "aeiouAEIOU^" else f"{match[1]} ", text
        )
    if "*" in text or "^" in text:
        text = text.replace("*", "").replace("^", "")
    text = _LOOSE.sub("", text)
    return text[0].upper() + text[1:]


class English:
    """The English side of the grammar, over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._determiners = lexicon.determiners

    def clause(self, clause: Clause, *, asked: bool = False, word: str = "") -> str:
        """Subject, verb and all that follows.

        Args:
            clause: what to say.
            asked: put the auxiliary first.
            word: what a question begins with; without one some becomes any.
        """
        use, modal = clause.use, clause.modal
        person = clause.subject.en_person
        tense = english_tense(clause)
        verb = use.en_verb
        after = ""
        if modal is not None:
            main = verb.gerund if modal.en_form == "ing" else verb.base
            if modal.en_verb is None:
                after = ""
            else:
                verb, after = modal.en_verb, f"{modal.en_tail} {main}"
        auxiliary, rest = (tense, verb.base) if tense in MODALS else _TENSES[tense](verb, person)
        negated = clause.negation not in ("", "ne", "jamais")
        if not auxiliary and (negated or asked):
            auxiliary = "did" if tense in ("past", "used") else "does" if person == 2 else "do"
            rest = f"use to {verb.base}" if tense == "used" else verb.base
        if negated:
            auxiliary = _NEGATED.get(auxiliary, f"{auxiliary}n't")
        name = clause.subject.en
        order = [word, auxiliary, name] if asked else [name, auxiliary]
        if clause.negation == "jamais":
            order.append("never")
        if clause.adverb is not None:
            order.append(clause.adverb.en[""])
        way = "negated" if clause.negation else "usual" if clause.habitual else ""
        liking = modal is not None and modal.en_form == "ing"
        if modal is not None and liking and "habit" in modal.tags and not way:
            way = "usual"  # he likes eating apples
        way = way or ("asked" if asked and not word and not liking else "")
        return " ".join([*order, rest, after, self.rest(clause, way)])

    def rest(self, clause: Clause, way: str = "") -> str:
        """The words after the verb: particles, complements, adjuncts."""
        use = clause.use
        tail = self.tail(use, clause.subject)
        words = [tail]
        complements = list(clause.complements)
        direct = next((part for part in complements if part.kind == "direct"), None)
        recipient = next((part for part in complements if part.kind == "recipient"), None)
        if direct is not None and (direct.clitic or direct.name == "that"):
            complements.remove(direct)
            # turn it on, but look for it
            moves = tail in _PARTICLES and use.en_verb.base != "get"
            words = [direct.en, tail] if moves else [tail, direct.en]
            if recipient is not None and recipient.clitic:
                complements.remove(recipient)
                words.append(f"to {recipient.en}")
        elif recipient is not None and recipient.clitic and "to" not in use.tags:
            complements.remove(recipient)
            words.append(recipient.en)
        for part in complements:
            start = "to" if part.clitic and part is recipient else ""
            words.append(f"{start} {part.en if part.clitic else part.english(way)}")
        if clause.negation == "rien":
            words.append("anything")
        elif clause.negation == "personne":
            words.append("anyone")
        words += [part.english("") for part in clause.adjuncts]
        if clause.negation in ("plus", "pas_encore", "pas_du_tout"):
            words.append(_AT_END[clause.negation])
        return " ".join(words)

    def base(self, clause: Clause) -> str:
        """`eat an apple`, what follows to or an imperative."""
        return f"{clause.use.en_verb.base} {self.rest(clause, _way(clause))}"

    def gerund(self, clause: Clause) -> str:
        """`eating an apple`."""
        return f"{clause.use.en_verb.gerund} {self.rest(clause, _way(clause))}"

    def imperative(self, clause: Clause) -> str:
        """`close the door`, `don't close it`, `let's go`."""
        start = "let's" if clause.subject.person == 3 else ""
        if clause.negation == "jamais":
            start = f"{start} never"
        elif clause.negation:
            start = f"{start} not" if start else "don't"
        return f"{start} {self.base(clause)}"

    def tail(self, use: VerbUse, owner: NounPhrase) -> str:
        """The words after the verb, in which one's and oneself agree with the owner."""
        if "one" not in use.en_tail:
            return use.en_tail
        possessive = self._determiners[owner.pronoun.possessive].en_singular
        return use.en_tail.replace("one's", possessive).replace(
            "oneself", owner.pronoun.en_reflexive
        )


_AT_END = {"plus": "anymore", "pas_encore": "yet", "pas_du_tout": "at all"}


def _way(clause: Clause) -> str:
    return "negated" if clause.negation else ""


def english_tense(clause: Clause) -> str:
    """Which English tense says what the clause's French tense says."""
    use, tense = clause.use, clause.tense
    if clause.modal is not None:
        return clause.modal.en_tense
    if tense == "pres":
        if clause.since:
            return "perfprog" if use.aspect == "event" else "perf"
        usual = clause.negation not in ("", "ne") and "habit" in use.tags
        usual = usual and not clause.complements and not clause.adjuncts
        simple = use.aspect != "event" or usual or clause.habitual or clause.adverb
        return "simple" if simple else "prog"
    if tense == "imp":
        if clause.habitual and use.aspect == "event":
            return "used"
        return "pastprog" if use.aspect == "event" else "past"
    if tense == "pc":
        return "perf" if clause.perfect or clause.negation == "pas_encore" else "past"
    return {"fut": "will", "cond": "would", "pqp": "pastperf", "subj": "simple"}[tense]
