"""Draw clauses: a verb, who does it, in which tense, with what it takes and what goes with it."""

import math
from dataclasses import replace
from random import Random

from transformer.text.phrasebook.adjuncts import Adjuncts
from transformer.text.phrasebook.chance import Weighted, pick
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.complements import Complements
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import NounPhrases
from transformer.text.phrasebook.words import Modal, NounPhrase, Phrase, VerbUse

# Which first verb a clause gets, by the aspect of its verb; `modal` is any of modals.txt.
_TENSES = {
    "event": Weighted({"pres": 32, "pc": 26, "modal": 32, "fut": 6, "imp": 4}.items()),
    "state": Weighted({"pres": 66, "imp": 14, "modal": 14, "fut": 4, "cond": 1, "pc": 1}.items()),
    "point": Weighted({"pc": 58, "modal": 30, "fut": 12}.items()),
}
_NEGATIONS = Weighted({"": 82, "pas": 11, "jamais": 5, "plus": 2.5, "pas_encore": 2}.items())


class Clauses:
    """Draws clauses over one lexicon."""

    def __init__(self, lexicon: Lexicon, phrases: NounPhrases) -> None:
        self._lexicon = lexicon
        self._phrases = phrases
        self._uses = Weighted((use, _weight(use)) for use in lexicon.uses)
        self._willed = Weighted(
            (use, _weight(use))
            for use in lexicon.uses
            if use.also_persons and use.aspect == "event" and "unwilled" not in use.tags
        )
        self._reasons = Weighted(
            (use, _weight(use) if use.objects else 4 * _weight(use))
            for use in lexicon.uses
            if use.aspect == "state"
            and (_says_mood(use) or ("unwilled" in use.tags and not use.objects))
            and (use.also_persons or "weather" in use.tags)
            and use.key not in ("avoir raison=be right", "avoir tort=be wrong")
        )
        moods = phrases.adjectives(frozenset(("mood",)))
        self._moods = tuple(one for one in moods if one.key not in ("sûr", "certain"))
        self._modals = Weighted((modal, modal.weight) for modal in lexicon.modals)
        self._complements = Complements(lexicon, phrases)
        self._adjuncts = Adjuncts(lexicon, phrases, self._complements)

    # --- whole clauses

    def draw(
        self,
        rng: Random,
        *,
        questioned: bool = False,
        subject: NounPhrase | None = None,
        tense: str = "",
        simple: bool = False,
        plain: bool = False,
    ) -> Clause | None:
        """A clause; None when what was drawn does not go together.

        Args:
            rng: where chance comes from.
            questioned: who is spoken to is more often its subject.
            subject: somebody, in place of one that is drawn.
            tense: in place of one that is drawn; then there is no modal.
            simple: without adjuncts.
            plain: without pronouns as objects, which would mean something else in the sentence.
        """
        use = self._use(rng, self._uses)
        if subject is not None and not use.also_persons:
            return None
        who = subject or self._subject(rng, use, questioned=questioned)
        modal = None
        if not tense:
            tense = _TENSES[use.aspect].draw(rng)
            if tense == "modal":
                modal = self._modals.draw(rng)
                if not _suits(modal, use, who):
                    return None
                tense = modal.tense
        if use.aspect == "point" and tense in ("pres", "imp") and modal is None:
            return None
        if "past" in use.tags and (tense != "pc" or modal):
            return None
        me = who.kind == "pronoun" and who.person == 0 and questioned
        if me and not (modal and modal.key.startswith(("pouvoir", "devoir"))):
            return None  # nobody asks others about themselves
        told = not questioned and subject is None and who.kind == "pronoun" and modal is None
        if told and who.person in (1, 4) and rng.random() < 0.7:
            return None  # nobody tells others facts about themselves
        clause = Clause(who, use, tense, modal)
        clause.negation = self._negation(rng, clause)
        if not self._complements.complete(rng, clause):
            return None
        if plain and any(part.clitic for part in clause.complements):
            return None
        if modal and "habit" in modal.tags and _is_particular(clause):
            return None  # one likes eating apples, not this apple
        self._mid_adverb(rng, clause)
        if not simple:
            self._adjuncts.adjoin(rng, clause)
        return clause

    def reason(self, rng: Random, subject: NounPhrase, tense: str) -> Clause | None:
        """Why somebody does something: a mood, hunger, the weather."""
        use = self._use(rng, self._reasons)
        who = self._subject(rng, use, questioned=False) if "weather" in use.tags else subject
        clause = Clause(who, use, tense)
        if use.objects:
            clause.negation = "pas" if rng.random() < 0.12 else ""
            adjective = self._phrases.balance.pick(rng, self._moods)
            form = adjective.agree(who.gender, who.plural)
            clause.complements.append(Part("adjective", form, adjective.en, words=(adjective.key,)))
        return clause

    def willed(
        self, rng: Random, subject: NounPhrase, *, simple: bool = False, plain: bool = False
    ) -> Clause | None:
        """What somebody may mean to do: for infinitives and imperatives; see `draw`."""
        clause = Clause(subject, self._use(rng, self._willed), "pres")
        if not self._complements.complete(rng, clause):
            return None
        if any(part.clitic == "en" for part in clause.complements):
            return None
        if plain and any(part.clitic for part in clause.complements):
            return None
        if not simple and rng.random() < 0.4:
            for kind in ("time", "place", "company"):
                if rng.random() < 0.35:
                    self._adjuncts.add(rng, replace(clause, tense="fut"), clause, kind)
        return clause

    def _use(self, rng: Random, uses: Weighted[VerbUse]) -> VerbUse:
        return self._phrases.balance.least((uses.draw(rng), uses.draw(rng)))

    # --- who and how

    def _subject(self, rng: Random, use: VerbUse, *, questioned: bool) -> NounPhrase:
        if use.subjects and (not use.also_persons or rng.random() < 0.3):
            code = pick(rng, ("le", "le", "le", "mon", "ton", "ce"))
            if "weather" in use.tags:
                code = "le"
            noun = pick(rng, use.subjects)
            if noun.classes.isdisjoint(_OWNED):
                code = "gen" if "subject" in noun.classes else "le"
            plain = rng.random() < 0.9 or use.verb.infinitive == "coûter"
            return self._phrases.noun(rng, noun, "any", self._phrases.addressed(code), plain=plain)
        if "weather" in use.tags:
            pronoun = self._phrases.pronouns["il-it"]
            en = "the weather" if "sky" in use.tags else "it"
            return NounPhrase("il", en, "m", False, 2, 2, pronoun, "pronoun")
        return self._phrases.subject(rng, questioned=questioned)

    def _negation(self, rng: Random, clause: Clause) -> str:
        negation = _NEGATIONS.draw(rng)
        tense, use, modal = clause.tense, clause.use, clause.modal
        if clause.subject.kind == "nobody":
            return "ne"
        if clause.subject.kind == "everyone" or (modal and "positive" in modal.tags):
            return ""
        if modal and "negative" in modal.tags:
            return "pas"
        if negation in ("jamais", "plus") and (modal or tense not in ("pres", "pc", "fut")):
            return "pas"
        if negation == "jamais" and "habit" not in use.tags and tense != "pc":
            return "pas"
        if negation == "plus" and tense == "pc":
            return "pas"
        if negation == "pas_encore" and (modal or tense != "pc"):
            return "pas"
        clause.perfect = negation in ("jamais", "pas_encore") and tense == "pc"
        clause.habitual = negation == "jamais" and tense == "pres"
        return negation

    def _mid_adverb(self, rng: Random, clause: Clause) -> None:
        """souvent, déjà: after the verb in French, before it in English."""
        chance = rng.random()
        very = clause.use.tail in _VERY and clause.use.verb.infinitive == "avoir"
        very = very and clause.tense in ("pres", "imp") and not clause.modal
        if very and chance < 0.25:
            clause.adverb = pick(rng, self._lexicon.phrases["degree"])
            return
        if clause.negation or clause.modal or clause.use.reflexive:
            return
        if clause.tense == "pres" and "habit" in clause.use.tags and chance < 0.1:
            clause.adverb = pick(rng, self._lexicon.phrases["often"])
            clause.habitual = True
        elif clause.tense == "pc" and "weather" not in clause.use.tags and chance < 0.06:
            clause.adverb = ALREADY
            clause.perfect = True


