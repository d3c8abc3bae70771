"""Make sentences of clauses: statements, questions of every kind, orders, two clauses in one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.clauses import Clauses
from transformer.text.phrasebook.english import BE_PAST, BE_PRESENT, English
from transformer.text.phrasebook.french import French
from transformer.text.phrasebook.lexicon import Lexicon
from transformer.text.phrasebook.morphology import agree_participle
from transformer.text.phrasebook.noun_phrases import OWNABLE, NounPhrases, Weighted, pick
from transformer.text.phrasebook.words import NounPhrase


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence pair before its first letter is made a capital, without its mark."""

    fr: str
    en: str
    mark: str
    words: tuple[str, ...]
    structure: tuple[str, ...]


Make = Callable[[Random], Said | None]
# What stands before a clause, with the adjuncts (by kind and name) or complements that it asks for.
_WHERE = frozenset(("at", "to", "chez", "live", "to y", "place"))
_WHEN = frozenset(
    ("past", "past_clock", "past_long", "future", "future_clock", "future_long", "date", "year")
    + ("weekday",)
)


class Sentences:
    """Draws and says sentences over one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.phrases = NounPhrases(lexicon)
        self.clauses = Clauses(lexicon, self.phrases)
        self._lexicon = lexicon
        self._french = French(lexicon)
        self._english = English(lexicon)
        self._things = self.phrases.nouns("thing", "animal", "food", "place", "show", "event")
        self._placed = self.phrases.nouns(*_PLACED)
        self._adjectives = [one for one in lexicon.adjectives if "fact" in one.classes]
        self.kinds: Weighted[Make] = Weighted(
            (
                (self.statement, 33),
                (self.yes_no, 14),
                (self.wh, 17),
                (self.who, 2),
                (self.order, 5),
                (self.it_is, 7),
                (self.there_is, 5),
                (self.two_clauses, 9),
                (self.reported, 5),
                (self.relative, 2),
                (self.fragment, 3),
            )
        )

    # --- one clause

    def statement(self, rng: Random) -> Said | None:
        """`Mon frère travaille à Lyon.`"""
        clause = self.clauses.draw(rng)
        return None if clause is None else self.said(rng, clause)

    def said(self, rng: Random, clause: Clause) -> Said:
        """The clause as a statement; a time may stand in front."""
        structure = ("statement", *clause.structure())
        time = next((part for part in clause.adjuncts if part.kind == "time"), None)
        if time is not None and rng.random() < 0.2:
            rest = clause.without(time)
            fr, en = self.french(rest), self.english(rest)
            words = clause.words()
            return Said(
                f"{time.fr}, {fr}", f"{time.en}, {en}", ".", words, (*structure, "time first")
            )
        return Said(self.french(clause), self.english(clause), ".", clause.words(), structure)

    def french(self, clause: Clause) -> str:
        """The French statement."""
        return self._french.clause(clause)

    def english(self, clause: Clause) -> str:
        """The English statement."""
        return self._english.clause(clause)

    def yes_no(self, rng: Random) -> Said | None:
        """`Est-ce que tu viens ?`, `Viens-tu ?`, `Tu viens ?`"""
        clause = self.clauses.draw(rng, questioned=True)
        if clause is None:
            return None
        chance = rng.random()
        first = clause.subject.person == 0 and clause.subject.kind == "pronoun"
        if chance < 0.3 and (not first or _may_invert(clause)):
            form, fr = "inversion", self._french.clause(clause, inverted=True)
        elif chance < 0.62:
            form, fr = "est-ce que", f"est-ce que {self.french(clause)}"
        else:
            form, fr = "intonation", self.french(clause)
        en = self._english.clause(clause, asked=True)
        return Said(fr, en, "?", clause.words(), (f"question {form}", *clause.structure()))

    def order(self, rng: Random) -> Said | None:
        """`Ferme la porte.`, `Ne la fermez pas.`, `Allons au cinéma !`"""
        key = ("tu", "tu", "vous", "nous")[int(rng.random() * 4)]
        subject = self.phrases.pronoun(rng, key)
        clause = self.clauses.willed(rng, subject)
        if clause is None or any(part.clitic in ("me", "te") for part in _own(clause)):
            return None
        if rng.random() < 0.2:
            clause.negation = "pas" if rng.random() < 0.8 else "jamais"
        fr, en = self._french.imperative(clause), self._english.imperative(clause)
        structure = (f"order {subject.pronoun.key}", *clause.structure()[1:])
        return Said(fr, en, "." if rng.random() < 0.6 else "!", clause.words(), structure)

    def infinitive(self, clause: Clause) -> str:
        """`manger une pomme`."""
        return self._french.infinitive(clause)

    def base(self, clause: Clause) -> str:
        """`eat an apple`."""
        return self._english.base(clause)

    def gerund(self, clause: Clause) -> str:
        """`eating an apple`."""
        return self._english.gerund(clause)

    # --- questions with a question word

    def wh(self, rng: Random) -> Said | None:
        """`Où est-ce que tu vas ?`, `Que mange Paul ?`, `Tu pars quand ?`"""
        clause = self.clauses.draw(rng, questioned=True)
        if clause is None:
            return None
        asked = self._asked(rng, clause)
        if asked is None:
            return None
        fr_word, en_word, rest, en_tail = asked
        name = fr_word.split(" ")[0] if fr_word.startswith(("quel", "combien")) else fr_word
        fr, form = self._french_question(rng, fr_word, rest)
        en = f"{self._english.clause(rest, asked=True, word=en_word)} {en_tail}"
        structure = (f"question {name}", f"question {form}", *rest.structure())
        return Said(fr, en, "?", clause.words(), structure)

    def _asked(self, rng: Random, clause: Clause) -> tuple[str, str, Clause, str] | None:
        """What may be asked of the clause: words of both languages, and the clause without it."""
        found: list[tuple[str, str, Clause, str]] = []
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
                    return f"combien de {phrase.fr_bare}", f"how many {phrase.en_bare}", chosen[2], ""
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
        subject = clause.subject
        pronoun = subject.kind == "pronoun"
        first = pronoun and subject.person == 0
        alone = not clause.complements and not clause.adjuncts and not clause.modal
        chance = rng.random()
        if chance < 0.42 and not (first and not _may_invert(clause)):
            if not pronoun and word not in ("pourquoi", "qui") and alone and clause.tense != "pc":
                return f"{word} {self._french.clause(clause, last=True)}", "inversion of a noun"
            if pronoun or word != "que":
                return f"{word} {self._french.clause(clause, inverted=True)}", "inversion"
        if chance > 0.82 and word not in ("pourquoi",):
            last = "quoi" if word == "que" else word
            return f"{self.french(clause)} {last}", "in place"
        if chance > 0.72 and word in ("où", "quand", "pourquoi", "comment", "à quelle heure"):
            return f"{word} {self.french(clause)}", "no inversion"
        if word == "que":
            return f"qu'est-ce que {self.french(clause)}", "est-ce que"
        return f"{word} est-ce que {self.french(clause)}", "est-ce que"

    def who(self, rng: Random) -> Said | None:
        """`Qui a mangé la pomme ?`"""
        pronoun = self.phrases.pronouns["qui"]
        subject = NounPhrase(
            "qui", "who", "m", False, 2, 2, pronoun, "question", classes=frozenset(("person",))
        )
        clause = self.clauses.draw(rng, subject=subject)
        if clause is None or clause.negation or clause.since:
            return None
        fr = self.french(clause)
        if rng.random() < 0.2:
            fr = "qui est-ce " + fr
        return Said(fr, self.english(clause), "?", clause.words(), ("who", *clause.structure()))

    # --- c'est, il y a

    def it_is(self, rng: Random) -> Said | None:
        """`C'est un beau livre.`, `Ce n'est pas difficile.`, `C'est ma sœur ?`"""
        tense = pick(rng, ("pres",) * 6 + ("imp", "fut"))
        negated = rng.random() < 0.2
        words: tuple[str, ...]
        if rng.random() < 0.45:
            if not self._adjectives:
                return None
            adjective = pick(rng, self._adjectives)
            fr, en, plural = adjective.masculine, adjective.en, False
            kind, words = "fact", (adjective.key,)
            if adjective.has_degrees and rng.random() < 0.35:
                degree = pick(rng, self._lexicon.phrases["degree"])
                fr, en = f"{degree.fr['']} {fr}", f"{degree.en['']} {en}"
                kind = "fact with degree"
        else:
            phrase = self._identity(rng)
            fr, plural, kind, words = phrase.fr, phrase.plural, phrase.kind, phrase.words
            if negated and phrase.kind == "quantity":
                return None
            en = phrase.en
            plural = phrase.en_person == 5
            if phrase.plural != plural:
                return None
        fr_verb, en_verb = _IT_IS[tense][plural]
        name = "they" if plural else "it"
        mark, form = ".", "statement"
        asked = rng.random() < 0.25
        person = 5 if plural else 2
        en_verb = {"imp": BE_PAST[person], "pres": BE_PRESENT[person], "fut": "will"}[tense]
        after = "be " if tense == "fut" else ""
        en_not = {"will": "won't"}.get(en_verb, f"{en_verb}n't")
        verb = en_not if negated else en_verb
        subject = "ce " if tense == "fut" else "c'" if not plural or tense == "imp" else "ce "
        said = f"ce ne {fr_verb} pas" if negated else f"{subject}{fr_verb}"
        if negated and fr_verb[0] in "eé":
            said = f"ce n'{fr_verb} pas"
        if asked:
            mark, form = "?", "question"
            english = f"{verb} {name} {after}{en}"
            if rng.random() < 0.4:
                said = f"est-ce que {said}"
        else:
            english = f"{name} {verb} {after}{en}"
        structure = (f"it is {form}", f"tense {tense}", f"complement {kind}")
        structure += ("negation pas",) if negated else ()
        return Said(f"{said} {fr}", english, mark, words, structure)

    def _identity(self, rng: Random) -> NounPhrase:
        chance = rng.random()
        if chance < 0.2:
            return self.phrases.person(rng, pick(rng, ("name", "kin", "folk")))
        noun = pick(rng, self._things)
        code = self.phrases.addressed(pick(rng, ("un", "un", "le", "mon", "ton", "ce", "son")))
        if noun.mass:
            code = "du" if code == "un" else code
        if noun.classes.isdisjoint(OWNABLE) and code in ("mon", "ton", "son", "votre"):
            code = "un" if not noun.mass else "du"
        if code == "ce":
            code = "le"
        return self.phrases.noun(rng, noun, "any", "mon" if "kin" in noun.classes else code)

    def there_is(self, rng: Random) -> Said | None:
        """`Il y a un chat dans le jardin.`, `Y a-t-il une banque près d'ici ?`"""
        tense = pick(rng, ("pres",) * 7 + ("imp", "imp", "fut"))
        negated, asked = rng.random() < 0.15, rng.random() < 0.35
        noun = pick(rng, self._placed)
        animal_or_person = not noun.classes.isdisjoint(("folk", "animal", "area", "public", "shop"))
        chance = rng.random()
        if chance < 0.15 and not negated:
            phrase = self.phrases.quantity(rng, noun)
        elif chance < 0.3 and not negated and not noun.mass:
            phrase = self.phrases.counted(rng, noun)
        else:
            phrase = self.phrases.noun(rng, noun, "any", "du" if noun.mass else "un")
        place = ("", "")
        feature = "no place"
        if rng.random() < 0.8:
            if not noun.classes.isdisjoint(("shop", "public")):
                name = pick(rng, ("town_where", "town_where", "geography"))
            elif animal_or_person:
                name = pick(rng, ("out_place", "town_place"))
            elif not noun.classes.isdisjoint(("food", "drink", "dishware")):
                name = "food_place"
            elif not noun.classes.isdisjoint(("heavy", "furniture")):
                name = "home_place"
            else:
                name = "where"
            drawn = pick(rng, self._lexicon.phrases[name])
            place = (drawn.fr[""], drawn.en[""])
            feature = f"adjunct place {name}"
        finite = {"pres": "a", "imp": "avait", "fut": "aura"}[tense]
        person = phrase.en_person
        be = {"pres": BE_PRESENT[person], "imp": BE_PAST[person], "fut": "will"}[tense]
        verb = ({"will": "won't"}.get(be, f"{be}n't")) if negated else be
        after = "be" if tense == "fut" else ""
        way = "negated" if negated else "asked" if asked else ""
        said, thing = phrase.french(negated), phrase.english(way)
        mark, form = (".", "statement") if not asked else ("?", "question")
        if asked and rng.random() < 0.35 and not negated:
            fr = f"y {finite}{'-t' if finite[-1] == 'a' else ''}-il {said}"
            form = "inversion"
        else:
            start = "il n'y" if negated else "il y"
            fr = f"{start} {finite} {'pas' if negated else ''} {said}"
            if asked and rng.random() < 0.6:
                fr = f"est-ce que {fr}"
                form = "est-ce que"
        en = f"{verb} there {after} {thing}" if asked else f"there {verb} {after} {thing}"
        structure = (f"there is {form}", f"tense {tense}", f"complement {phrase.kind}", feature)
        structure += ("negation pas",) if negated else ()
        return Said(f"{fr} {place[0]}", f"{en} {place[1]}", mark, phrase.words, structure)

    # --- two clauses

    def two_clauses(self, rng: Random) -> Said | None:
        """Two clauses joined by a word, or an infinitive with its purpose."""
        fr_word, en_word, way = pick(rng, _JOINTS)
        if way in ("childhood", "rain"):
            return self._begun(rng, way)
        tense = {"when": "pc", "if": "fut"}.get(way, "")
        first = self.clauses.draw(rng, tense=tense, simple=rng.random() < 0.7)
        if first is None or not _is_action(first) or first.perfect:
            return None
        subject = first.subject
        if way in ("inf", "gerund"):
            if fr_word == "pour" and "goes" not in first.use.tags:
                return None
            second = self.clauses.willed(rng, subject, simple=True, plain=True)
        elif way in ("because", "so"):
            again = _again(subject)
            second = self.clauses.reason(rng, again, _REASON_TENSES.get(first.tense, "pres"))
        elif way == "if":
            again = _again(subject) if rng.random() < 0.5 else None
            second = self.clauses.draw(rng, subject=again, tense="pres", simple=True, plain=True)
            if second is not None:
                second.habitual = True  # English: if it rains
        elif way == "when":
            second = self.clauses.draw(rng, tense="imp", simple=True, plain=True)
        else:
            again = _again(subject) if rng.random() < 0.6 else None
            tense = "" if first.modal else first.tense
            second = self.clauses.draw(rng, subject=again, tense=tense, simple=True, plain=True)
        if second is None or second.use.verb is first.use.verb:
            return None
        if way == "but" and bool(first.negation) == bool(second.negation):
            return None
        if way not in ("because", "so") and not _is_action(second):
            return None
        if way in ("inf", "gerund"):
            fr, en = self._french.infinitive(second), self._english.base(second)
            if way == "gerund":
                en = self._english.gerund(second)
            fr, en = f"{self.french(first)} {fr_word} {fr}", f"{self.english(first)} {en_word} {en}"
        elif way == "so":
            fr = f"{self.french(second)}{fr_word} {self.french(first)}"
            en = f"{self.english(second)}{en_word} {self.english(first)}"
        else:
            fr = f"{self.french(first)}{fr_word} {self.french(second)}"
            en = f"{self.english(first)}{en_word} {self.english(second)}"
        structure = (f"joint {fr_word}", *first.structure(), *second.structure())
        return Said(fr, en, ".", (*first.words(), *second.words()), structure)

    def _begun(self, rng: Random, way: str) -> Said | None:
        """`Quand j'étais petit, j'avais un chien.`, `S'il pleut, nous resterons ici.`"""
        if way == "rain":
            clause = self.clauses.draw(rng, tense="fut")
            phrase = pick(rng, self._lexicon.phrases["if_weather"])
            if clause is None or not _is_action(clause):
                return None
            fr, en = phrase.fr[""], phrase.en[""]
        else:
            key = pick(rng, ("je", "je", "je", "tu", "il", "elle", "nous"))
            subject = self.phrases.pronoun(rng, key)
            clause = self.clauses.draw(rng, subject=subject, tense="imp")
            if clause is None or (clause.use.aspect == "event" and "habit" not in clause.use.tags):
                return None
            clause.habitual = True
            feminine, plural = subject.gender == "f", subject.plural
            adjective = pick(rng, ("petit", "jeune", "enfant"))
            form = adjective + "e" * (feminine and adjective == "petit") + "s" * plural
            en = {"petit": "small", "jeune": "young", "enfant": "a° child"}[adjective]
            en = "children" if plural and adjective == "enfant" else en
            was = BE_PAST[subject.en_person]
            etait = self._lexicon.verbs["être"].forms["imp"][subject.person]
            fr = f"quand {subject.fr} {etait} {form}"
            en = f"when {subject.en} {was} {en}"
        structure = (f"joint {way}", *clause.structure())
        if rng.random() < 0.7:
            said = f"{fr}, {self.french(clause)}", f"{en}, {self.english(clause)}"
        else:
            said = f"{self.french(clause)} {fr}", f"{self.english(clause)} {en}"
        return Said(*said, ".", clause.words(), structure)

    def reported(self, rng: Random) -> Said | None:
        """`Je crois qu'il viendra.`, `Sais-tu où il habite ?`, `Je ne sais pas pourquoi.`"""
        chance = rng.random()
        clause = self.clauses.draw(rng)
        if clause is None:
            return None
        if chance < 0.6:
            phrase = pick(rng, self._lexicon.phrases["think"])
            fr, en = f"{phrase.fr['']} {self.french(clause)}", self.english(clause)
            structure = ("reported that", *clause.structure())
            return Said(fr, f"{phrase.en['']} {en}", ".", clause.words(), structure)
        if chance < 0.72:
            phrase = pick(rng, self._lexicon.phrases["must_that"])
            if clause.use.aspect == "state" or not clause.use.also_persons:
                return None
            told = replace(clause, tense="subj", modal=None, negation="", adjuncts=[])
            told = replace(told, perfect=False, habitual=False, since=False, adverb=None)
            if "person" not in told.subject.classes or "unwilled" in told.use.tags:
                return None
            fr = f"{phrase.fr['']} {self.french(told)}"
            en = self._must(phrase.en[""], told)
            return Said(fr, en, ".", told.words(), ("reported must", *told.structure()))
        asked = self._asked(rng, clause)
        if asked is None or asked[0] in ("que", "qui", "d'où", "avec qui") or asked[3]:
            fr_word, en_word, rest = "si", "if", clause
        else:
            fr_word, en_word, rest, _ = asked
        phrase = pick(rng, self._lexicon.phrases["ask_whether"])
        mark = "?" if phrase.fr[""].startswith(("sais-tu", "savez-vous", "est-ce")) else "."
        fr = f"{phrase.fr['']} {fr_word} {self.french(rest)}"
        en = f"{phrase.en['']} {en_word} {self.english(rest)}"
        return Said(fr, en, mark, rest.words(), ("reported question", fr_word, *rest.structure()))

    def _must(self, start: str, clause: Clause) -> str:
        """`you have to leave`, `I want you to leave`."""
        if start == "have to":
            has = "has to" if clause.subject.en_person == 2 else "have to"
            return f"{clause.subject.en} {has} {self._english.base(clause)}"
        whom = clause.subject.en
        if clause.subject.kind == "pronoun":
            whom = clause.subject.pronoun.en_object
        return f"{start} {whom} to {self._english.base(clause)}"

    def relative(self, rng: Random) -> Said | None:
        """`C'est la femme qui travaille ici.`, `Voilà le livre que j'ai acheté.`"""
        clause = self.clauses.draw(rng, simple=True)
        if clause is None or clause.negation or clause.adverb or clause.modal:
            return None
        start = pick(rng, _SHOWN)
        direct = next((part for part in clause.complements if part.kind == "direct"), None)
        if direct is not None and direct.phrase is not None and not direct.clitic:
            phrase = direct.phrase
            if phrase.kind != "noun" or not phrase.words or rng.random() < 0.3:
                return None
            noun = next((n for n in self._lexicon.nouns if n.key == phrase.words[0]), None)
            if noun is None or noun.mass or noun.en_pair or phrase.plural:
                return None
            head = self.phrases.build(noun, phrase.gender, False, "le")
            gap = replace(clause, complements=[Part("direct", phrase=head, clitic="le")])
            gap.complements += [part for part in clause.complements if part is not direct]
            rest = clause.without(direct)
            if clause.tense == "pc" and not clause.use.with_etre:
                verb = clause.use.verb
                agreed = agree_participle(verb.participle, head.gender == "f", False)
                use = replace(clause.use, verb=replace(verb, participle=agreed))
                rest = replace(rest, use=use)
            fr = f"{start[0]} {head.fr} que {self.french(rest)}"
            en = f"{start[1]} {head.en} that {self.english(rest)}"
            return Said(fr, en, ".", clause.words(), ("relative que", *clause.structure()))
        noun = pick(rng, self.phrases.nouns("folk"))
        head = self.phrases.noun(rng, noun, "sg", "le", plain=True)
        if clause.subject.person != 2 or "person" not in clause.subject.classes:
            return None
        clause = replace(clause, subject=replace(head, fr="qui", en="who", kind="question"))
        if clause.complements and clause.complements[0].kind in ("adjective", "profession"):
            return None
        fr = f"{start[0]} {head.fr} {self.french(clause)}"
        en = f"{start[1]} {head.en} {self.english(clause)}"
        words = (*head.words, *clause.words())
        return Said(fr, en, ".", words, ("relative qui", *clause.structure()))

    def fragment(self, rng: Random) -> Said | None:
        """`La maison de mon père`, `une pomme rouge`: words without a verb."""
        noun = pick(rng, self._lexicon.nouns)
        code = pick(rng, ("le", "le", "un", "un", "mon", "ce"))
        if noun.mass and code == "un":
            code = "du"
        if code in ("mon", "ton") and noun.classes.isdisjoint(OWNABLE):
            code = "le"
        if "kin" in noun.classes:
            code = "mon"
        if noun.mass and code in ("le", "ce") and not noun.classes.isdisjoint(_GENERAL):
            code = "gen"
        phrase = self.phrases.noun(rng, noun, "any", code, plain=rng.random() < 0.4)
        chance = rng.random()
        mark = "." if chance < 0.3 else "?" if chance < 0.36 else ""
        return Said(phrase.fr, phrase.en, mark, phrase.words, ("fragment", phrase.kind))


def _may_invert(clause: Clause) -> bool:
    modal = clause.modal
    return modal is not None and modal.key in ("pouvoir pres", "devoir pres")


def _is_action(clause: Clause) -> bool:
    """Whether somebody does something, so that it may be explained, timed and joined."""
    return clause.use.aspect == "event" and "person" in clause.subject.classes


def _own(clause: Clause) -> list[Part]:
    """Clitics that mean the one who is told to do something."""
    return [part for part in clause.complements if part.clitic and part.phrase is not None
            and part.phrase.person == clause.subject.person]  # fmt: skip


def _again(phrase: NounPhrase) -> NounPhrase:
    """The second mention of somebody, by a pronoun."""
    pronoun = phrase.pronoun
    return replace(phrase, fr=pronoun.subject, en=pronoun.en_subject, kind="pronoun", words=())


_IT_IS = {
    "pres": (("est", "is"), ("sont", "are")),
    "imp": (("était", "was"), ("étaient", "were")),
    "fut": (("sera", "will"), ("seront", "will")),
}
_PLACED = ("folk", "pet", "wild", "farm", "furniture", "personal", "text", "dishware", "fruit")
_PLACED += ("vegetable", "shop", "public", "plant", "device", "container", "foodstuff", "drink")
# Said without an article in English: gardening, French.
_GENERAL = frozenset(("feeling", "quality", "sport", "hobby", "art", "language", "subject", "topic", "game"))
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
    (" si", " if", "if"),
    (" quand", " when", "when"),
    ("pour", "to", "inf"),
    ("pour", "to", "inf"),
    ("avant de", "before", "gerund"),
)
