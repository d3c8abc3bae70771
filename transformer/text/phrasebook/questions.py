"""Questions with a question word: which part of a clause may be asked for, and how."""

from random import Random

from transformer.text.phrasebook.chance import pick
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.speaker import Said, Speaker
from transformer.text.phrasebook.words import NounPhrase

# What stands before a clause, with the adjuncts (by kind and name) or complements that it asks for.
_WHERE = frozenset(("at", "to", "chez", "live", "to y", "place"))
_WHEN = frozenset(
    ("past", "past_clock", "past_long", "past_week", "future", "future_clock", "future_long")
) | {"future_week", "date", "year", "weekday"}


class Questions:
    """Draws questions with a question word."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    def wh(self, rng: Random) -> Said | None:
        """`Où est-ce que tu vas ?`, `Que mange Paul ?`, `Tu pars quand ?`"""
        clause = self._speaker.clauses.draw(rng, questioned=True)
        if clause is None:
            return None
        asked = self.asked(rng, clause)
        if asked is None:
            return None
        fr_word, en_word, rest, en_tail = asked
        name = fr_word.split(" ")[0] if fr_word.startswith(("quel", "combien")) else fr_word
        fr, form = self._french_question(rng, fr_word, rest)
        en = f"{self._speaker.in_english.clause(rest, asked=True, word=en_word)} {en_tail}"
        structure = (f"question {name}", f"question {form}", *rest.structure())
        return Said(fr, en, "?", clause.words(), structure)

    def asked(self, rng: Random, clause: Clause) -> tuple[str, str, Clause, str] | None:
        """What may be asked of the clause: words of both languages, and the clause without it."""
        found: list[tuple[str, str, Clause, str]] = []
        if clause.subject.kind == "everyone":
            return None
        if clause.negation in ("", "pas") and not clause.use.tags & {"weather"}:
            found.append(("pourquoi", "why", clause, ""))
        for part in (*clause.complements, *clause.adjuncts):
            rest = clause.without(part)
            question = self._question_for(part, clause)
            if question is not None:
                found += [(*question[:2], rest, question[2])] * 3
        if not found or (clause.negation and len(found) > 1 and rng.random() < 0.8):
            return None
        if clause.negation:
            return found[0] if found[0][0] == "pourquoi" else None
        if clause.adverb is not None:
            return None
        chosen = pick(rng, found)
        if chosen[0] == "que" and rng.random() < 0.25:
            direct = next(part for part in clause.complements if part.kind == "direct")
            phrase = direct.phrase
            if phrase is not None and phrase.fr_bare and phrase.kind.startswith("noun"):
                if phrase.plural and rng.random() < 0.5:
                    return (
                        f"combien de {phrase.fr_bare}",
                        f"how many {phrase.en_bare}",
                        chosen[2],
                        "",
                    )
                if phrase.classes and "en_mass" not in phrase.classes:
                    quel = "quel" + "le" * (phrase.gender == "f") + "s" * phrase.plural
                    return f"{quel} {phrase.fr_bare}", f"which {phrase.en_bare}", chosen[2], ""
        return chosen

    def _question_for(self, part: Part, clause: Clause) -> tuple[str, str, str] | None:
        """The question word that asks for a part, in both languages, and what ends the English."""
        kind, name = part.kind, part.name
        if part.clitic:
            return None
        if kind in _WHERE:
            return "où", "where", ""
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
            person = "person" in part.phrase.classes
            return ("qui", "who", "") if person else ("que", "what", "")
        if part.phrase is not None and kind == "indirect":
            return f"{part.fr} qui", "who", ""
        return None

    def _french_question(self, rng: Random, word: str, clause: Clause) -> tuple[str, str]:
        subject, in_french = clause.subject, self._speaker.in_french
        pronoun = subject.kind == "pronoun"
        first = pronoun and subject.person == 0
        alone = not clause.complements and not clause.adjuncts and not clause.modal
        chance = rng.random()
        where_is = word == "où" and clause.use.verb.infinitive == "être" and alone and not pronoun
        if where_is and rng.random() < 0.8:
            return f"{word} {in_french.clause(clause, last=True)}", "inversion of a noun"
        if chance < 0.42 and not (first and not may_invert(clause)):
            if not pronoun and word not in ("pourquoi", "qui") and alone and clause.tense != "pc":
                return (
                    f"{word} {in_french.clause(clause, last=True)}",
                    "inversion of a noun",
                )
            if pronoun or word != "que":
                return (
                    f"{word} {in_french.clause(clause, inverted=True)}",
                    "inversion",
                )
        loose = word in ("où", "quand", "à quelle heure", "comment", "avec qui")
        if chance > 0.82 and (loose or alone) and word != "pourquoi":
            last = "quoi" if word == "que" else word
            return f"{self._speaker.french(clause)} {last}", "in place"
        if chance > 0.72 and word in ("où", "quand", "pourquoi", "comment", "à quelle heure"):
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
