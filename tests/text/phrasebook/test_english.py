"""The English of clauses made by hand: tenses, do-support, negation, word order, finishing."""

import re
from dataclasses import replace
from typing import get_args

import pytest

from tests.text.phrasebook.conftest import ByHand, direct
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.english import english_tense, finish
from transformer.text.phrasebook.french import direct_clitic
from transformer.text.phrasebook.words import EnglishTense, NounPhrase


def to_whom(somebody: NounPhrase) -> Part:
    pronoun = somebody.pronoun
    return Part("recipient", en=pronoun.en_object, phrase=somebody, clitic=pronoun.indirect)


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("he is a° actor", "He is an actor"),
        ("it is a° *university", "It is a university"),
        ("a° ^honest man", "An honest man"),
        ("a° car  , please .", "A car, please."),
    ],
)
def test_finish(text: str, finished: str) -> None:
    assert finish(text) == finished


# --- tenses


@pytest.mark.parametrize(
    ("tags", "tense", "english"),
    [
        ("event", "pres", "She is eating"),
        ("state", "pres", "She eats"),
        ("event", "imp", "She was eating"),
        ("state", "imp", "She ate"),
        ("event", "pc", "She ate"),
        ("event", "pqp", "She had eaten"),
        ("event", "fut", "She will eat"),
        ("event", "cond", "She would eat"),
    ],
)
def test_tenses(by_hand: ByHand, tags: str, tense: str, english: str) -> None:
    assert by_hand.english(by_hand.clause("elle", "manger=eat", tense, tags=tags)) == english


def _changed(clause: Clause, **changes: bool) -> Clause:
    for name, value in changes.items():
        setattr(clause, name, value)
    return clause


def test_a_habit_is_simple_or_used_to(by_hand: ByHand) -> None:
    now = _changed(by_hand.clause("elle", "manger=eat", "pres"), habitual=True)
    before = _changed(by_hand.clause("elle", "manger=eat", "imp"), habitual=True)
    assert by_hand.english(now) == "She eats"
    assert by_hand.english(before) == "She used to eat"
    assert by_hand.english(before, asked=True) == "Did she use to eat"
    before.negation = "pas"
    assert by_hand.english(before) == "She didn't use to eat"


def test_since_is_a_perfect(by_hand: ByHand) -> None:
    working = _changed(by_hand.clause("elle", "travailler=work", "pres"), since=True)
    knowing = _changed(by_hand.clause("elle", "savoir=know", "pres", tags="state"), since=True)
    assert by_hand.english(working) == "She has been working"
    assert by_hand.english(knowing) == "She has known"
    working.subject = by_hand.pronoun("nous")
    assert by_hand.english(working, asked=True, word="how long") == "How long have we been working"


def test_not_yet_and_already_are_perfects(by_hand: ByHand) -> None:
    yet = by_hand.clause("il", "manger=eat", "pc", negation="pas_encore")
    assert by_hand.english(yet) == "He hasn't eaten yet"
    already = by_hand.clause("il", "manger=eat", "pc", adverb=("déjà", "already"))
    assert by_hand.english(_changed(already, perfect=True)) == "He has already eaten"


@pytest.mark.parametrize("tense", get_args(EnglishTense))
def test_every_tense_that_a_modal_may_have_is_said(by_hand: ByHand, tense: str) -> None:
    clause = by_hand.clause("elle", "partir=leave", "", modal="aller pres")
    assert clause.modal is not None
    clause.modal = replace(clause.modal, en_tense=tense)
    assert english_tense(clause) == tense
    assert re.fullmatch(r"She (\w+ )*(leav(e|es|ing)|left)", by_hand.english(clause))
    assert re.fullmatch(r"\w+ she (\w+ )*(leav(e|ing)|left)", by_hand.english(clause, asked=True))


@pytest.mark.parametrize(
    ("modal", "english"),
    [
        ("aller pres", "She is going to leave"),
        ("vouloir pres", "She wants to leave"),
        ("vouloir imp", "She wanted to leave"),
        ("vouloir cond", "She would like to leave"),
        ("pouvoir pres", "She can leave"),
        ("devoir pres", "She has to leave"),
        ("devoir fut", "She will have to leave"),
        ("aimer pres", "She likes leaving"),
        ("venir de pres", "She has just left"),
        ("être en train de pres", "She is leaving"),
        ("essayer de pres", "She is trying to leave"),
    ],
)
def test_modals(by_hand: ByHand, modal: str, english: str) -> None:
    assert by_hand.english(by_hand.clause("elle", "partir=leave", "", modal=modal)) == english


@pytest.mark.parametrize(
    ("modal", "asked", "negated"),
    [
        ("vouloir pres", "Does she want to leave", "She doesn't want to leave"),
        ("vouloir imp", "Did she want to leave", "She didn't want to leave"),
        ("pouvoir pres", "Can she leave", "She can't leave"),
        ("aller pres", "Is she going to leave", "She isn't going to leave"),
        ("devoir cond", "Should she leave", "She shouldn't leave"),
        ("devoir pres", "Does she have to leave", "She doesn't have to leave"),
    ],
)
def test_modals_asked_and_negated(by_hand: ByHand, modal: str, asked: str, negated: str) -> None:
    clause = by_hand.clause("elle", "partir=leave", "", modal=modal)
    assert by_hand.english(clause, asked=True) == asked
    clause.negation = "pas"
    assert by_hand.english(clause) == negated


# --- do-support, negation