# What one may have much of: j'ai très faim, I am very hungry.
_VERY = ("faim", "soif", "froid", "chaud", "sommeil", "peur")
ALREADY = Phrase("déjà", {"": "déjà"}, {"": "already"})
_OWNED = frozenset(("thing", "animal", "room", "building", "work", "ride"))


def _weight(use: VerbUse) -> float:
    """How often a use is drawn: the more, the more nouns it takes."""
    nouns = sum(len(choice.nouns.nouns) for choice in use.objects if choice.nouns)
    return use.weight * (1 + math.sqrt(nouns) / 2)


def _is_particular(clause: Clause) -> bool:
    """Whether it is about a certain thing, or one of its kind: no matter of taste or habit."""
    for part in clause.complements:
        phrase = part.phrase
        if part.clitic or (phrase is not None and "person" not in phrase.classes):
            general = phrase is not None and (phrase.plural or phrase.en_usual == phrase.en_bare)
            if not general or (phrase is not None and phrase.definite and not _general(phrase)):
                return True
    return False


def _general(phrase: NounPhrase) -> bool:
    return phrase.en == phrase.en_bare


def _says_mood(use: VerbUse) -> bool:
    return use.verb.infinitive == "être" and any(
        choice.kind == "adjective" and not choice.classes for choice in use.objects
    ) and use.also_persons  # fmt: skip


def _suits(modal: Modal, use: VerbUse, subject: NounPhrase) -> bool:
    """Whether the modal goes with the verb and its subject."""
    if "positive" in modal.tags and subject.kind == "nobody":
        return False  # nobody must, not nobody has to
    if "event" in modal.tags and use.aspect != "event":
        return False
    if modal.tail == "aller" and ("goes" in use.tags or use.verb.infinitive == "chercher"):
        return False  # aller chercher is to fetch
    if "lasting" in modal.tags and "lasting" not in use.tags:
        return False
    lasts = use.aspect == "state" and "daily" not in use.tags
    if "any" in modal.tags:
        return not lasts or use.verb.infinitive in ("être", "avoir")
    if "unwilled" in use.tags or not use.also_persons or "person" not in subject.classes:
        return False
    if lasts:
        return False
    return not ("can" in modal.tags and "nocan" in use.tags)
