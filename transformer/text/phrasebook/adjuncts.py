"""Draw adjuncts that go with a clause: when, where, with whom, how, how long, what for."""

from dataclasses import replace
from random import Random

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.chance import Weighted, draw_clock, pick
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.complements import Complements
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import NounPhrases
from transformer.text.phrasebook.words import Phrase

_PLACES = ("home", "kitchen", "out", "town", "work", "trip")
# How adjuncts follow each other.
_ORDER = ("manner", "means", "company", "place", "purpose", "duration", "time", "cause")
_MANNERS = ("fast", "well", "much", "carefully")
_KINDS = (
    *("time", "time", "time", "place", "place", "company", "manner", "duration"),
    *("means", "purpose", "cause"),
)
# Of these a clause has one.
_WHEN = ("time", "duration")
# How often since when, in place of for how long: depuis hier, depuis deux jours.
_SINCE_WHEN, _ALL_DAY = 0.35, 0.25
_NUM_ADJUNCTS = Weighted({0: 40, 1: 44, 2: 16}.items())


class Adjuncts:
    """Draws adjuncts over one lexicon."""

    def __init__(self, lexicon: Lexicon, phrases: NounPhrases, complements: Complements) -> None:
        self._lexicon = lexicon
        self._phrases = phrases
        self._complements = complements

    def adjoin(self, rng: Random, clause: Clause) -> None:
        """Adds none, one or two adjuncts to a clause, in their order."""
        number = _NUM_ADJUNCTS.draw(rng)
        kinds = list(_KINDS)
        while kinds and len(clause.adjuncts) < number:
            kind = pick(rng, kinds)
            kinds = [other for other in kinds if other != kind]
            if kind in _WHEN and any(part.kind in _WHEN for part in clause.adjuncts):
                continue
            self.add(rng, clause, clause, kind)

    def add(self, rng: Random, drawn: Clause, clause: Clause, kind: str) -> None:
        """Adds to `clause` an adjunct of a kind that goes with `drawn`, if there is one."""
        part = getattr(self, f"_adjunct_{kind}")(rng, drawn)
        if part is not None:
            clause.adjuncts.append(part)
            clause.adjuncts.sort(key=lambda one: _ORDER.index(one.kind))
            clause.habitual |= drawn.habitual
            clause.since |= drawn.since

    def _phrase(self, rng: Random, kind: str, name: str) -> Part:
        phrase = pick(rng, self._lexicon.phrases[name])
        return Part(kind, phrase.fr[""], phrase.en[""], words=(phrase.key,), name=name)

    def _adjunct_time(self, rng: Random, clause: Clause) -> Part | None:
        """When: what the tense and the verb allow."""
        names = self._times(rng, clause)
        if not names:
            return None
        name = pick(rng, names)
        usual = ("habit", "season", "early", "usual clock")
        if name in usual and clause.tense in ("pres", "imp"):
            clause.habitual = True
        if name in ("clock", "usual clock"):
            fr, en = draw_clock(rng)
            return Part("time", f"à {fr}", f"at {en}", name="clock")
        if name == "date":
            month = pick(rng, self._lexicon.phrases["month"])
            digits = rng.random() < 0.5
            day = 1 + int(rng.random() * 30)
            fr, en = numbers.date(day, (month.fr[""], month.en[""]), digits=digits)
            return Part("time", fr, f"on {en}", words=(month.key,), name="date")
        if name == "year":
            year = 1950 + int(rng.random() * 75)
            return Part("time", f"en {year}", f"in {year}", name="year")
        if name == "weekday":
            weekday = pick(rng, self._lexicon.phrases["weekday"])
            fr, en = weekday.fr[""], f"on {weekday.en['']}"
            return Part("time", fr, en, words=(weekday.key,), name=name)
        return self._phrase(rng, "time", name)

    def _times(self, rng: Random, clause: Clause) -> tuple[str, ...]:
        tags, tense, aspect = clause.use.tags, clause.tense, clause.use.aspect
        modal = clause.modal
        daily, big = "daily" in tags, "big" in tags
        if clause.perfect or clause.negation == "jamais":
            return ()
        if modal is not None:
            when = next((tag for tag in modal.tags if tag in ("future", "past", "habit")), "")
            if when == "future":
                tense = "fut"
            elif when == "habit":
                return ("habit",) if "habit" in tags else ()
            else:
                return ()
        if tense == "pc":
            if big:
                return ("past_long", "year", "season")
            past = ("past", "past_clock", "clock", "weekday", "past", "past_week", "around")
            return past if daily else ()
        if tense in ("fut", "cond"):
            if big:
                return ("future_long", "season")
            return (
                ("future", "future_clock", "clock", "date", "weekday", "future_week", "around")
                if daily
                else ()
            )
        if tense == "imp":
            if aspect == "event":
                return ("habit",) if "habit" in tags else ()
            return ("past_clock", "past") if daily else ()
        if tense == "pres" and clause.adverb is None:
            found: tuple[str, ...] = ()
            if aspect == "event":
                found += ("now",) if not big and clause.negation != "plus" else ()
                found += ("future", "future_clock") if daily and not clause.negation else ()
                if daily and "habit" in tags and not clause.complements:
                    found += ("early", "usual clock")
            if "habit" in tags and clause.negation != "plus":
                found += ("habit", "habit", "season")
            if aspect == "state" and daily and clause.negation != "plus":
                found += ("now",)
            return found
        return ()

    def _place_adjunct_names(self, clause: Clause) -> tuple[str, ...]:
        return tuple(name for name in _PLACES if name in clause.use.tags)

    def _place_part(self, rng: Random, name: str) -> Part:
        if name == "trip" and rng.random() < 0.6:
            place = pick(rng, self._lexicon.phrases["geography"])
            return Part("place", place.fr[""], place.en[""], words=(place.key,), name="geography")
        return self._phrase(rng, "place", f"{name}_place")

    def _adjunct_place(self, rng: Random, clause: Clause) -> Part | None:
        names = self._place_adjunct_names(clause)
        if not names:
            return None
        if "home" in names and rng.random() < 0.12:
            return replace(
                self._complements.at_persons(rng, clause, "at "), kind="place", name="chez"
            )
        return self._place_part(rng, pick(rng, names))

    def _adjunct_company(self, rng: Random, clause: Clause) -> Part | None:
        if "with" not in clause.use.tags or any(part.fr == "avec" for part in clause.complements):
            return None
        subject = clause.subject
        chance = rng.random()
        if chance < 0.15 and subject.plural:
            return Part("company", "ensemble", "together", name="together")
        if chance < 0.3 and subject.kind != "pair":
            alone = "seul" + "e" * (subject.gender == "f") + "s" * subject.plural
            return Part("company", alone, "alone", name="alone")
        if chance < 0.55:
            other = self._complements.other(rng, subject)
            if other is None:
                return None
            fr, en = other.pronoun.stressed, other.pronoun.en_object
            return Part("company", f"avec {fr}", f"with {en}", name="pronoun")
        somebody = self._phrases.person(rng, owner=subject)
        if set(somebody.words) & set(subject.words):
            return None
        return Part(
            "company", f"avec {somebody.fr}", f"with {somebody.en}", words=somebody.words,
            name=somebody.kind,
        )  # fmt: skip

    def _adjunct_manner(self, rng: Random, clause: Clause) -> Part | None:
        names = [name for name in _MANNERS if name in clause.use.tags]
        if not names or clause.complements or clause.adverb or clause.negation == "rien":
            return None
        name = pick(rng, names)
        part = self._phrase(rng, "manner", name)
        if clause.tense == "pc" and name in ("well", "much"):
            if clause.perfect or clause.modal:
                return None
            # Il a bien mangé: in French it stands among the verbs.
            clause.adverb = Phrase(part.fr, {"": part.fr}, {"": ""})
            part.fr = ""
        if name in ("well", "fast") and clause.tense == "pres":
            clause.habitual = True
        return part

    def _adjunct_duration(self, rng: Random, clause: Clause) -> Part | None:
        tags = clause.use.tags
        if "lasting" not in tags or clause.negation or clause.adverb:
            return None
        if clause.use.aspect == "event" and any(
            part.kind == "direct" for part in clause.complements
        ):
            return None
        if clause.tense == "pres" and clause.modal is None:
            name = "long_span" if clause.use.aspect == "state" or "big" in tags else "short_span"
            clause.since = True
            if rng.random() < _SINCE_WHEN:
                long = name == "long_span"
                when = self._phrase(rng, "duration", "since_long" if long else "since")
                if long and rng.random() < 0.3:
                    year = 1950 + int(rng.random() * 75)
                    return replace(when, fr=f"depuis {year}", en=f"since {year}", name="since")
                return replace(when, name="since")
            span = pick(rng, self._lexicon.phrases[name])
            return Part("duration", f"depuis {span.fr['']}", f"for {span.en['']}", name="since")
        if clause.tense in ("pc", "fut") or (clause.modal and "future" in clause.modal.tags):
            if "big" not in tags and rng.random() < _ALL_DAY:
                return self._phrase(rng, "duration", "all_day")
            name = "long_span" if "big" in tags else "span"
            span = pick(rng, self._lexicon.phrases[name])
            return Part("duration", f"pendant {span.fr['']}", f"for {span.en['']}", name="for")
        return None

    def _adjunct_means(self, rng: Random, clause: Clause) -> Part | None:
        if "goes" not in clause.use.tags or clause.subject.classes.isdisjoint(("person",)):
            return None
        far = any(part.name == "far" for part in clause.complements)
        return self._phrase(rng, "means", "by_far" if far else "by_near")

    def _adjunct_cause(self, rng: Random, clause: Clause) -> Part | None:
        late = clause.use.tags.isdisjoint(("goes", "unwilled")) and not clause.negation
        if late or clause.use.aspect != "event" or "person" not in clause.subject.classes:
            return None
        if clause.negation and rng.random() < 0.7:
            return None
        return self._phrase(rng, "cause", "reason")

    def _adjunct_purpose(self, rng: Random, clause: Clause) -> Part | None:
        if "goes" not in clause.use.tags or "person" not in clause.subject.classes:
            return None
        return self._phrase(rng, "purpose", "purpose")
