"""Say things in French: agreement, clitics, negation, inversion, elision, contraction.

Inside a sentence the article is written `°le`, so that it contracts (de °le -> du) where the
pronoun le does not, and `*` marks words before which nothing elides (*héros).
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.morphology import agree_participle, starts_with_vowel
from transformer.text.phrasebook.words import (
    Adjective,
    Determiner,
    FrenchVerb,
    NounPhrase,
    VerbUse,
)

NEGATIONS = ("ne", "pas", "plus", "jamais", "rien", "personne", "pas_encore", "pas_du_tout")
IMPERATIVES = {1: 0, 3: 1, 4: 2}  # person -> index of FrenchVerb.imperative
_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_REFLEXIVE_AFTER = {1: "toi", 3: "nous", 4: "vous"}
_COMPOUND = {"pc": "pres", "pqp": "imp"}
_AFTER_VERB = {"me": "moi", "te": "toi"}
# The order of clitics before a verb.
_RANKS = {
    "me": 0,
    "te": 0,
    "se": 0,
    "nous": 0,
    "vous": 0,
    "le": 1,
    "la": 1,
    "les": 1,
    "lui": 2,
    "leur": 2,
    "y": 3,
    "en": 4,
}

_ELISION = re.compile(
    r"(?<![\w'-])(°?l[ea]|[jmtsnd]e|(?:jus|lors|puis)?que) (?=[aeiouyàâäéèêëîïôöùûüœh])",
    re.IGNORECASE,
)
_SI = re.compile(r"\bsi (?=ils?\b)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?<![\w-])(de|à) °(les?)\b", re.IGNORECASE)
_CONTRACTED = {"dele": "u", "deles": "es", "àle": "u", "àles": "ux"}
_INDEFINITE = re.compile(r"^(?:(?:une?|du|des|de la) |de l')")
_SPACES = re.compile(r" {2,}")
_LOOSE = re.compile(r" (?=[,.])")


def finish(text: str) -> str:
    """Elide, contract, drop marks and extra spaces, and begin with a capital."""
    text = _SPACES.sub(" ", text).strip().replace(" de des ", " de ")
    text = _ELISION.sub(lambda match: match[1][:-1] + "'", text)
    text = _SI.sub(lambda match: match[0][0] + "'", text)
    text = _CONTRACTION.sub(_contract, text)
    if "°" in text or "*" in text:
        text = text.replace("°", "").replace("*", "")
    text = _LOOSE.sub("", text)
    return text[0].upper() + text[1:]


def _contract(match: re.Match[str]) -> str:
    first = "d" if match[1][0] in "dD" else "a"
    first = first.upper() if match[1][0].isupper() else first
    return first + _CONTRACTED[(match[1] + match[2]).lower()]


def order_clitics(clitics: Iterable[str]) -> list[str]:
    """Clitics as they stand before a verb: me le, le lui, y, en."""
    return sorted(clitics, key=_RANKS.__getitem__)


class French:
    """The French side of the grammar, over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._determiners = lexicon.determiners
        self._etre = lexicon.verbs["être"]
        self._avoir = lexicon.verbs["avoir"]

    def clause(self, clause: Clause, *, inverted: bool = False, last: bool = False) -> str:
        """Subject, verb and all that follows.

        Args:
            clause: what to say.
            inverted: a pronoun follows the verb (mange-t-il); a noun stays and is taken up again.
            last: a noun as subject follows the verb (où va ton frère).
        """
        words = [] if inverted and clause.subject.kind == "pronoun" else [clause.subject.fr]
        group = self.verb_group(clause, inverted=inverted and not last)
        if last:
            words = [group, clause.subject.fr]
        else:
            words.append(group)
        return " ".join([*words, self.rest(clause)])

    def verb_group(self, clause: Clause, *, inverted: bool = False) -> str:
        """The verbs with clitics, negation and the adverbs among them, without the subject."""
        subject, use, modal = clause.subject, clause.use, clause.modal
        negation = clause.negation
        clitics = [_REFLEXIVE[subject.person]] * use.reflexive + _clitics(clause)
        clitics = order_clitics(clitics)
        head = modal.verb if modal else use.verb
        etre = modal.with_etre if modal else use.with_etre
        tense = clause.tense
        participle = ""
        if tense in _COMPOUND:
            auxiliary = self._etre if etre else self._avoir
            finite = auxiliary.forms[_COMPOUND[tense]][subject.person]
            participle = head.participle if modal else self._participle(clause, etre=use.with_etre)
        else:
            finite = head.forms[tense][subject.person]
        if inverted:
            if finite == "peux" and subject.person == 0:
                finite = "puis"
            subjects = subject.pronoun.subject
            link = "-t-" if subjects[0] in "ieo" and finite[-1] in "aec" else "-"
            finite += link + subjects
        words = ["ne"] if negation else []
        if not modal:
            words += clitics
        words.append(finite)
        if negation not in ("", "ne", "personne"):
            words.append(negation.replace("_", " "))
        if clause.adverb is not None:
            words.append(clause.adverb.fr[""])
        if participle:
            words.append(participle)
        if modal:
            words.append(modal.tail)
            words += clitics
            words.append(use.verb.infinitive)
        if negation == "personne":
            words.append("personne")
        words.append(self._tail(use, subject, bool(negation)))
        return " ".join(words)

    def rest(self, clause: Clause) -> str:
        """Complements and adjuncts, in their order."""
        negated = bool(clause.negation)
        parts = [part.french(negated) for part in clause.complements if not part.clitic]
        parts += [part.french(negated) for part in clause.adjuncts]
        return " ".join(parts)

    def infinitive(self, clause: Clause, negation: str = "") -> str:
        """`ne pas se coucher tard`; a reflexive agrees with the clause's subject."""
        use = clause.use
        clitics = [_REFLEXIVE[clause.subject.person]] * use.reflexive + _clitics(clause)
        no = ["ne", negation.replace("_", " ")] if negation else []
        words = [*no, *order_clitics(clitics), use.verb.infinitive]
        words.append(self._tail(use, clause.subject, bool(negation)))
        return " ".join([*words, self.rest(clause)])

    def gerund(self, clause: Clause) -> str:
        """`en se levant tôt`."""
        use = clause.use
        clitics = [_REFLEXIVE[clause.subject.person]] * use.reflexive + _clitics(clause)
        words = ["en", *order_clitics(clitics), use.verb.gerund]
        return " ".join([*words, self._tail(use, clause.subject, False), self.rest(clause)])

    def imperative(self, clause: Clause) -> str:
        """`ferme-la`, `ne la ferme pas`; the clause's subject is tu, nous or vous."""
        use, person, negation = clause.use, clause.subject.person, clause.negation
        finite = use.verb.imperative[IMPERATIVES[person]]
        tail = self._tail(use, clause.subject, bool(negation))
        clitics = order_clitics(_clitics(clause))
        if negation:
            before = [_REFLEXIVE[person]] * use.reflexive + clitics
            words = ["ne", *before, finite, negation.replace("_", " "), tail]
            return " ".join([*words, self.rest(clause)])
        # After the verb le, la, les come first: donne-le-moi.
        clitics.sort(key=lambda clitic: clitic not in ("le", "la", "les"))
        after = [_REFLEXIVE_AFTER[person]] * use.reflexive
        after += [_AFTER_VERB.get(clitic, clitic) for clitic in clitics]
        if after[:1] in (["y"], ["en"]) and finite[-1] in "ae":
            finite += "s"
        return " ".join(["-".join([finite, *after]), tail, self.rest(clause)])

    def _participle(self, clause: Clause, *, etre: bool) -> str:
        use = clause.use
        target: NounPhrase | None = None
        if etre:
            target = clause.subject if use.agrees else None
        else:
            for part in clause.complements:
                if part.clitic in ("le", "la", "les", "me", "te", "nous", "vous"):
                    target = part.phrase if part.kind == "direct" else target
        return agree(use.verb, target)

    def _tail(self, use: VerbUse, subject: NounPhrase, negated: bool) -> str:
        """The words after the verb: son, sa, ses agree with the owner; pas un becomes pas de."""
        if not use.tail:
            return ""
        first, _, others = use.tail.partition(" ")
        if first not in ("son", "sa", "ses"):
            return _INDEFINITE.sub("de ", use.tail) if negated else use.tail
        determiner = self._determiners[subject.pronoun.possessive]
        forms = {
            "son": determiner.masculine,
            "sa": determiner.feminine,
            "ses": determiner.plural,
        }
        return f"{forms[first]} {others}"


