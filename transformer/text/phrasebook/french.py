"""Say things in French: agreement, clitics, negation, inversion, elision, contraction.

Inside a sentence the article is written `°le`, so that it contracts (de °le -> du) where the
pronoun le does not, and `*` marks words before which nothing elides (*héros).
"""

import re
from collections.abc import Sequence

from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.morphology import agree_participle, starts_with_vowel
from transformer.text.phrasebook.words import Adjective, Determiner, Nominal, Sense

TENSES = ("pres", "imp", "fut", "cond", "subj", "pc", "pqp", "proche", "recent", "en_train")
NEGATIONS = ("pas", "plus", "jamais", "rien", "personne", "ne", "pas_encore", "pas_du_tout")
VERB_FORMS = ("inf", "gerund", "tu", "nous", "vous")
_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_COMPOUND = {"pc": "pres", "pqp": "imp"}
_PERIPHRASTIC = {
    "proche": ("aller", ""),
    "recent": ("venir", "de "),
    "en_train": ("être", "en train de "),
}
_IMPERATIVES = {"tu": 0, "nous": 1, "vous": 2}
_IMPERATIVE_OWNERS = {"tu": "ton", "nous": "notre", "vous": "votre"}
_IMPERATIVE_REFLEXIVE = ("toi", "nous", "vous")
_STRESSED_AFTER_VERB = {"me": "moi", "te": "toi"}

_ELISION = re.compile(
    r"(?<![\w'-])(°?l[ea]|[jmtsnd]e|(?:jus|lors|puis)?que) (?=[aeiouyàâäéèêëîïôöùûüœh])",
    re.IGNORECASE,
)
_SI = re.compile(r"\bsi (?=ils?\b)")
_CONTRACTION = re.compile(r"(?<![\w'-])(de|à) °(les?)\b")
_CONTRACTED = {"dele": "du", "deles": "des", "àle": "au", "àles": "aux"}
_INDEFINITE = re.compile(r"^(?:(?:une?|du|des|de la) |de l')")
_SPACES = re.compile(r" {2,}")


def finish(text: str) -> str:
    """Elide, contract, drop marks and extra spaces, and begin with a capital."""
    text = _SPACES.sub(" ", text).strip()
    text = _ELISION.sub(lambda match: match[1][:-1] + "'", text)
    text = _SI.sub("s'", text)
    text = _CONTRACTION.sub(lambda match: _CONTRACTED[match[1] + match[2]], text)
    text = text.replace("°", "").replace("*", "").replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]


