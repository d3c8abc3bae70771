"""Draw what a verb takes: things, persons, places, what somebody or something is like."""

from random import Random

from transformer.text.phrasebook import numbers
from transformer.text.phrasebook.chance import draw_clock, made_up_city, pick
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.french import compared, direct_clitic
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.noun_phrases import NounPhrases, genitive_of
from transformer.text.phrasebook.words import Adjective, NounPhrase, ObjectChoice, Phrase

# Possessive pronouns: masculine, its plural, feminine, its plural; English.
_MINE = {
    "mon": (("le mien", "les miens", "la mienne", "les miennes"), "mine"),
    "ton": (("le tien", "les tiens", "la tienne", "les tiennes"), "yours"),
    "votre": (("le vôtre", "les vôtres", "la vôtre", "les vôtres"), "yours"),
}


class Complements:
    """Draws complements over one lexicon."""

    def __init__(self, lexicon: Lexicon, phrases: NounPhrases) -> None:
        self._lexicon = lexicon
        self._phrases = phrases
        self._professions = phrases.nouns("profession")
        with_persons = {
            use.verb.infinitive
            for use in lexicon.uses
            for choice in use.objects
            if choice.kind == "person" and not choice.preposition
        }
        # Keys of uses whose French verb also takes persons: le would be him and it.
        self._persons_too = frozenset(
            use.key for use in lexicon.uses if use.verb.infinitive in with_persons
        )

    def complete(self, rng: Random, clause: Clause) -> bool:
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
        elif phrase.definite and rng.random() < 0.13 and clause.use.key not in self._persons_too:
            clause.complements.append(direct_clitic(phrase))
        elif not phrase.definite and positive and phrase.kind == "noun" and rng.random() < 0.04:
            clause.complements.append(Part("direct", en="some", clitic="en", words=phrase.words))
        elif phrase.definite and not phrase.plural and rng.random() < 0.012:
            clause.complements.append(Part("direct", "ça", "that", name="that"))
        else:
            clause.complements.append(Part("direct", "", "", phrase))
        if choice.recipient:
            return self._recipient(rng, clause, choice.recipient)
        return True

    def _recipient(self, rng: Random, clause: Clause, preposition: str) -> bool:
        direct = clause.complements[0]
        if preposition == "à" and rng.random() < 0.5:
            somebody = self.other(rng, clause.subject)
            if somebody is None or direct.clitic == "en":
                return False
            pronoun = somebody.pronoun
            clause.complements.append(
                Part("recipient", en=pronoun.en_object, phrase=somebody, clitic=pronoun.indirect)
            )
            return True
        somebody = self._phrases.person(rng, owner=clause.subject)
        word = {"à": "to", "pour": "for", "de": "from"}[preposition]
        clause.complements.append(Part("recipient", preposition, word, somebody))
        return True

    def _person(self, rng: Random, clause: Clause, choice: ObjectChoice) -> bool:
        if clause.negation == "pas" and not choice.preposition and rng.random() < 0.15:
            clause.negation = "personne"
            return True
        if rng.random() < 0.4:
            somebody = self.other(rng, clause.subject)
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

    def other(self, rng: Random, subject: NounPhrase) -> NounPhrase | None:
        """Somebody else than the subject, as a pronoun."""
        key = pick(rng, ("je", "je", "tu", "il", "il", "elle", "nous", "ils"))
        somebody = self._phrases.pronoun(rng, key)
        same = somebody.en_person % 3 == subject.en_person % 3 and somebody.en_person % 3 != 2
        return None if same else somebody

    def _complement_to(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        if rng.random() < 0.06 and "goes" in clause.use.tags:
            return Part("to y", en="there", clitic="y")
        if rng.random() < 0.12:
            return self.at_persons(rng, clause, "to ")
        place = self._place(rng, choice)
        fr = f"{choice.preposition} {place.fr['']}"
        return Part("to", fr, place.en["to"], words=(place.key,), name=_distance(place))

    def _complement_from(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        place = self._place(rng, choice)
        name = _distance(place)
        return Part("from", place.fr["from"], place.en["from"], words=(place.key,), name=name)

    def _complement_at(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        if rng.random() < 0.1 and "person" in clause.subject.classes:
            return self.at_persons(rng, clause, "at ")
        place = self._place(rng, choice)
        return Part("at", place.fr[""], place.en[""], words=(place.key,))

    def at_persons(self, rng: Random, clause: Clause, word: str) -> Part:
        """`chez ma tante`, at my aunt's; `chez moi`, at home."""
        if rng.random() < 0.3:
            if clause.subject.kind == "pronoun" and rng.random() < 0.7:
                fr = f"chez {clause.subject.pronoun.stressed}"
                return Part("chez", fr, "home" if word == "to " else "at home", name="oneself")
            other = self.other(rng, clause.subject)
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
        if name == "city" and rng.random() < 0.25:
            return made_up_city(rng, self._lexicon.french_words)
        return pick(rng, self._lexicon.phrases[name])

    def _complement_adjective(
        self, rng: Random, clause: Clause, choice: ObjectChoice
    ) -> Part | None:
        subject = clause.subject
        if "person" in subject.classes:
            classes = choice.classes or ("mood", "mood", "character", "looks", "status")
            fitting = self._phrases.adjectives(frozenset((pick(rng, classes),)))
            if clause.use.verb.infinitive != "être":  # to seem, to feel
                fitting = tuple(one for one in fitting if one.has_degrees)
        else:
            fitting = self._phrases.adjectives(subject.classes)
        if not fitting:
            return None
        adjective = self._phrases.balance.pick(rng, fitting, 4)
        form = adjective.agree(subject.gender, subject.plural)
        en = adjective.en
        kind = "adjective"
        chance = rng.random()
        if adjective.has_degrees and chance < 0.22 and not clause.negation:
            degree = pick(rng, self._lexicon.phrases["degree"])
            form, en = f"{degree.fr['']} {form}", f"{degree.en['']} {en}"
            kind = "adjective with degree"
        elif adjective.has_degrees and chance < 0.36 and clause.modal is None:
            return self._comparison(rng, clause, adjective)
        elif adjective.has_degrees and chance < 0.41 and not clause.negation:
            return self._most(rng, clause, adjective)
        elif chance > 0.94 and clause.modal is None:
            other = self._phrases.balance.pick(rng, fitting, 4)
            if other.en != adjective.en:
                joined = pick(rng, (("et", "and"), ("et", "and"), ("mais", "but")))
                form = f"{form} {joined[0]} {other.agree(subject.gender, subject.plural)}"
                en = f"{en} {joined[1]} {other.en}"
                kind = "two adjectives"
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
            other = self.other(rng, subject)
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
            number = "pl" if subject.plural else "sg"
            somebody = self._phrases.noun(rng, noun, number, code, plain=True)
            if somebody.fr == subject.fr:  # than itself
                somebody = self._phrases.noun(rng, noun, number, "ce", plain=True)
            fr_other, en_other, words = somebody.fr, somebody.en, ()
        return Part(
            f"comparison {word}", f"{form} que {fr_other}", f"{en} {en_other}",
            words=(adjective.key, *words),
        )  # fmt: skip

    def _complement_profession(
        self, rng: Random, clause: Clause, choice: ObjectChoice
    ) -> Part | None:
        subject = clause.subject
        noun = self._phrases.balance.pick(rng, self._professions)
        if subject.gender not in noun.forms or "person" not in subject.classes:
            return None
        singular, plural = noun.forms[subject.gender]
        form = plural if subject.plural else singular
        en = noun.en_plural if subject.plural else f"a° {noun.en_singular}"
        return Part("profession", form, en, words=(noun.key,)) if form else None

    def _complement_age(self, rng: Random, clause: Clause, choice: ObjectChoice) -> Part | None:
        youngest = 20 if "profession" in clause.subject.classes else 1
        age = youngest + int(rng.random() * (100 - youngest))
        if age == 1 and clause.negation:
            return None  # pas un an is less than one
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


def _distance(place: Phrase) -> str:
    """Whether one goes there by train and plane; cities and countries have a bare name."""
    return "far" if "name" in place.fr or place.fr[""] == place.key else "near"
