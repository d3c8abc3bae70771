"""Sentences that show and name: c'est, il y a, and noun phrases without a verb."""

from random import Random

from transformer.text.phrasebook.chance import pick
from transformer.text.phrasebook.english import BE_PAST, BE_PRESENT
from transformer.text.phrasebook.noun_phrases import OWNABLE
from transformer.text.phrasebook.speaker import Said, Speaker
from transformer.text.phrasebook.words import NounPhrase

# être after ce, singular and plural.
_IT_IS = {"pres": ("est", "sont"), "imp": ("était", "étaient"), "fut": ("sera", "seront")}
_PLACED: tuple[str, ...] = (
    "folk",
    "pet",
    "farm",
    "furniture",
    "personal",
    "text",
    "dishware",
    "fruit",
    "vegetable",
    "shop",
    "public",
    "plant",
    "device",
    "container",
    "foodstuff",
    "drink",
)
# What is shown is the word used least of so many: here all nouns come in.
_NUM_SHOWN = 12
# Said without an article in English: gardening, French.
_GENERAL = frozenset(
    ("feeling", "quality", "sport", "hobby", "art", "language", "subject", "topic", "game")
)


class Presenting:
    """Draws sentences that say what or who there is."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._balance = speaker.phrases.balance
        self._things = speaker.phrases.nouns("thing", "animal", "food", "place", "show", "event")
        self._placed = speaker.phrases.nouns(*_PLACED)
        self._facts = [
            one
            for one in speaker.lexicon.adjectives
            if "fact" in one.classes
            for _ in range(one.weight)
        ]

    def it_is(self, rng: Random) -> Said | None:
        """`C'est un beau livre.`, `Ce n'est pas difficile.`, `C'est ma sœur ?`"""
        tense = pick(rng, ("pres",) * 6 + ("imp", "fut"))
        negated = rng.random() < 0.2
        words: tuple[str, ...]
        if rng.random() < 0.45:
            if not self._facts:
                return None
            adjective = self._balance.pick(rng, self._facts, 4)
            fr, en, plural = adjective.masculine, adjective.en, False
            kind, words = "fact", (adjective.key,)
            if adjective.has_degrees and not negated and rng.random() < 0.35:
                degree = pick(rng, self._speaker.lexicon.phrases["degree"])
                fr, en = f"{degree.fr['']} {fr}", f"{degree.en['']} {en}"
                kind = "fact with degree"
        else:
            phrase = self._identity(rng)
            fr, plural, kind, words = phrase.fr, phrase.plural, phrase.kind, phrase.words
            if negated and phrase.kind == "quantity":
                return None
            en = phrase.english("usual")
            plural = phrase.en_person == 5
            if phrase.plural != plural:
                return None
        fr_verb = _IT_IS[tense][plural]
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
        structure = [f"it is {form}", f"tense {tense}", f"complement {kind}"]
        structure += ["negation pas"] * negated
        return Said(f"{said} {fr}", english, mark, words, tuple(structure))

    def _identity(self, rng: Random) -> NounPhrase:
        chance = rng.random()
        if chance < 0.2:
            return self._speaker.phrases.person(rng, pick(rng, ("name", "kin", "folk")))
        noun = self._balance.pick(rng, self._things, _NUM_SHOWN)
        code = self._speaker.phrases.addressed(
            pick(rng, ("un", "un", "le", "mon", "ton", "ce", "son"))
        )
        if noun.mass:
            code = "du" if code == "un" else code
        if noun.classes.isdisjoint(OWNABLE) and code in ("mon", "ton", "son", "votre"):
            code = "un" if not noun.mass else "du"
        if code == "ce":
            code = "le"
        return self._speaker.phrases.noun(
            rng, noun, "any", "mon" if "kin" in noun.classes else code
        )

    def there_is(self, rng: Random) -> Said | None:
        """`Il y a un chat dans le jardin.`, `Y a-t-il une banque près d'ici ?`"""
        tense = pick(rng, ("pres",) * 7 + ("imp", "imp", "fut"))
        negated, asked = rng.random() < 0.15, rng.random() < 0.35
        noun = self._balance.pick(rng, self._placed, _NUM_SHOWN)
        animal_or_person = not noun.classes.isdisjoint(("folk", "animal", "area", "public", "shop"))
        chance = rng.random()
        if chance < 0.15 and not negated:
            phrase = self._speaker.phrases.quantity(rng, noun)
        elif chance < 0.3 and not negated and not noun.mass:
            phrase = self._speaker.phrases.counted(rng, noun)
        else:
            phrase = self._speaker.phrases.noun(rng, noun, "any", "du" if noun.mass else "un")
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
            drawn = pick(rng, self._speaker.lexicon.phrases[name])
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
        structure = [f"there is {form}", f"tense {tense}", f"complement {phrase.kind}", feature]
        structure += ["negation pas"] * negated
        said, thing = f"{fr} {place[0]}", f"{en} {place[1]}"
        return Said(said, thing, mark, phrase.words, tuple(structure))

    def fragment(self, rng: Random) -> Said | None:
        """`La maison de mon père`, `une pomme rouge`: words without a verb."""
        noun = self._balance.pick(rng, self._speaker.lexicon.nouns, _NUM_SHOWN)
        code = pick(rng, ("le", "le", "un", "un", "mon", "ce"))
        if noun.mass and code == "un":
            code = "du"
        if code in ("mon", "ton") and noun.classes.isdisjoint(OWNABLE):
            code = "le"
        if "kin" in noun.classes:
            code = "mon"
        if noun.mass and code in ("le", "ce") and not noun.classes.isdisjoint(_GENERAL):
            code = "gen"
        phrase = self._speaker.phrases.noun(rng, noun, "any", code, plain=rng.random() < 0.4)
        chance = rng.random()
        mark = "." if chance < 0.3 else "?" if chance < 0.36 else ""
        return Said(phrase.fr, phrase.en, mark, phrase.words, ("fragment", phrase.kind))