class French:
    """The French side of the grammar, over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._determiners = lexicon.determiners
        self._verbs = lexicon.verbs

    def clause(
        self,
        subject: Nominal,
        sense: Sense,
        tense: str,
        *,
        negation: str = "",
        inverted: bool = False,
        postponed: bool = False,
        clitics: Sequence[str] = (),
        adverb: str = "",
        agreement: Nominal | None = None,
    ) -> str:
        """Subject and verb group; `agreement` is a preceding direct object.

        `inverted`: a pronoun follows the verb (mange-t-il); `postponed`: a noun too (où est Paul).
        """
        person = subject.person
        before = " ".join([_REFLEXIVE[person]] * sense.reflexive + list(clitics))
        rest = ""
        if tense in _COMPOUND:
            etre = sense.with_etre
            auxiliary = self._verbs["être" if etre else "avoir"]
            finite = auxiliary.forms[_COMPOUND[tense]][person]
            rest = self._participle(subject, sense, etre, agreement)
        elif tense in _PERIPHRASTIC:
            name, link = _PERIPHRASTIC[tense]
            finite = self._verbs[name].forms["pres"][person]
            rest = f"{link}{before} {sense.verb.infinitive}"
            before = ""
        else:
            finite = sense.verb.forms[tense][person]
        last = postponed and not subject.is_pronoun
        inverted = inverted or (postponed and subject.is_pronoun)
        words = [] if last or (inverted and subject.is_pronoun) else [self.nominal(subject)]
        if negation:
            words.append("ne")
        words.append(before)
        if inverted:
            link = "-t-" if subject.pronoun.subject[0] in "ieo" and finite[-1] in "ae" else "-"
            finite += link + subject.pronoun.subject
        words.append(finite)
        if negation not in ("", "ne", "personne"):
            words.append(negation.replace("_", " "))
        words += [adverb, rest, "personne" if negation == "personne" else ""]
        words.append(self.nominal(subject) if last else "")
        words.append(
            self._tail(sense, subject.pronoun.possessive, bool(negation) and negation != "ne")
        )
        return " ".join(words)

    def verb_form(
        self,
        sense: Sense,
        form: str,
        owner: Nominal | None,
        *,
        negation: str = "",
        negated: bool = False,
        clitics: Sequence[str] = (),
    ) -> str:
        """An infinitive, gerund or imperative; `owner` is who a reflexive refers to.

        `negated` says that a verb before it is negated, so that un, du, des become de.
        """
        possessive = owner.pronoun.possessive if owner else _IMPERATIVE_OWNERS.get(form, "")
        tail = self._tail(sense, possessive, negated or bool(negation))
        if form in _IMPERATIVES:
            person = _IMPERATIVES[form]
            finite = sense.verb.imperative[person]
            if negation:
                reflexive = [_REFLEXIVE[(1, 3, 4)[person]]] * sense.reflexive
                words = ["ne", *reflexive, *clitics, finite, negation.replace("_", " "), tail]
                return " ".join(words)
            reflexive = [_IMPERATIVE_REFLEXIVE[person]] * sense.reflexive
            after = [_STRESSED_AFTER_VERB.get(clitic, clitic) for clitic in clitics]
            if after[:1] in (["y"], ["en"]) and finite[-1] in "ae":
                finite += "s"
            return "-".join([finite, *reflexive, *after]) + (f" {tail}" if tail else "")
        person = owner.person if owner else 2
        before = " ".join([_REFLEXIVE[person]] * sense.reflexive + list(clitics))
        verb = sense.verb.gerund if form == "gerund" else sense.verb.infinitive
        link = "en" if form == "gerund" else ""
        no = f"ne {negation.replace('_', ' ')}" if negation else ""
        return f"{no} {link} {before} {verb} {tail}"

    def nominal(
        self,
        nominal: Nominal,
        code: str = "",
        adjective: Adjective | None = None,
        owner: Nominal | None = None,
        *,
        superlative: bool = False,
    ) -> str:
        """A pronoun, a name, or a noun phrase with determiner and adjective."""
        prefix = f"{nominal.preposition} " if nominal.preposition else ""
        noun = nominal.noun
        if noun is None:
            return prefix + nominal.fr
        determiner = nominal.determiner
        if code:
            if code == "poss":
                assert owner is not None
                code = owner.pronoun.possessive
            determiner = self._determiners[code]
        words = nominal.fr
        early = False
        if superlative and adjective is not None:
            article = "°les" if nominal.plural else "°le" if nominal.gender == "m" else "°la"
            most = f"{article} {compared(adjective, nominal)}"
            if adjective.before:
                return f"{prefix}{most} {words}"
            words, adjective = f"{words} {most.replace('°', '')}", None
        if adjective is not None:
            early = adjective.before
            form = adjective.agree(nominal.gender, nominal.plural)
            if early and nominal.gender == "m" and not nominal.plural and starts_with_vowel(words):
                form = adjective.masculine_vowel
            words = f"{form} {words}" if early else f"{words} {form}"
        if determiner is None:
            return prefix + words
        if early and nominal.plural and determiner.plural == "des":
            return f"{prefix}de {words}"
        return f"{prefix}{_determiner_form(determiner, nominal, words)} {words}"

    def _participle(
        self, subject: Nominal, sense: Sense, etre: bool, agreement: Nominal | None
    ) -> str:
        target = agreement
        if etre:
            target = subject if sense.agrees else None
        if target is None:
            return sense.verb.participle
        return agree_participle(sense.verb.participle, target.gender == "f", target.plural)

    def _tail(self, sense: Sense, possessive: str, negated: bool) -> str:
        """The words after the verb: son, sa, ses agree with the owner; pas un becomes pas de."""
        first, _, others = sense.tail.partition(" ")
        if not possessive or first not in ("son", "sa", "ses"):
            return _INDEFINITE.sub("de ", sense.tail) if negated else sense.tail
        determiner = self._determiners[possessive]
        forms = {
            "son": determiner.masculine,
            "sa": determiner.feminine,
            "ses": determiner.plural,
        }
        return f"{forms[first]} {others}"


def compared(adjective: Adjective, nominal: Nominal) -> str:
    """The French comparative: plus grande, meilleures."""
    if not adjective.plus:
        return f"plus {adjective.agree(nominal.gender, nominal.plural)}"
    return agree_participle(adjective.plus, nominal.gender == "f", nominal.plural)


def _determiner_form(determiner: Determiner, nominal: Nominal, following: str) -> str:
    if nominal.plural:
        return determiner.plural
    vowel = starts_with_vowel(following)
    if nominal.gender == "m":
        return determiner.masculine_vowel if vowel else determiner.masculine
    return determiner.feminine_vowel if vowel else determiner.feminine
