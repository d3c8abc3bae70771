"""Compile the directives of templates, `{s v pres}`, to functions of a filling.

The first word names a slot (or, on either side, a pronoun or a verb of that language); a `^` after
it means its second mention, by a pronoun. With a tense among the words the directive is a clause.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from transformer.text.phrasebook import english, french
from transformer.text.phrasebook.lexicon import Lexicon, check_known
from transformer.text.phrasebook.slots import Filling, Slot, nominal_from_pronoun
from transformer.text.phrasebook.tables import Place
from transformer.text.phrasebook.words import Adjective, Nominal, Phrase, Sense

Say = Callable[[Filling], str]
GetNominal = Callable[[Filling], Nominal]
GetSense = Callable[[Filling], Sense]


@dataclass
class Context:
    """What a template may refer to, and what it did refer to."""

    place: Place
    slots: dict[str, Slot]
    lexicon: Lexicon
    used: set[str] = field(default_factory=set)

    def is_slot(self, word: str, kind: str) -> bool:
        """Whether `word` (with or without ^) names a slot of this kind."""
        name = word.removesuffix("^")
        return name in self.slots and self.slots[name].kind == kind

    def use(self, word: str) -> str:
        """The slot's name; notes that the template uses it."""
        name = word.removesuffix("^")
        check_known(self.place, "slot", name, self.slots)
        self.used.add(name)
        return name

    def check(self, what: str, word: str, known: Iterable[str]) -> None:
        """Raise ValueError at the template's line unless `word` is among `known`."""
        check_known(self.place, what, word, known)


def _second_mention(nominal: Nominal) -> Nominal:
    pronoun = nominal.pronoun
    return Nominal(
        pronoun.subject,
        pronoun.en_subject,
        nominal.gender,
        nominal.plural,
        pronoun.person,
        pronoun.en_person,
        pronoun,
    )


def _nominal_of(context: Context, word: str, side: str) -> GetNominal:
    if word.removesuffix("^") in context.slots:
        name = context.use(word)
        if not context.is_slot(word, "nominal"):
            raise context.place.error(f"slot '{name}' is no person or thing")
        if word.endswith("^"):
            return lambda filling: _second_mention(filling.nominal(name))
        return lambda filling: filling.nominal(name)
    for pronoun in context.lexicon.pronouns.values():
        if word in (pronoun.key, pronoun.subject if side == "fr" else pronoun.en_subject):
            constant = nominal_from_pronoun(None, pronoun)
            return lambda filling: constant
    known = sorted(context.slots)
    raise context.place.error(
        f"unknown slot '{word}'; declare it above as '{word} = …', or use one of: {known}"
    )


def _sense_of(context: Context, word: str, side: str) -> GetSense:
    if word in context.slots:
        name = context.use(word)
        if not context.is_slot(word, "verb"):
            raise context.place.error(f"slot '{name}' is no verb")
        return lambda filling: filling.sense(name)
    text = word.replace("_", " ")
    pair = (text, "be") if side == "fr" else ("être", text)
    sense = context.lexicon.sense(context.place, *pair, "state")
    return lambda filling: sense


def _adjective(filling: Filling, name: str) -> Adjective:
    value = filling.values[name]
    assert isinstance(value, Adjective)
    return value


def _phrase(filling: Filling, name: str) -> Phrase:
    value = filling.values[name]
    assert isinstance(value, Phrase)
    return value


