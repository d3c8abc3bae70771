"""All kinds of sentences over one lexicon, and how often each is drawn."""

from random import Random

from transformer.text.phrasebook.chance import Weighted
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.joined import Joined
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.presenting import Presenting
from transformer.text.phrasebook.questions import Questions, may_invert
from transformer.text.phrasebook.speaker import Make, Said, Speaker


class Sentences:
    """Draws and says sentences over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.speaker = Speaker(lexicon)
        questions = Questions(self.speaker)
        joined = Joined(self.speaker, questions)
        presenting = Presenting(self.speaker)
        kinds: list[tuple[Make, float]] = [
            (self.statement, 36),
            (self.yes_no, 13),
            (questions.wh, 11),
            (questions.who, 2),
            (self.order, 5),
            (presenting.it_is, 7),
            (presenting.there_is, 5),
            (joined.two_clauses, 7),
            (joined.reported, 3),
            (joined.relative, 2),
            (presenting.fragment, 3),
        ]
        self.kinds = Weighted(kinds)

    def statement(self, rng: Random) -> Said | None:
        """`Mon frère travaille à Lyon.`"""
        clause = self.speaker.clauses.draw(rng)
        return None if clause is None else self.said(rng, clause)

    def said(self, rng: Random, clause: Clause) -> Said:
        """The clause as a statement; a time may stand in front."""
        structure = ("statement", *clause.structure())
        mark = "!" if rng.random() < 0.05 else "."
        time = next((part for part in clause.adjuncts if part.kind == "time"), None)
        first = time is not None and rng.random() < 0.2
        rest = clause.without(time) if time is not None and first else clause
        fr, en = self.speaker.french(rest), self.speaker.english(rest)
        if time is not None and first:
            fr, en, structure = f"{time.fr}, {fr}", f"{time.en}, {en}", (*structure, "time first")
        return Said(fr, en, mark, clause.words(), structure)

    def yes_no(self, rng: Random) -> Said | None:
        """`Est-ce que tu viens ?`, `Viens-tu ?`, `Tu viens ?`"""
        clause = self.speaker.clauses.draw(rng, questioned=True)
        if clause is None or (clause.modal is not None and "negative" in clause.modal.tags):
            return None  # mustn't he come asks whether he has to
        chance = rng.random()
        first = clause.subject.person == 0 and clause.subject.kind == "pronoun"
        if chance < 0.3 and (not first or may_invert(clause)):
            form, fr = "inversion", self.speaker.in_french.clause(clause, inverted=True)
        elif chance < 0.62:
            form, fr = "est-ce que", f"est-ce que {self.speaker.french(clause)}"
        else:
            form, fr = "intonation", self.speaker.french(clause)
        en = self.speaker.in_english.clause(clause, asked=True)
        return Said(fr, en, "?", clause.words(), (f"question {form}", *clause.structure()))

    def order(self, rng: Random) -> Said | None:
        """`Ferme la porte.`, `Ne la fermez pas.`, `Allons au cinéma !`"""
        key = ("tu", "tu", "vous", "nous")[int(rng.random() * 4)]
        subject = self.speaker.phrases.pronoun(rng, key)
        clause = self.speaker.clauses.willed(rng, subject)
        if key == "nous" and clause is not None and clause.use.verb.infinitive == "venir":
            return None
        if clause is None or any(part.clitic in ("me", "te") for part in _own(clause)):
            return None
        if rng.random() < 0.2:
            timed = any(part.kind == "time" for part in clause.adjuncts)
            clause.negation = "pas" if timed or rng.random() < 0.8 else "jamais"
        fr, en = (
            self.speaker.in_french.imperative(clause),
            self.speaker.in_english.imperative(clause),
        )
        structure = (f"order {subject.pronoun.key}", *clause.structure()[1:])
        return Said(fr, en, "." if rng.random() < 0.6 else "!", clause.words(), structure)


def _own(clause: Clause) -> list[Part]:
    """Clitics that mean the one who is told to do something."""
    return [part for part in clause.complements if part.clitic and part.phrase is not None
            and part.phrase.person == clause.subject.person]  # fmt: skip
