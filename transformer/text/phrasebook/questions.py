"""Questions with a question word: which part of a clause may be asked for, and how."""

from dataclasses import dataclass, replace
from random import Random

from transformer.text.phrasebook.chance import pick
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.french import agreeing
from transformer.text.phrasebook.speaker import Said, Speaker
from transformer.text.phrasebook.words import NounPhrase

# What stands before a clause, with the adjuncts (by kind and name) or complements that it asks for.
_WHERE = frozenset(("at", "to", "chez", "to y", "place"))
# One does not ask why somebody has just done something.
_NO_WHY = ("venir de pres", "être en train de pres")
# How often one asks why where nothing else can be asked.
_WHY_ALONE = 0.15
_WHEN = frozenset(
    ("past", "past_clock", "past_long", "past_week", "future", "future_clock", "future_long")
) | {"future_week", "date", "year", "weekday"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a clause answers: its words, and the clause without the answer."""

    fr: str
    en: str
    rest: Clause
    en_end: str = ""
    part: Part | None = None  # the answer, in whose place the word may stand


class Questions:
    """Draws questions with a question word."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    def wh(self, rng: Random) -> Said | None:
        """`Où est-ce que tu vas ?`, `Que mange Paul ?`, `Tu pars quand ?`"""
        clause = self._speaker.clauses.draw(rng, questioned=True)
        asked = None if clause is None else self.asked(rng, clause)
        if clause is None or asked is None:
            return None
        fr, form = self._french_question(rng, asked)
        en = self._speaker.in_english.clause(asked.rest, asked=True, word=asked.en)
        name = asked.fr.split(" ")[0] if asked.fr.startswith(("quel", "combien")) else asked.fr
        structure = (f"question {name}", f"question {form}", *asked.rest.structure())
        return Said(fr, f"{en} {asked.en_end}", "?", clause.words(), structure)

    def asked(self, rng: Random, clause: Clause) -> Asked | None:
        """One of the questions that the clause answers."""
        if clause.subject.kind in ("everyone", "nobody") or not clause.subject.definite:
            return None
        why = clause.negation in ("", "pas") and "weather" not in clause.use.tags
        why = why and not (clause.use.aspect == "state" and clause.tense == "fut")
        plain = {"age", "price", "clock", "profession"}
        why = why and not plain.intersection(part.kind for part in clause.complements)
        why = why and not (clause.modal is not None and clause.modal.key in _NO_WHY)
        found = [Asked("pourquoi", "why", clause)] if why else []
        for part in (*clause.complements, *clause.adjuncts):
            question = self._question_for(part, clause)
            if question is not None:
                found += [
                    Asked(question[0], question[1], clause.without(part), question[2], part)
                ] * 3
        if clause.negation:
            # Of what isn't done one asks why alone, and not often.
            return found[0] if why and (len(found) == 1 or rng.random() < 0.2) else None
        if not found or clause.adverb is not None:
            return None
        if len(found) == 1 and why and rng.random() > _WHY_ALONE:
            return None
        chosen = pick(rng, found)
        if chosen.fr == "que" and rng.random() < 0.25:
            return self._which(rng, chosen)
        return chosen

    def _which(self, rng: Random, asked: Asked) -> Asked:
        """`quel livre`, `combien de pommes`: the participle agrees with it."""
        phrase = asked.part.phrase if asked.part else None
        if phrase is None or not phrase.fr_bare or not phrase.kind.startswith("noun"):
            return asked
        rest = agreeing(asked.rest, phrase)
        if phrase.plural and asked.rest.use.aspect == "event" and rng.random() < 0.5:
            return Asked(f"combien de {phrase.fr_bare}", f"how many {phrase.en_bare}", rest)
        quel = "quel" + "le" * (phrase.gender == "f") + "s" * phrase.plural
        return Asked(f"{quel} {phrase.fr_bare}", f"which {phrase.en_bare}", rest)

    def _question_for(self, part: Part, clause: Clause) -> tuple[str, str, str] | None:
        """The question word that asks for a part, in both languages, and what ends the English."""
        kind, name = part.kind, part.name
        if part.clitic:
            return None
        if kind in _WHERE:
            seen = [one.phrase.classes for one in clause.complements if one.phrase is not None]
            return ("où", "where", "") if not any("place" in one for one in seen) else None
        if kind == "from":
            return "d'où", "where", "from"
        if kind == "time":
            if name == "clock":
                return "à quelle heure", "what time", ""
            if clause.habitual:
                return None
            return ("quand", "when", "") if name in _WHEN else None
        if kind == "company":
            return None if name in ("together", "alone") else ("avec qui", "who", "with")
        if kind == "duration":
            if name == "since":
                return "depuis combien de temps", "how long", ""
            return "combien de temps", "how long", ""
        if kind == "means":
            return "comment", "how", ""
        if kind == "price":
            return "combien", "how much", ""
        if kind == "age":
            return "quel âge", "how old", ""
        if kind == "clock":
            return "à quelle heure", "what time", ""
        if kind == "adjective" and clause.use.verb.infinitive == "être":
            return "comment", "what", "like"
        if part.phrase is not None and kind == "direct":
            if "language" in part.phrase.classes:
                return None  # quelle langue, not que
            person = "person" in part.phrase.classes
            return ("qui", "who", "") if person else ("que", "what", "")
        if part.phrase is not None and kind == "indirect":
            return f"{part.fr} qui", "who", ""
        return None

    def _french_question(self, rng: Random, asked: Asked) -> tuple[str, str]:
        """The French question, and the name of its form."""
        word, clause = asked.fr, asked.rest
        subject, in_french = clause.subject, self._speaker.in_french
        pronoun = subject.kind == "pronoun"
        first = pronoun and subject.person == 0
        alone = not clause.complements and not clause.adjuncts and not clause.modal
        chance = rng.random()
        is_noun = clause.use.verb.infinitive == "être" and alone and not pronoun
        last = not pronoun and alone and word not in ("pourquoi", "qui") and clause.tense != "pc"
        last = last and not clause.use.tail  # où travaille Paul, but not où fait la queue Paul
        if word == "où" and is_noun and rng.random() < 0.8:
            chance = 0.0
        if chance < 0.42 and last:
            return f"{word} {in_french.clause(clause, last=True)}", "inversion of a noun"
        if chance < 0.42 and (may_invert(clause) if first else pronoun or word != "que"):
            return f"{word} {in_french.clause(clause, inverted=True)}", "inversion"
        if chance > 0.8 and asked.part is not None:
            place = Part(asked.part.kind, "quoi" if word == "que" else word)
            placed = replace(
                clause,
                complements=[*clause.complements],
                adjuncts=[*clause.adjuncts],
            )
            before = asked.part.kind == "direct"
            (placed.complements if before else placed.adjuncts).insert(0 if before else 99, place)
            return self._speaker.french(placed), "in place"
        plain = word in ("où", "quand", "pourquoi", "comment", "à quelle heure")
        if chance > 0.72 and plain and not is_noun:  # où il est, but not où Paul est
            return f"{word} {self._speaker.french(clause)}", "no inversion"
        if word == "que":
            return f"qu'est-ce que {self._speaker.french(clause)}", "est-ce que"
        return f"{word} est-ce que {self._speaker.french(clause)}", "est-ce que"

    def who(self, rng: Random) -> Said | None:
        """`Qui a mangé la pomme ?`"""
        pronoun = self._speaker.phrases.pronouns["qui"]
        subject = NounPhrase(
            "qui", "who", "m", False, 2, 2, pronoun, "question", classes=frozenset(("person",))
        )
        clause = self._speaker.clauses.draw(rng, subject=subject)
        if clause is None or clause.negation or clause.since:
            return None
        fr = self._speaker.french(clause)
        if rng.random() < 0.2:
            fr = "qui est-ce " + fr
        return Said(
            fr, self._speaker.english(clause), "?", clause.words(), ("who", *clause.structure())
        )


def may_invert(clause: Clause) -> bool:
    """Whether je may follow the verb: puis-je, dois-je."""
    modal = clause.modal
    return modal is not None and modal.key in ("pouvoir pres", "devoir pres")