class FrenchCompiler:
    """Compiles directives of the French line."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._french = french.French(lexicon)

    def compile(self, words: list[str], context: Context) -> Say:
        """The function that says `words`; raises ValueError at the template's place."""
        head, rest = words[0], words[1:]
        if len(rest) > 1 and not set(rest[1:]).isdisjoint(french.TENSES):
            return self._clause(head, rest[0], rest[1:], context)
        if context.is_slot(head, "phrase"):
            return _compile_phrase(context, words, "fr")
        if context.is_slot(head, "adj"):
            name = context.use(head)
            if not rest:
                raise context.place.error(f"write '{{{head} SLOT}}': an adjective agrees")
            nominal = _nominal_of(context, rest[0], "fr")
            if "plus" in rest[1:]:
                return lambda filling: french.compared(_adjective(filling, name), nominal(filling))
            return lambda filling: _adjective(filling, name).agree(
                nominal(filling).gender, nominal(filling).plural
            )
        fixed = [word for word in context.lexicon.adjectives if word.key == head]
        if fixed and rest and head not in context.slots:
            nominal = _nominal_of(context, rest[0], "fr")
            return lambda filling: fixed[0].agree(nominal(filling).gender, nominal(filling).plural)
        if rest and rest[0] in french.VERB_FORMS:
            return self._verb_form(head, rest, context)
        return self._nominal(head, rest, context)

    def _clause(self, head: str, verb: str, features: list[str], context: Context) -> Say:
        subject, sense = _nominal_of(context, head, "fr"), _sense_of(context, verb, "fr")
        tense = next(word for word in features if word in french.TENSES)
        negation, inverted, postponed = "", False, False
        adverb, fixed, agreement = "", "", None
        clitics: list[Say] = []
        for word in features:
            if word == tense:
                continue
            if word == "inv":
                inverted = True
            elif word == "post":
                postponed = True
            elif word.startswith("+"):
                clitics.append(self._clitic(word[1:], context))
            elif word.startswith("~"):
                if word[1:] in context.slots:
                    adverb = context.use(word[1:])
                else:
                    fixed = word[1:]
            elif word.startswith("="):
                agreement = _nominal_of(context, word[1:], "fr")
            else:
                context.check(
                    "word in a clause", word, (*french.NEGATIONS, "inv", "post", "+x", "~x")
                )
                negation = word
        objects = [word[1:] for word in features if word.startswith("+")]
        direct = [word for word in objects if context.is_slot(word, "nominal")]
        if direct and agreement is None:
            agreement = _nominal_of(context, direct[0], "fr")
        say = self._french

        def clause(filling: Filling) -> str:
            return say.clause(
                subject(filling),
                sense(filling),
                tense,
                negation=negation,
                inverted=inverted,
                postponed=postponed,
                clitics=[clitic(filling) for clitic in clitics],
                adverb=_phrase(filling, adverb).fr[""] if adverb else fixed,
                agreement=agreement(filling) if agreement else None,
            )

        return clause

    def _clitic(self, word: str, context: Context) -> Say:
        """`+le` and its like are themselves; `+o` is direct, `+o.lui` indirect."""
        name, _, case = word.partition(".")
        if name.removesuffix("^") not in context.slots:
            return lambda filling: word
        nominal = _nominal_of(context, name, "fr")
        if case:
            return lambda filling: nominal(filling).pronoun.indirect
        return lambda filling: nominal(filling).pronoun.direct

    def _verb_form(self, head: str, rest: list[str], context: Context) -> Say:
        sense, form = _sense_of(context, head, "fr"), rest[0]
        owner: GetNominal | None = None
        negation, negated = "", False
        clitics: list[Say] = []
        for word in rest[1:]:
            if word.startswith("+"):
                clitics.append(self._clitic(word[1:], context))
            elif word in french.NEGATIONS:
                negation = word
            elif word == "neg":
                negated = True
            else:
                owner = _nominal_of(context, word, "fr")
        say = self._french
        return lambda filling: say.verb_form(
            sense(filling),
            form,
            owner(filling) if owner else None,
            negation=negation,
            negated=negated,
            clitics=[clitic(filling) for clitic in clitics],
        )

    def _nominal(self, head: str, rest: list[str], context: Context) -> Say:
        nominal = _nominal_of(context, head, "fr")
        determiners = context.lexicon.determiners
        code, adjective, negated, superlative = "", "", False, False
        owner: GetNominal | None = None
        if rest == ["moi"]:
            return lambda filling: self._stressed(nominal(filling))
        for word in rest:
            if word.startswith("of:"):
                code, owner = "poss", _nominal_of(context, word[3:], "fr")
            elif word == "sup":
                superlative = True
            elif word == "neg":
                negated = True
            elif context.is_slot(word, "adj"):
                adjective = context.use(word)
            else:
                context.check("determiner or adjective", word, (*determiners, "neg", "sup"))
                code = word
        say = self._french

        def spoken(filling: Filling) -> str:
            value = nominal(filling)
            chosen = code
            if negated and value.determiner is not None:
                chosen = value.determiner.negated
            described = _adjective(filling, adjective) if adjective else None
            possessor = owner(filling) if owner else None
            return say.nominal(value, chosen, described, possessor, superlative=superlative)

        return spoken

    def _stressed(self, nominal: Nominal) -> str:
        return nominal.pronoun.stressed if nominal.is_pronoun else self._french.nominal(nominal)


