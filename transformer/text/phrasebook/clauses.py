"""Draw clauses: a verb, who does it, to what, in which tense, and adjuncts that go with it all."""

from dataclasses import replace
from random import Random

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.french import compared, direct_clitic
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import (
    NounPhrases,
    Weighted,
    genitive_of,
    made_up_word,
    pick,
)
from transformer.text.phrasebook.words import (
    Adjective,
    Modal,
    NounPhrase,
    ObjectChoice,
    Phrase,
    VerbUse,
)

# Which first verb a clause gets, by the aspect of its verb; `modal` is any of modals.txt.
_TENSES = {
    "event": Weighted({"pres": 32, "pc": 26, "modal": 32, "fut": 6, "imp": 4}.items()),
    "state": Weighted({"pres": 62, "imp": 14, "modal": 14, "fut": 7, "cond": 1, "pc": 2}.items()),
    "point": Weighted({"pc": 58, "modal": 30, "fut": 12}.items()),
}
_NEGATIONS = Weighted({"": 84, "pas": 11, "jamais": 2, "plus": 1.5, "pas_encore": 1.5}.items())
_PLACES = ("home", "kitchen", "out", "town", "work", "trip")
_MANNERS = ("fast", "well", "much", "carefully")
_NUM_ADJUNCTS = Weighted({0: 50, 1: 37, 2: 13}.items())


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
        )
        self._modals = Weighted((modal, modal.weight) for modal in lexicon.modals)
        self._adjectives: dict[tuple[str, ...], tuple[Adjective, ...]] = {}
        professions = phrases.nouns("profession")
        self._professions = professions

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
        use = self._uses.draw(rng)
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
        if not self._complete(rng, clause):
            return None
        if plain and any(part.clitic for part in clause.complements):
            return None
        if modal and "habit" in modal.tags and _is_particular(clause):
            return None  # one likes eating apples, not this apple
        self._mid_adverb(rng, clause)
        if not simple:
            self._adjoin(rng, clause, questioned=questioned)
        return clause

    def reason(self, rng: Random, subject: NounPhrase, tense: str) -> Clause | None:
        """Why somebody does something: a mood, hunger, the weather."""
        use = self._reasons.draw(rng)
        who = self._subject(rng, use, questioned=False) if "weather" in use.tags else subject
        clause = Clause(who, use, tense)
        clause.negation = "pas" if rng.random() < 0.12 else ""
        if use.objects:
            adjective = pick(rng, self._with_class("mood"))
            form = adjective.agree(who.gender, who.plural)
            clause.complements.append(
                Part("adjective", form, adjective.en, words=(adjective.key,))
            )
        return clause

    def willed(
        self, rng: Random, subject: NounPhrase, *, simple: bool = False, plain: bool = False
    ) -> Clause | None:
        """What somebody may mean to do: for infinitives and imperatives; see `draw`."""
        clause = Clause(subject, self._willed.draw(rng), "pres")
        if not self._complete(rng, clause):
            return None
        if any(part.clitic == "en" for part in clause.complements):
            return None
        if plain and any(part.clitic for part in clause.complements):
            return None
        if not simple and rng.random() < 0.4:
            for kind in ("time", "place", "company"):
                if rng.random() < 0.35:
                    self._add(rng, replace(clause, tense="fut"), clause, kind)
        return clause

    # --- who and how

    def _subject(self, rng: Random, use: VerbUse, *, questioned: bool) -> NounPhrase:
        if use.subjects and (not use.also_persons or rng.random() < 0.3):
            code = pick(rng, ("le", "le", "le", "mon", "ton", "ce"))
            if "weather" in use.tags:
                code = "le"
            noun = pick(rng, use.subjects)
            if noun.classes.isdisjoint(_OWNED):
                code = "le"
            plain = rng.random() < 0.85
            return self._phrases.noun(
                rng, noun, "any", self._phrases.addressed(code), plain=plain
            )
        if "weather" in use.tags:
            pronoun = self._phrases.pronouns["il-it"]
            en = "the weather" if "sky" in use.tags else "it"
            return NounPhrase("il", en, "m", False, 2, 2, pronoun, "pronoun")
        return self._phrases.subject(rng, questioned=questioned)

    def _negation(self, rng: Random, clause: Clause) -> str:
        negation = _NEGATIONS.draw(rng)
        tense, use, modal = clause.tense, clause.use, clause.modal
        if negation in ("jamais", "plus") and (modal or tense not in ("pres", "pc", "fut")):
            return "pas"
        if negation == "jamais" and "habit" not in use.tags and tense != "pc":
            return "pas"
        if negation == "plus" and tense == "pc":
            return "pas"
        if negation == "pas_encore" and (modal or tense != "pc"):
            return "pas"
        if modal and "positive" in modal.tags:
            return ""
        clause.perfect = negation in ("jamais", "pas_encore") and tense == "pc"
        return negation

    def _mid_adverb(self, rng: Random, clause: Clause) -> None:
        """souvent, déjà: after the verb in French, before it in English."""
        if clause.negation or clause.modal or clause.use.reflexive:
            return
        chance = rng.random()
        if clause.tense == "pres" and "habit" in clause.use.tags and chance < 0.1:
            clause.adverb = pick(rng, self._lexicon.phrases["often"])
            clause.habitual = True
        elif clause.tense == "pc" and "weather" not in clause.use.tags and chance < 0.06:
            clause.adverb = ALREADY
            clause.perfect = True

    # --- complements

    def _complete(self, rng: Random, clause: Clause) -> bool:
        """Adds what the verb takes; False when that can't be had."""
        use = clause.use
        if not use.objects:
            return True
        choice = pick(rng, use.objects)
        if choice.kind == "noun":
            assert choice.nouns is not None
            return self._thing(rng, clause, choice)
        if choice.kind == "person":
            return self._person(rng, clause, choice)
        part = getattr(self, f"_complement_{choice.kind}")(rng, clause, choice)
        if part is None:
            return False
        clause.complements.append(part)
        return True

    def _thing(self, rng: Random, clause: Clause, choice: ObjectChoice) -> bool:
        assert choice.nouns is not None
        positive = not clause.negation and clause.modal is None
        if clause.negation == "pas" and not choice.preposition and rng.random() < 0.07:
            clause.negation = "rien"
            return not choice.recipient
        phrase = self._phrases.chosen(rng, choice.nouns, clause.subject)
        if phrase is None:
            return False
        if choice.nouns.determiners[0] in ("un0", "du0"):
            if clause.tense not in ("pres", "imp") or clause.modal:
                return False
            clause.habitual = True
        if choice.preposition:
            clause.complements.append(Part("object", choice.preposition, "", phrase))
        elif phrase.definite and rng.random() < 0.13 and clause.use.key not in self.persons_too:
            clause.complements.append(direct_clitic(phrase))
        elif not phrase.definite and positive and phrase.kind == "noun" and rng.random() < 0.04:
            clause.complements.append(Part("direct", en="some", clitic="en", words=phrase.words))
        elif phrase.definite and not phrase.plural and rng.random() < 0.02:
            clause.complements.append(Part("direct", "ça", "that"))
        else:
            clause.complements.append(Part("direct", "", "", phrase))
        if choice.recipient:
            return self._recipient(rng, clause, choice.recipient)
        return True

    def _recipient(self, rng: Random, clause: Clause, preposition: str) -> bool:
        direct = clause.complements[0]
        if preposition == "à" and rng.random() < 0.5:
            somebody = self._other(rng, clause.subject)
            if somebody is None or (direct.clitic in ("en",)):
                return False
            pronoun = somebody.pronoun
            if direct.clitic and pronoun.indirect not in ("lui", "leur", "me", "te", "nous", "vous"):
                return False
            clause.complements.append(
                Part("recipient", en=pronoun.en_object, phrase=somebody, clitic=pronoun.indirect)
            )
            return True
        somebody = self._phrases.person(rng, owner=clause.subject)
        word = {"à": "to", "pour": "for", "de": "from"}[preposition]
        clause.complements.append(Part("recipient", preposition, word, somebody))
        return True

    def _person(self, rng: Random, clause: Clause, choice: ObjectChoice) -> bool:
        if clause.negation == "pas" and not choice.preposition and rng.random() < 0.08:
            clause.negation = "personne"
            return True
        if rng.random() < 0.4:
            somebody = self._other(rng, clause.subject)
            if somebody is None:
                return False
            pronoun = somebody.pronoun
            if not choice.preposition:
                clause.complements.append(direct_clitic(somebody))
            elif choice.preposition == "à" and "stressed" not in clause.use.tags:
                clause.complements.append(
                    Part("indirect", en=pronoun.en_object, phrase=somebody, clitic=pronoun.indirect)
                )
            else:
                fr = f"{choice.preposition} {pronoun.stressed}"
                clause.complements.append(Part("indirect pronoun", fr, pronoun.en_object))
            return True
        phrase = self._phrases.person(rng, owner=clause.subject)
        if set(phrase.words) & set(clause.subject.words):
            return False
        kind = "indirect" if choice.preposition else "direct"
        clause.complements.append(Part(kind, choice.preposition, "", phrase))
        return True

    def _other(self, rng: Random, subject: NounPhrase) -> NounPhrase | None:
        """Somebody else than the subject, as a pronoun."""
        key = pick(rng, ("je", "je", "tu", "il", "il", "elle", "nous", "ils"))
        somebody = self._phrases.pronoun(rng, key)
        same = somebody.en_person % 3 == subject.en_person % 3 and somebody.en_person % 3 != 2
        return None if same else somebody

    @property
    def persons_too(self) -> frozenset[str]:
        """Keys of uses whose French verb also takes persons: le would be him and it."""
        if not hasattr(self, "_persons_too"):
            both = {
                use.verb.infinitive
                for use in self._lexicon.uses
                for choice in use.objects
                if choice.kind == "person" and not choice.preposition
            }
            self._persons_too = frozenset(
                use.key for use in self._lexicon.uses if use.verb.infinitive in both
            )
        return self._persons_too

    def _complement_to(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        if rng.random() < 0.06 and "goes" in clause.use.tags:
            return Part("to y", en="there", clitic="y")
        if rng.random() < 0.12:
            return self._at_persons(rng, clause, "to ")
        place = self._place(rng, choice)
        fr = f"{choice.preposition} {place.fr['']}"
        return Part("to", fr, place.en["to"], words=(place.key,))

    def _complement_from(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        place = self._place(rng, choice)
        return Part("from", place.fr["from"], place.en["from"], words=(place.key,))

    def _complement_at(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        if rng.random() < 0.1 and "person" in clause.subject.classes:
            return self._at_persons(rng, clause, "at ")
        place = self._place(rng, choice)
        return Part("at", place.fr[""], place.en[""], words=(place.key,))

    def _complement_live(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        return self._complement_at(rng, clause, choice)

    def _at_persons(self, rng: Random, clause: Clause, word: str) -> Part:
        """`chez ma tante`, at my aunt's; `chez moi`, at home."""
        if rng.random() < 0.3:
            if clause.subject.kind == "pronoun" and rng.random() < 0.7:
                fr = f"chez {clause.subject.pronoun.stressed}"
                return Part("chez", fr, "home" if word == "to " else "at home", name="oneself")
            other = self._other(rng, clause.subject)
            if other is not None:
                code = other.pronoun.possessive
                en = self._lexicon.determiners[code].en_singular
                return Part("chez", f"chez {other.pronoun.stressed}", f"{word}{en} place")
        somebody = self._phrases.person(rng, pick(rng, ("name", "kin")), owner=clause.subject)
        return Part(
            "chez",
            f"chez {somebody.fr}",
            f"{word}{genitive_of(somebody)} house",
            words=somebody.words,
        )

    def _place(self, rng: Random, choice: ObjectChoice) -> Phrase:
        name = pick(rng, choice.classes) if choice.classes else "public_place"
        if name == "city" and rng.random() < 0.15:
            return made_up_city(rng)
        return pick(rng, self._lexicon.phrases[name])

    def _complement_adjective(
        self, rng: Random, clause: Clause, choice: ObjectChoice
    ) -> Part | None:
        subject = clause.subject
        if "person" in subject.classes:
            classes = choice.classes or ("mood", "mood", "character", "looks", "status")
            fitting = self._with_class(pick(rng, classes))
            if clause.use.verb.infinitive != "être":  # to seem, to feel
                fitting = tuple(one for one in fitting if one.has_degrees)
        else:
            fitting = self._with_class(*sorted(subject.classes))
        if not fitting:
            return None
        adjective = pick(rng, fitting)
        form = adjective.agree(subject.gender, subject.plural)
        en = adjective.en
        kind = "adjective"
        chance = rng.random()
        if adjective.has_degrees and chance < 0.22 and not clause.negation:
            degree = pick(rng, self._lexicon.phrases["degree"])
            form, en = f"{degree.fr['']} {form}", f"{degree.en['']} {en}"
            kind = "adjective with degree"
        elif adjective.has_degrees and chance < 0.33 and clause.modal is None:
            return self._comparison(rng, clause, adjective)
        elif adjective.has_degrees and chance < 0.38 and not clause.negation:
            return self._most(rng, clause, adjective)
        return Part(kind, form, en, words=(adjective.key,))

    def _most(self, rng: Random, clause: Clause, adjective: Adjective) -> Part:
        """`la plus grande de la classe`, the tallest in the class."""
        subject = clause.subject
        article = "°les" if subject.plural else "°la" if subject.gender == "f" else "°le"
        name = "most_person" if "person" in subject.classes else "most_thing"
        among = pick(rng, self._lexicon.phrases[name])
        return Part(
            "superlative",
            f"{article} {compared(adjective, subject)} {among.fr['']}",
            f"the {adjective.superlative} {among.en['']}",
            words=(adjective.key,),
        )

    def _comparison(self, rng: Random, clause: Clause, adjective: Adjective) -> Part:
        """`plus grand que moi`, taller than me; `aussi`, `moins`."""
        subject = clause.subject
        word = pick(rng, ("plus", "plus", "plus", "moins", "aussi"))
        form = compared(adjective, subject, word)
        en = {
            "plus": adjective.comparative + " than",
            "moins": f"less {adjective.en} than",
            "aussi": f"as {adjective.en} as",
        }[word]
        if "person" in subject.classes:
            other = self._other(rng, subject)
            if other is None or rng.random() < 0.5:
                somebody = self._phrases.person(rng, owner=subject)
                fr_other, en_other, words = somebody.fr, somebody.en, somebody.words
            else:
                fr_other, en_other, words = other.pronoun.stressed, other.pronoun.en_object, ()
        else:
            code = self._phrases.addressed(pick(rng, ("mon", "ton", "ce")))
            if rng.random() < 0.3 and code in _MINE:
                forms, en_other = _MINE[code]
                fr_other = forms[2 * (subject.gender == "f") + subject.plural]
                return Part(
                    f"comparison {word}", f"{form} que °{fr_other}", f"{en} {en_other}",
                    words=(adjective.key,), name="possessive",
                )  # fmt: skip
            noun = next((n for n in self._lexicon.nouns if n.key == subject.words[0]), None)
            assert noun is not None
            somebody = self._phrases.noun(rng, noun, "any", code, plain=True)
            fr_other, en_other, words = somebody.fr, somebody.en, ()
        return Part(
            f"comparison {word}", f"{form} que {fr_other}", f"{en} {en_other}",
            words=(adjective.key, *words),
        )  # fmt: skip

    def _with_class(self, *classes: str) -> tuple[Adjective, ...]:
        found = self._adjectives.get(classes)
        if found is None:
            found = tuple(
                adjective
                for adjective in self._lexicon.adjectives
                if not adjective.classes.isdisjoint(classes)
                for _ in range(adjective.weight)
            )
            self._adjectives[classes] = found
        return found

    def _complement_profession(
        self, rng: Random, clause: Clause, choice: ObjectChoice
    ) -> Part | None:
        subject = clause.subject
        noun = pick(rng, self._professions)
        if subject.gender not in noun.forms or "person" not in subject.classes:
            return None
        singular, plural = noun.forms[subject.gender]
        form = plural if subject.plural else singular
        en = noun.en_plural if subject.plural else f"a° {noun.en_singular}"
        return Part("profession", form, en, words=(noun.key,)) if form else None

    def _complement_age(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        age = 1 + int(rng.random() * 99)
        if rng.random() < 0.4:
            fr, en = str(age), str(age)
        else:
            fr, en = numbers.french_number(age), numbers.english_number(age)
        years = "an" if age == 1 else "ans"
        return Part("age", f"{fr} {years}", f"{en} year{'s' * (age != 1)} old")

    def _complement_price(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        price = pick(rng, (2, 3, 5, 10, 12, 15, 20, 25, 50, 100, 1 + int(rng.random() * 99)))
        if rng.random() < 0.4:
            fr, en = str(price), str(price)
        else:
            fr, en = numbers.french_number(price), numbers.english_number(price)
        return Part("price", f"{fr} euro{'s' * (price > 1)}", f"{en} euro{'s' * (price > 1)}")

    def _complement_clock(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        fr, en = draw_clock(rng)
        return Part("clock", f"à {fr}", f"at {en}")

    # --- adjuncts

    def _adjoin(self, rng: Random, clause: Clause, *, questioned: bool) -> None:
        number = _NUM_ADJUNCTS.draw(rng)
        kinds = ["time", "time", "place", "company", "manner", "duration", "means", "purpose"]
        for _ in range(number):
            kind = pick(rng, kinds)
            kinds = [other for other in kinds if other != kind]
            if kind == "duration" and any(part.kind == "time" for part in clause.adjuncts):
                continue
            if kind == "time" and any(part.kind == "duration" for part in clause.adjuncts):
                continue
            self._add(rng, clause, clause, kind)
        order = ("manner", "means", "company", "place", "purpose", "duration", "time")
        clause.adjuncts.sort(key=lambda part: order.index(part.kind))

    def _add(self, rng: Random, drawn: Clause, clause: Clause, kind: str) -> None:
        part = getattr(self, f"_adjunct_{kind}")(rng, drawn)
        if part is not None:
            clause.adjuncts.append(part)
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
            day = pick(rng, self._lexicon.phrases["weekday"])
            return Part("time", day.fr[""], f"on {day.en['']}", words=(day.key,), name=name)
        return self._phrase(rng, "time", name)

    def _times(self, rng: Random, clause: Clause) -> tuple[str, ...]:
        tags, tense, aspect = clause.use.tags, clause.tense, clause.use.aspect
        modal = clause.modal
        daily, big = "daily" in tags, "big" in tags
        if clause.perfect or clause.negation in ("jamais",):
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
            return ("past", "past_clock", "clock", "weekday", "past") if daily else ()
        if tense == "fut":
            if big:
                return ("future_long", "season")
            return ("future", "future_clock", "clock", "date", "weekday") if daily else ()
        if tense == "imp":
            if aspect == "event":
                return ("habit",) if "habit" in tags else ()
            return ("past_clock", "past") if daily else ()
        if tense == "pres" and clause.adverb is None:
            found: tuple[str, ...] = ()
            if aspect == "event":
                found += ("now",) if not big else ()
                found += ("future", "future_clock") if daily and not clause.negation else ()
                if daily and "habit" in tags and not clause.complements:
                    found += ("early", "usual clock")
            if "habit" in tags:
                found += ("habit", "habit", "season")
            if aspect == "state" and daily:
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
            return replace(self._at_persons(rng, clause, "at "), kind="place", name="chez")
        return self._place_part(rng, pick(rng, names))

    def _adjunct_company(self, rng: Random, clause: Clause) -> Part | None:
        if "with" not in clause.use.tags:
            return None
        subject = clause.subject
        chance = rng.random()
        if chance < 0.15 and subject.plural:
            return Part("company", "ensemble", "together", name="together")
        if chance < 0.3 and subject.kind != "pair":
            alone = "seul" + "e" * (subject.gender == "f") + "s" * subject.plural
            return Part("company", alone, "alone", name="alone")
        if chance < 0.55:
            other = self._other(rng, subject)
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
        if clause.tense == "pc" and name in ("well", "much"):
            return None  # il a bien mangé: its adverb stands among the verbs
        part = self._phrase(rng, "manner", name)
        if name in ("well", "fast") and clause.tense == "pres":
            clause.habitual = True
        return part

    def _adjunct_duration(self, rng: Random, clause: Clause) -> Part | None:
        tags = clause.use.tags
        if "lasting" not in tags or clause.negation or clause.adverb:
            return None
        if clause.tense == "pres" and clause.modal is None:
            name = "long_span" if clause.use.aspect == "state" or "big" in tags else "short_span"
            span = pick(rng, self._lexicon.phrases[name])
            clause.since = True
            return Part("duration", f"depuis {span.fr['']}", f"for {span.en['']}", name="since")
        if clause.tense in ("pc", "fut") or (clause.modal and "future" in clause.modal.tags):
            name = "long_span" if "big" in tags else "span"
            span = pick(rng, self._lexicon.phrases[name])
            return Part("duration", f"pendant {span.fr['']}", f"for {span.en['']}", name="for")
        return None

    def _adjunct_means(self, rng: Random, clause: Clause) -> Part | None:
        if "goes" not in clause.use.tags or clause.subject.classes.isdisjoint(("person",)):
            return None
        return self._phrase(rng, "means", "by")

    def _adjunct_purpose(self, rng: Random, clause: Clause) -> Part | None:
        if "trip" not in clause.use.tags or "purpose" not in self._lexicon.phrases:
            return None
        return self._phrase(rng, "purpose", "purpose")


# Possessive pronouns: masculine, its plural, feminine, its plural; English.
_MINE = {
    "mon": (("le mien", "les miens", "la mienne", "les miennes"), "mine"),
    "ton": (("le tien", "les tiens", "la tienne", "les tiennes"), "yours"),
    "votre": (("le vôtre", "les vôtres", "la vôtre", "les vôtres"), "yours"),
}
ALREADY = Phrase("déjà", {"": "déjà"}, {"": "already"})
_OWNED = frozenset(("thing", "animal", "room", "building", "work", "ride"))


def draw_clock(rng: Random) -> tuple[str, str]:
    """An hour of the day, in one of the ways that hours are written."""
    chance = rng.random()
    if chance < 0.5:
        hour, minute = pick(rng, _HOURS), pick(rng, (0, 0, 0, 15, 30, 45))
        return numbers.clock(hour, minute, "words")
    if chance < 0.75:
        return numbers.clock(1 + int(rng.random() * 12), 0, "mixed")
    minute = pick(rng, (0, 15, 30, 45, 5 * int(rng.random() * 12)))
    return numbers.clock(6 + int(rng.random() * 18), minute, "digits")


_HOURS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0)


def made_up_city(rng: Random) -> Phrase:
    """A town that is on no map: à Tombouctou."""
    name = made_up_word(rng)
    return Phrase(
        name,
        {"": f"à *{name}", "from": f"de *{name}", "name": name},
        {"": f"in {name}", "to": f"to {name}", "from": f"from {name}", "name": name},
    )


def _weight(use: VerbUse) -> float:
    """How often a use is drawn: the more, the more nouns it takes."""
    nouns = sum(len(choice.nouns.nouns) for choice in use.objects if choice.nouns)
    return use.weight * (1 + float(nouns) ** 0.5 / 2)


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
    if "event" in modal.tags and use.aspect != "event":
        return False
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
