"""Inflection that the tables leave regular, and the conjugations."""

import pytest

from transformer.text.phrasebook.expansion import Grammar
from transformer.text.phrasebook.morphology import (
    agree_participle,
    english_plural,
    english_verb,
    french_feminine,
    french_plural,
)

GOLDEN = {
    ("manger", "pres"): "mange manges mange mangeons mangez mangent",
    ("manger", "imp"): "mangeais mangeais mangeait mangions mangiez mangeaient",
    ("commencer", "imp"): "commençais commençais commençait commencions commenciez commençaient",
    ("appeler", "fut"): "appellerai appelleras appellera appellerons appellerez appelleront",
    ("acheter", "cond"): "achèterais achèterais achèterait achèterions achèteriez achèteraient",
    ("préférer", "pres"): "préfère préfères préfère préférons préférez préfèrent",
    ("nettoyer", "fut"): "nettoierai nettoieras nettoiera nettoierons nettoierez nettoieront",
    ("finir", "subj"): "finisse finisses finisse finissions finissiez finissent",
    ("venir", "subj"): "vienne viennes vienne venions veniez viennent",
    ("prendre", "subj"): "prenne prennes prenne prenions preniez prennent",
    ("vendre", "pres"): "vends vends vend vendons vendez vendent",
    ("voir", "fut"): "verrai verras verra verrons verrez verront",
    ("rire", "imp"): "riais riais riait riions riiez riaient",
    ("être", "subj"): "sois sois soit soyons soyez soient",
    ("être", "pres"): "suis es est sommes êtes sont",
    ("avoir", "pres"): "ai as a avons avez ont",
    ("aller", "pres"): "vais vas va allons allez vont",
    ("aller", "fut"): "irai iras ira irons irez iront",
    ("pouvoir", "cond"): "pourrais pourrais pourrait pourrions pourriez pourraient",
    ("vouloir", "pres"): "veux veux veut voulons voulez veulent",
    ("devoir", "pres"): "dois dois doit devons devez doivent",
    ("faire", "pres"): "fais fais fait faisons faites font",
    ("ouvrir", "pres"): "ouvre ouvres ouvre ouvrons ouvrez ouvrent",
}


@pytest.mark.parametrize(("infinitive", "tense"), GOLDEN)
def test_conjugation(grammar: Grammar, infinitive: str, tense: str) -> None:
    forms = grammar.lexicon.verbs[infinitive].forms[tense]
    assert " ".join(forms) == GOLDEN[infinitive, tense]


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("manger", "mange mangeons mangez"),
        ("finir", "finis finissons finissez"),
        ("aller", "va allons allez"),
        ("ouvrir", "ouvre ouvrons ouvrez"),
        ("être", "sois soyons soyez"),
        ("avoir", "aie ayons ayez"),
        ("dire", "dis disons dites"),
    ],
)
def test_imperative(grammar: Grammar, infinitive: str, forms: str) -> None:
    assert " ".join(grammar.lexicon.verbs[infinitive].imperative) == forms


@pytest.mark.parametrize(
    ("infinitive", "participle", "gerund"),
    [
        ("manger", "mangé", "mangeant"),
        ("prendre", "pris", "prenant"),
        ("être", "été", "étant"),
        ("avoir", "eu", "ayant"),
        ("savoir", "su", "sachant"),
        ("ouvrir", "ouvert", "ouvrant"),
    ],
)
def test_participle_and_gerund(
    grammar: Grammar, infinitive: str, participle: str, gerund: str
) -> None:
    verb = grammar.lexicon.verbs[infinitive]
    assert (verb.participle, verb.gerund) == (participle, gerund)


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("chat", "chats"),
        ("souris", "souris"),
        ("prix", "prix"),
        ("gâteau", "gâteaux"),
        ("jeu", "jeux"),
        ("bleu", "bleus"),
        ("cheval", "chevaux"),
    ],
)
def test_french_plural(singular: str, plural: str) -> None:
    assert french_plural(singular) == plural


def test_french_feminine() -> None:
    assert (french_feminine("grand"), french_feminine("rouge")) == ("grande", "rouge")


@pytest.mark.parametrize(
    ("participle", "feminine", "plural", "form"),
    [
        ("allé", False, False, "allé"),
        ("allé", True, True, "allées"),
        ("pris", False, True, "pris"),
        ("pris", True, True, "prises"),
    ],
)
def test_participles_agree(participle: str, feminine: bool, plural: bool, form: str) -> None:
    assert agree_participle(participle, feminine, plural) == form


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("dish", "dishes"), ("box", "boxes"), ("city", "cities"), ("key", "keys"), ("car", "cars")],
)
def test_english_plural(singular: str, plural: str) -> None:
    assert english_plural(singular) == plural


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("play", "plays played played playing"),
        ("carry", "carries carried carried carrying"),
        ("watch", "watches watched watched watching"),
        ("hope", "hopes hoped hoped hoping"),
        ("agree", "agrees agreed agreed agreeing"),
        ("go", "goes goed goed going"),  # regular, where the table doesn't list it
    ],
)
def test_regular_english_verb(base: str, forms: str) -> None:
    verb = english_verb(base)
    assert " ".join((verb.third, verb.past, verb.participle, verb.gerund)) == forms


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("be", "is was been being"),
        ("have", "has had had having"),
        ("go", "goes went gone going"),
        ("swim", "swims swam swum swimming"),
        ("lie", "lies lied lied lying"),
        ("put", "puts put put putting"),
    ],
)
def test_irregular_english_verb(grammar: Grammar, base: str, forms: str) -> None:
    verb = grammar.lexicon.english_verb(base)
    assert " ".join((verb.third, verb.past, verb.participle, verb.gerund)) == forms


def test_regular_verbs_that_double_their_last_consonant_are_listed(grammar: Grammar) -> None:
    """english_verb() doubles nothing: stop, chat, plan must stand in verbs_en.txt."""
    for use in grammar.lexicon.uses:
        base, gerund = use.en_verb.base, use.en_verb.gerund
        if base[-1] in "bdgmnpt" and base[-2] in "aeiou" and base[-3:-2] not in "aeiou":
            one_syllable = sum(letter in "aeiouy" for letter in base) == 1
            assert not one_syllable or gerund == f"{base}{base[-1]}ing", base