class EnglishCompiler:
    """Compiles directives of the English line."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._english = english.English(lexicon)

    def compile(self, words: list[str], context: Context) -> Say:
        """The function that says `words`; raises ValueError at the template's place."""
        head, rest = words[0], words[1:]
        if len(rest) > 1 and not set(rest[1:]).isdisjoint(english.TENSES):
            return self._clause(head, rest[0], rest[1:], context)
        if context.is_slot(head, "phrase"):
            return _compile_phrase(context, words, "en")
        if context.is_slot(head, "adj"):
            name = context.use(head)
            for word in rest:
                context.check("form of an adjective", word, ("comp", "sup", "a"))
            form = _ADJECTIVE_FORMS[rest[0] if rest else ""]
            return lambda filling: form(_adjective(filling, name))
        if rest and rest[0] in english.VERB_FORMS:
            sense = _sense_of(context, head, "en")
            owner = _nominal_of(context, rest[1], "en") if len(rest) > 1 else None
            say = self._english
            return lambda filling: say.verb_form(
                sense(filling), rest[0], owner(filling) if owner else None
            )
        return self._nominal(head, rest, context)

    def _clause(self, head: str, verb: str, features: list[str], context: Context) -> Say:
        subject, sense = _nominal_of(context, head, "en"), _sense_of(context, verb, "en")
        tense = next(word for word in features if word in english.TENSES)
        adverb, fixed = "", ""
        for word in features:
            if word.startswith("~"):
                if word[1:] in context.slots:
                    adverb = context.use(word[1:])
                else:
                    fixed = word[1:]
            elif word != tense:
                context.check("word in a clause", word, ("neg", "ask", "~x"))
        negated, asked = "neg" in features, "ask" in features
        say = self._english

        def clause(filling: Filling) -> str:
            return say.clause(
                subject(filling),
                sense(filling),
                tense,
                negated=negated,
                asked=asked,
                adverb=_phrase(filling, adverb).en[""] if adverb else fixed,
            )

        return clause

    def _nominal(self, head: str, rest: list[str], context: Context) -> Say:
        nominal = _nominal_of(context, head, "en")
        determiners = context.lexicon.determiners
        features = (*_DETERMINER_CHANGES, "'s", "me", "my", "self", "comp", "sup", *determiners)
        code, adjective = "", ""
        owner: GetNominal | None = None
        for word in rest:
            if word.startswith("of:"):
                code, owner = "poss", _nominal_of(context, word[3:], "en")
            elif context.is_slot(word, "adj"):
                adjective = context.use(word)
            else:
                context.check("word after a noun slot", word, features)
                code = word if word in determiners else code
        if "me" in rest:
            return lambda filling: self._object(nominal(filling))
        if "my" in rest:
            return lambda filling: determiners[nominal(filling).pronoun.possessive].en_singular
        if "self" in rest:
            return lambda filling: nominal(filling).pronoun.en_reflexive
        form = _ADJECTIVE_FORMS["sup" if "sup" in rest else "comp" if "comp" in rest else ""]
        change = next((word for word in rest if word in _DETERMINER_CHANGES), "")
        genitive = "'s" in rest
        say = self._english

        def spoken(filling: Filling) -> str:
            value = nominal(filling)
            chosen = code
            if change and value.determiner is not None:
                chosen = str(getattr(value.determiner, _DETERMINER_CHANGES[change]))
            described = form(_adjective(filling, adjective)) if adjective else ""
            possessor = owner(filling) if owner else None
            return say.nominal(value, chosen, described, possessor, genitive=genitive)

        return spoken

    def _object(self, nominal: Nominal) -> str:
        return nominal.pronoun.en_object if nominal.is_pronoun else self._english.nominal(nominal)


_DETERMINER_CHANGES = {"neg": "negated", "ask": "asked", "usual": "usual"}
_ADJECTIVE_FORMS: dict[str, Callable[[Adjective], str]] = {
    "": lambda adjective: adjective.en,
    "comp": lambda adjective: adjective.comparative,
    "sup": lambda adjective: adjective.superlative,
    "a": lambda adjective: f"a° {adjective.en}",
}


def _compile_phrase(context: Context, words: list[str], side: str) -> Say:
    name = context.use(words[0])
    form = words[1] if len(words) > 1 else ""
    if side == "fr":
        return lambda filling: _phrase(filling, name).fr[form]
    return lambda filling: _phrase(filling, name).en[form]
