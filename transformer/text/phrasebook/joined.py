"""Two clauses in one sentence: joined, reported, or one inside a noun phrase."""

from dataclasses import replace
from random import Random

from transformer.text.phrasebook.chance import pick
from transformer.text.phrasebook.clause import Clause
from transformer.text.phrasebook.english import BE_PAST, BE_PRESENT
from transformer.text.phrasebook.french import agreeing
from transformer.text.phrasebook.questions import Questions
from transformer.text.phrasebook.speaker import Said, Speaker
from transformer.text.phrasebook.words import NounPhrase

_SHOWN = (("c'est", "it is"), ("voilà", "there is"), ("voici", "here is"), ("où est", "where is"))
# The tense of a reason beside that of what it explains.
_REASON_TENSES = {"pc": "imp", "imp": "imp", "fut": "fut"}
# Before the second clause: the words of both languages, and what kind of clause follows.
_JOINTS = (
    (" et", " and", "and"),
    (" et", " and", "and"),
    (", mais", ", but", "but"),
    (", mais", ", but", "but"),
    (", mais", ", but", "but"),
    ("childhood", "", "childhood"),
    ("rain", "", "rain"),
    (" parce que", " because", "because"),
    (" parce que", " because", "because"),
    (", donc", ", so", "so"),
    ("rain", "", "rain"),
    ("wish", "", "wish"),
    (" quand", " when", "when"),
    ("pour", "to", "inf"),
    ("pour", "to", "inf"),
    ("avant de", "before", "gerund"),
)