def _clitics(clause: Clause) -> list[str]:
    return [part.clitic for part in clause.complements if part.clitic]


def agree(verb: FrenchVerb, target: NounPhrase | None) -> str:
    """The past participle, agreeing with `target` if there is one."""
    if target is None:
        return verb.participle
    return agree_participle(verb.participle, target.gender == "f", target.plural)


def agreeing(clause: Clause, phrase: NounPhrase) -> Clause:
    """The clause with its participle agreeing with a direct object that stands before it."""
    if clause.tense not in _COMPOUND or clause.use.with_etre or clause.modal:
        return clause
    verb = replace(clause.use.verb, participle=agree(clause.use.verb, phrase))
    return replace(clause, use=replace(clause.use, verb=verb))


def direct_clitic(phrase: NounPhrase) -> Part:
    """The pronoun that stands for a direct object."""
    pronoun = phrase.pronoun
    return Part("direct", en=pronoun.en_object, phrase=phrase, clitic=pronoun.direct)


def compared(adjective: Adjective, phrase: NounPhrase, word: str = "plus") -> str:
    """The French comparative: plus grande, moins cher, meilleures."""
    if word == "plus" and adjective.plus:
        return agree_participle(adjective.plus, phrase.gender == "f", phrase.plural)
    return f"{word} {adjective.agree(phrase.gender, phrase.plural)}"


def determine(determiner: Determiner, gender: str, plural: bool, following: str) -> str:
    """The form of a determiner before `following`."""
    if plural:
        return determiner.plural
    vowel = starts_with_vowel(following)
    if gender == "m":
        return determiner.masculine_vowel if vowel else determiner.masculine
    return determiner.feminine_vowel if vowel else determiner.feminine