@pytest.mark.parametrize(
    ("tags", "tense", "asked", "negated"),
    [
        ("event", "pres", "Is he eating", "He isn't eating"),
        ("state", "pres", "Does he eat", "He doesn't eat"),
        ("event", "pc", "Did he eat", "He didn't eat"),
        ("event", "fut", "Will he eat", "He won't eat"),
        ("event", "cond", "Would he eat", "He wouldn't eat"),
        ("event", "pqp", "Had he eaten", "He hadn't eaten"),
    ],
)
def test_do_support(by_hand: ByHand, tags: str, tense: str, asked: str, negated: str) -> None:
    clause = by_hand.clause("il", "manger=eat", tense, tags=tags)
    assert by_hand.english(clause, asked=True) == asked
    clause.negation = "pas"
    assert by_hand.english(clause) == negated


def test_be_has_no_do(by_hand: ByHand) -> None:
    tired = Part("adjective", "fatigué", "tired")
    clause = by_hand.clause("je", "être=be", "pres", tired, tags="state", negation="pas")
    assert by_hand.english(clause) == "I am not tired"
    clause.subject, clause.tense = by_hand.pronoun("tu"), "imp"
    assert by_hand.english(clause) == "You weren't tired"
    clause.negation = ""
    assert by_hand.english(clause, asked=True) == "Were you tired"


@pytest.mark.parametrize(
    ("negation", "english"),
    [
        ("jamais", "They never eat"),
        ("plus", "They don't eat anymore"),
        ("rien", "They don't eat anything"),
        ("personne", "They don't eat anyone"),
        ("pas_du_tout", "They don't eat at all"),
    ],
)
def test_negations(by_hand: ByHand, negation: str, english: str) -> None:
    clause = by_hand.clause("ils", "manger=eat", "pres", tags="state", negation=negation)
    assert by_hand.english(clause) == english


def test_some_becomes_any_or_goes(by_hand: ByHand) -> None:
    apples = direct(by_hand.noun("pomme", "un", plural=True))
    clause = by_hand.clause("il", "manger=eat", "pc", apples)
    assert by_hand.english(clause) == "He ate some apples"
    assert by_hand.english(clause, asked=True) == "Did he eat any apples"
    assert by_hand.english(clause, asked=True, word="why") == "Why did he eat some apples"
    clause.negation = "pas"
    assert by_hand.english(clause) == "He didn't eat any apples"
    habit = by_hand.clause("il", "manger=eat", "pres", apples)
    assert by_hand.english(_changed(habit, habitual=True)) == "He eats apples"


# --- word order


def test_a_pronoun_stands_before_a_particle(by_hand: ByHand) -> None:
    light = by_hand.noun("lampe")
    verb = "allumer=turn on"
    noun = by_hand.clause("je", verb, "pc", direct(light))
    pronoun = by_hand.clause("je", verb, "pc", direct_clitic(light))
    assert by_hand.english(noun) == "I turned on the lamp"
    assert by_hand.english(pronoun) == "I turned it on"
    whole = by_hand.clause("je", "chercher=look for", "pc", direct_clitic(light))
    assert by_hand.english(whole) == "I looked for it"


def test_to_whom(by_hand: ByHand) -> None:
    book, her = by_hand.noun("livre"), by_hand.pronoun("elle")
    mother = Part("recipient", "à", "to", by_hand.noun("mère", "mon"))
    said = [
        by_hand.english(by_hand.clause("je", "donner=give", "pc", *parts, tags=tags))
        for tags, parts in [
            ("event", (direct(book), to_whom(her))),
            ("event", (direct_clitic(book), to_whom(her))),
            ("event", (direct(book), mother)),
            ("event to", (direct(book), to_whom(her))),
        ]
    ]
    assert said == [
        "I gave her the book",
        "I gave it to her",
        "I gave the book to my mother",
        "I gave the book to her",
    ]


def test_oneself_follows_the_subject(by_hand: ByHand) -> None:
    clause = by_hand.clause("ils", "s'aimer=love oneself", "pres", tags="state")
    assert by_hand.english(clause) == "They love themselves"


def test_an_adverb_stands_before_the_verb(by_hand: ByHand) -> None:
    clause = by_hand.clause("il", "manger=eat", "pres", adverb=("souvent", "often"))
    assert by_hand.english(clause) == "He often eats"
    assert by_hand.english(clause, asked=True) == "Does he often eat"
    tired = Part("adjective", "fatigué", "tired")
    state = by_hand.clause(
        "il", "être=be", "pres", tired, tags="state", adverb=("souvent", "often")
    )
    assert by_hand.english(state) == "He is often tired"


def test_words_that_are_plural_in_english_alone(by_hand: ByHand) -> None:
    trousers = by_hand.noun("pantalon")
    clause = by_hand.clause(trousers, "être=be", "pres", Part("adjective", "bleu", "blue"),
                            tags="state")  # fmt: skip
    assert by_hand.english(clause) == "The trousers are blue"
    assert by_hand.french(clause) == "Le pantalon est bleu"
    bought = by_hand.clause("je", "acheter=buy", "pc", direct(by_hand.noun("pantalon", "un")))
    assert by_hand.english(bought) == "I bought a pair of trousers"


@pytest.mark.parametrize(
    ("key", "negation", "english"),
    [
        ("nous", "", "Let's leave"),
        ("nous", "pas", "Let's not leave"),
        ("nous", "jamais", "Let's never leave"),
        ("tu", "", "Leave"),
        ("tu", "pas", "Don't leave"),
        ("vous", "jamais", "Never leave"),
    ],
)
def test_orders(by_hand: ByHand, key: str, negation: str, english: str) -> None:
    clause = by_hand.clause(key, "partir=leave", "pres", negation=negation)
    assert by_hand.orders(clause)[1] == english