class Joined:
    """Draws sentences of two clauses."""

    def __init__(self, speaker: Speaker, questions: Questions) -> None:
        self._speaker = speaker
        self._questions = questions

    def two_clauses(self, rng: Random) -> Said | None:
        """Two clauses joined by a word, or an infinitive with its purpose."""
        fr_word, en_word, way = pick(rng, _JOINTS)
        if way in ("childhood", "rain", "wish"):
            return self._begun(rng, way)
        tense = "pc" if way == "when" else ""
        clauses = self._speaker.clauses
        first = clauses.draw(rng, tense=tense, simple=rng.random() < 0.7)
        if first is None or not _is_action(first) or first.perfect:
            return None
        if first.subject.kind == "nobody":
            return None
        can = first.modal is not None and first.modal.key.startswith("pouvoir")
        if way in ("because", "so") and (can or not _is_explained(first)):
            return None
        subject = first.subject
        if way in ("inf", "gerund"):
            if first.negation or (fr_word == "pour" and "goes" not in first.use.tags):
                return None
            second = clauses.willed(rng, subject, simple=True, plain=True)
        elif way in ("because", "so"):
            again = _again(subject)
            second = clauses.reason(rng, again, _REASON_TENSES.get(first.tense, "pres"))
        elif way == "when":
            second = clauses.draw(rng, tense="imp", simple=True, plain=True)
            if second is None or "lasting" not in second.use.tags or first.adjuncts:
                return None
        else:
            other = _again(subject) if way == "and" or rng.random() < 0.7 else None
            tense = "" if first.modal else first.tense
            second = clauses.draw(rng, subject=other, tense=tense, simple=True, plain=True)
        if second is None or second.use.verb is first.use.verb:
            return None
        if way == "and" and first.habitual != second.habitual:
            return None
        if way == "but" and bool(first.negation) == bool(second.negation):
            return None
        if way not in ("because", "so") and not _is_action(second):
            return None
        if way in ("inf", "gerund"):
            say = self._speaker.base if way == "inf" else self._speaker.gerund
            fr = f"{self._speaker.french(first)} {fr_word} {self._speaker.infinitive(second)}"
            en = f"{self._speaker.english(first)} {en_word} {say(second)}"
        elif way == "so":
            fr = f"{self._speaker.french(second)}{fr_word} {self._speaker.french(first)}"
            en = f"{self._speaker.english(second)}{en_word} {self._speaker.english(first)}"
        else:
            fr = f"{self._speaker.french(first)}{fr_word} {self._speaker.french(second)}"
            en = f"{self._speaker.english(first)}{en_word} {self._speaker.english(second)}"
        structure = (f"joint {fr_word}", *first.structure(), *second.structure())
        return Said(fr, en, ".", (*first.words(), *second.words()), structure)

    def _begun(self, rng: Random, way: str) -> Said | None:
        """`Quand j'étais petit, j'avais un chien.`, `S'il pleut, nous resterons ici.`"""
        if way == "wish":
            key = pick(rng, ("je", "je", "tu", "il", "elle"))
            subject = self._speaker.phrases.pronoun(rng, key)
            clause = self._speaker.clauses.draw(rng, subject=subject, tense="cond")
            phrase = pick(rng, self._speaker.lexicon.phrases[f"if_wish_{key}"])
            if clause is None or clause.negation or not _is_action(clause):
                return None
            if not self._speaker.phrases.may_say(phrase.fr[""]):
                return None
            fr, en = phrase.fr[""], phrase.en[""]
        elif way == "rain":
            clause = self._speaker.clauses.draw(rng, tense="fut")
            phrase = pick(rng, self._speaker.lexicon.phrases["if_weather"])
            if clause is None or not _is_action(clause):
                return None
            if not self._speaker.phrases.may_say(phrase.fr[""]):
                return None
            fr, en = phrase.fr[""], phrase.en[""]
        else:
            key = pick(rng, ("je", "je", "je", "tu", "il", "elle", "nous"))
            subject = self._speaker.phrases.pronoun(rng, key)
            clause = self._speaker.clauses.draw(rng, subject=subject, tense="imp")
            if clause is None or (clause.use.aspect == "event" and "habit" not in clause.use.tags):
                return None
            clause.habitual = True
            feminine, plural = subject.gender == "f", subject.plural
            adjective = pick(rng, ("petit", "jeune", "enfant"))
            form = adjective + "e" * (feminine and adjective == "petit") + "s" * plural
            en = {"petit": "small", "jeune": "young", "enfant": "a° child"}[adjective]
            en = "children" if plural and adjective == "enfant" else en
            was = BE_PAST[subject.en_person]
            etait = self._speaker.lexicon.verbs["être"].forms["imp"][subject.person]
            fr = f"quand {subject.fr} {etait} {form}"
            en = f"when {subject.en} {was} {en}"
        structure = (f"joint {way}", *clause.structure())
        if rng.random() < 0.7:
            said = f"{fr}, {self._speaker.french(clause)}", f"{en}, {self._speaker.english(clause)}"
        else:
            said = f"{self._speaker.french(clause)} {fr}", f"{self._speaker.english(clause)} {en}"
        return Said(*said, ".", clause.words(), structure)

    def reported(self, rng: Random) -> Said | None:
        """`Je crois qu'il viendra.`, `Sais-tu où il habite ?`, `Je ne sais pas pourquoi.`"""
        chance = rng.random()
        clause = self._speaker.clauses.draw(rng)
        if clause is None:
            return None
        if chance < 0.6:
            phrase = pick(rng, self._speaker.lexicon.phrases["think"])
            if not self._speaker.phrases.may_say(phrase.fr[""]):
                return None
            fr, en = (
                f"{phrase.fr['']} {self._speaker.french(clause)}",
                self._speaker.english(clause),
            )
            structure = ("reported that", *clause.structure())
            return Said(fr, f"{phrase.en['']} {en}", ".", clause.words(), structure)
        if chance < 0.72:
            phrase = pick(rng, self._speaker.lexicon.phrases["must_that"])
            if clause.use.aspect == "state" or not clause.use.also_persons:
                return None
            told = replace(clause, tense="subj", modal=None, negation="", adjuncts=[])
            told = replace(told, perfect=False, habitual=False, since=False, adverb=None)
            if "person" not in told.subject.classes or "unwilled" in told.use.tags:
                return None
            fr = f"{phrase.fr['']} {self._speaker.french(told)}"
            en = self._must(phrase.en[""], told)
            return Said(fr, en, ".", told.words(), ("reported must", *told.structure()))
        asked = self._questions.asked(rng, clause)
        if clause.negation:
            return None
        loose = asked is None or asked.en_end or asked.fr in ("que", "qui")
        if asked is None or loose:
            fr_word, en_word, rest = "si", "if", clause
        else:
            fr_word, en_word, rest = asked.fr, asked.en, asked.rest
        phrase = pick(rng, self._speaker.lexicon.phrases["ask_whether"])
        if not self._speaker.phrases.may_say(phrase.fr[""]):
            return None
        mark = "?" if phrase.fr[""].startswith(("sais-tu", "savez-vous", "est-ce")) else "."
        fr = f"{phrase.fr['']} {fr_word} {self._speaker.french(rest)}"
        en = f"{phrase.en['']} {en_word} {self._speaker.english(rest)}"
        return Said(fr, en, mark, rest.words(), ("reported question", fr_word, *rest.structure()))

    def _must(self, start: str, clause: Clause) -> str:
        """`you have to leave`, `I want you to leave`."""
        if start == "have to":
            has = "has to" if clause.subject.en_person == 2 else "have to"
            return f"{clause.subject.en} {has} {self._speaker.in_english.base(clause)}"
        whom = clause.subject.en
        if clause.subject.kind == "pronoun":
            whom = clause.subject.pronoun.en_object
        return f"{start} {whom} to {self._speaker.in_english.base(clause)}"

    def relative(self, rng: Random) -> Said | None:
        """`C'est la femme qui travaille ici.`, `Voilà le livre que j'ai acheté.`"""
        clause = self._speaker.clauses.draw(rng, simple=True)
        if clause is None or clause.negation or clause.adverb or clause.modal:
            return None
        start = pick(rng, _SHOWN)
        direct = next((part for part in clause.complements if part.kind == "direct"), None)
        if direct is not None and direct.phrase is not None and not direct.clitic:
            phrase = direct.phrase
            if phrase.kind != "noun" or not phrase.words or rng.random() < 0.3:
                return None
            noun = next((n for n in self._speaker.lexicon.nouns if n.key == phrase.words[0]), None)
            if noun is None or noun.mass or noun.en_pair or phrase.plural:
                return None
            head = self._speaker.phrases.build(noun, phrase.gender, False, "le")
            rest = agreeing(clause.without(direct), head)
            fr = f"{start[0]} {head.fr} que {self._speaker.french(rest)}"
            en = f"{start[1]} {head.en} that {self._speaker.english(rest)}"
            said = self._judged(rng, head, f"que {self._speaker.french(rest)}", rest)
            if said is not None:
                structure = ("relative que subject", *clause.structure())
                return Said(*said, ".", clause.words(), structure)
            mark = "?" if start[1].startswith("where") else "."
            return Said(fr, en, mark, clause.words(), ("relative que", *clause.structure()))
        phrases = self._speaker.phrases
        noun = phrases.balance.pick(rng, phrases.nouns("folk"))
        head = self._speaker.phrases.noun(rng, noun, "sg", "le", plain=True)
        if clause.subject.person != 2 or "person" not in clause.subject.classes:
            return None
        clause = replace(clause, subject=replace(head, fr="qui", en="who", kind="question"))
        if clause.complements and clause.complements[0].kind in ("adjective", "profession"):
            return None
        fr = f"{start[0]} {head.fr} {self._speaker.french(clause)}"
        en = f"{start[1]} {head.en} {self._speaker.english(clause)}"
        words = (*head.words, *clause.words())
        mark = "?" if start[1].startswith("where") else "."
        return Said(fr, en, mark, words, ("relative qui", *clause.structure()))

    def _judged(
        self, rng: Random, head: NounPhrase, fr: str, rest: Clause
    ) -> tuple[str, str] | None:
        """`le livre que j'ai lu est intéressant`: a noun with its clause, and what it is like."""
        adjective = self._speaker.phrases.fitting(rng, head.classes)
        if adjective is None or rng.random() < 0.5 or any(part.clitic for part in rest.complements):
            return None
        past = rest.tense in ("pc", "imp")
        tense = "imp" if past and rng.random() < 0.6 else "pres"
        verb = self._speaker.lexicon.verbs["être"].forms[tense][2]
        was = BE_PAST[2] if tense == "imp" else BE_PRESENT[2]
        form = adjective.agree(head.gender, head.plural)
        en = f"{head.en} that {self._speaker.english(rest)} {was} {adjective.en}"
        return f"{head.fr} {fr} {verb} {form}", en


def _is_action(clause: Clause) -> bool:
    """Whether somebody does something, so that it may be explained, timed and joined."""
    return clause.use.aspect == "event" and "person" in clause.subject.classes


def _is_explained(clause: Clause) -> bool:
    """Whether a mood or the weather explains it: not doing something, going, resting."""
    return bool(clause.negation) or "goes" in clause.use.tags or not clause.complements


def _again(phrase: NounPhrase) -> NounPhrase:
    """The second mention of somebody, by a pronoun."""
    pronoun = phrase.pronoun
    return replace(phrase, fr=pronoun.subject, en=pronoun.en_subject, kind="pronoun", words=())
