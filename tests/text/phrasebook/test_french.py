"""The French of clauses made by hand: clitics, negation, agreement, inversion, finishing."""

from dataclasses import replace

import pytest

from tests.text.phrasebook.conftest import ByHand, direct
from transformer.text.phrasebook.clause import Part
from transformer.text.phrasebook.french import direct_clitic, finish, order_clitics
from transformer.text.phrasebook.words import NounPhrase


def to_whom(somebody: NounPhrase) -> Part:
    pronoun = somebody.pronoun
    return Part("recipient", en=pronoun.en_object, phrase=somebody, clitic=pronoun.indirect)


# --- finishing


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("je ai faim", "J'ai faim"),
        ("il ne a pas", "Il n'a pas"),
        ("parce que il dort", "Parce qu'il dort"),
        ("jusque à lundi", "Jusqu'à lundi"),
        ("°la amie de Anne", "L'amie d'Anne"),
        ("°le homme et °le *héros", "L'homme et le héros"),
        ("à *huit heures", "À huit heures"),
        ("de °le pain, de °la eau, de °les œufs", "Du pain, de l'eau, des œufs"),
        ("à °le bar et à °les toilettes", "Au bar et aux toilettes"),
        ("à °le hôtel", "À l'hôtel"),
        ("jusque à °le palais", "Jusqu'au palais"),
        ("le sac de des amis", "Le sac d'amis"),
        # The pronoun does not contract.
        ("content de le voir", "Content de le voir"),
        ("si il vient et si elle part", "S'il vient et si elle part"),
        ("mange-le avec moi", "Mange-le avec moi"),
        ("donne-le à Anne", "Donne-le à Anne"),
        ("oui  , merci .", "Oui, merci."),
    ],
)
def test_finish(text: str, finished: str) -> None:
    assert finish(text) == finished


def test_clitics_have_one_order() -> None:
    assert order_clitics(["en", "me"]) == ["me", "en"]
    assert order_clitics(["lui", "le"]) == ["le", "lui"]
    assert order_clitics(["la", "nous"]) == ["nous", "la"]
    assert order_clitics(["en", "y"]) == ["y", "en"]


# --- clitics


def test_clitics_stand_before_the_verb_in_their_order(by_hand: ByHand) -> None:
    book = direct_clitic(by_hand.noun("livre"))
    for whom, french in [
        (by_hand.pronoun("je"), "Tu me le donnes"),
        (by_hand.pronoun("il"), "Tu le lui donnes"),
        (by_hand.pronoun("elles"), "Tu le leur donnes"),
        (by_hand.pronoun("nous"), "Tu nous le donnes"),
    ]:
        assert by_hand.french(by_hand.clause("tu", "donner=give", "pres", book, to_whom(whom))) == (
            french
        )


def test_clitics_stand_before_the_auxiliary_and_after_a_modal(by_hand: ByHand) -> None:
    book = direct_clitic(by_hand.noun("livre"))
    past = by_hand.clause("je", "lire=read", "pc", book, negation="pas")
    assert by_hand.french(past) == "Je ne l'ai pas lu"
    modal = by_hand.clause("je", "lire=read", "", book, modal="vouloir pres", negation="pas")
    assert by_hand.french(modal) == "Je ne veux pas le lire"


def test_y_and_en(by_hand: ByHand) -> None:
    there = Part("to y", en="there", clitic="y")
    assert by_hand.french(by_hand.clause("je", "aller=go", "pres", there)) == "J'y vais"
    some = Part("direct", en="some", clitic="en")
    clause = by_hand.clause("il", "manger=eat", "pc", some)
    assert by_hand.french(clause) == "Il en a mangé"


def test_a_reflexive_follows_its_subject(by_hand: ByHand) -> None:
    said = [
        by_hand.french(by_hand.clause(key, "se lever=get up", "pres"))
        for key in ("je", "tu", "elle", "nous", "vous", "ils")
    ]
    assert said == [
        "Je me lève",
        "Tu te lèves",
        "Elle se lève",
        "Nous nous levons",
        "Vous vous levez",
        "Ils se lèvent",
    ]
    modal = by_hand.clause("nous", "se lever=get up", "", modal="devoir pres")
    assert by_hand.french(modal) == "Nous devons nous lever"


def test_a_possessive_after_the_verb_is_the_subjects(by_hand: ByHand) -> None:
    verb = "fêter son anniversaire=celebrate one's birthday"
    clauses = [by_hand.clause(key, verb, "pres") for key in ("je", "elle", "vous")]
    assert [by_hand.french(clause) for clause in clauses] == [
        "Je fête mon anniversaire",
        "Elle fête son anniversaire",
        "Vous fêtez votre anniversaire",
    ]
    assert [by_hand.english(clause) for clause in clauses] == [
        "I am celebrating my birthday",
        "She is celebrating her birthday",
        "You are celebrating your birthday",
    ]


# --- negation


@pytest.mark.parametrize(
    ("negation", "present", "past"),
    [
        ("pas", "Il ne mange pas", "Il n'a pas mangé"),
        ("plus", "Il ne mange plus", "Il n'a plus mangé"),
        ("jamais", "Il ne mange jamais", "Il n'a jamais mangé"),
        ("rien", "Il ne mange rien", "Il n'a rien mangé"),
        ("pas_encore", "Il ne mange pas encore", "Il n'a pas encore mangé"),
        ("pas_du_tout", "Il ne mange pas du tout", "Il n'a pas du tout mangé"),
        ("personne", "Il ne mange personne", "Il n'a mangé personne"),
    ],
)
def test_negations(by_hand: ByHand, negation: str, present: str, past: str) -> None:
    clauses = [
        by_hand.clause("il", "manger=eat", tense, negation=negation) for tense in ("pres", "pc")
    ]
    assert [by_hand.french(clause) for clause in clauses] == [present, past]


def test_negations_around_a_modal(by_hand: ByHand) -> None:
    nothing = by_hand.clause("je", "dire=say", "", modal="vouloir pres", negation="rien")
    assert by_hand.french(nothing) == "Je ne veux rien dire"
    nobody = by_hand.clause("je", "voir=see", "", modal="vouloir pres", negation="personne")
    assert by_hand.french(nobody) == "Je ne veux voir personne"


def test_an_indefinite_object_becomes_de(by_hand: ByHand) -> None:
    apple = direct(by_hand.noun("pomme", "un"))
    bread = direct(by_hand.noun("pain", "du"))
    water = direct(by_hand.noun("eau", "du"))
    the = direct(by_hand.noun("pomme"))
    said = [
        by_hand.french(by_hand.clause("il", "manger=eat", "pres", part, negation="pas"))
        for part in (apple, bread, water, the)
    ]
    assert said == [
        "Il ne mange pas de pomme",
        "Il ne mange pas de pain",
        "Il ne mange pas d'eau",
        "Il ne mange pas la pomme",
    ]


def test_an_indefinite_after_the_verb_becomes_de(by_hand: ByHand) -> None:
    clause = by_hand.clause("je", "prendre une douche=take a shower", "pc", negation="pas")
    assert by_hand.french(clause) == "Je n'ai pas pris de douche"


def test_an_infinitive_is_negated_in_one_place(by_hand: ByHand) -> None:
    clause = by_hand.clause("je", "se lever=get up", "pres")
    french = by_hand.speaker.in_french
    assert finish(french.infinitive(clause, "pas")) == "Ne pas me lever"
    assert finish(french.infinitive(clause)) == "Me lever"


def test_a_gerund_keeps_its_clitics(by_hand: ByHand) -> None:
    book = direct_clitic(by_hand.noun("livre"))
    clause = by_hand.clause("je", "lire=read", "pres", book)
    assert finish(by_hand.speaker.in_french.gerund(clause)) == "En le lisant"


# --- agreement


@pytest.mark.parametrize(
    ("feminine", "plural", "french"),
    [
        (False, False, "Vous êtes parti"),
        (True, False, "Vous êtes partie"),
        (False, True, "Vous êtes partis"),
        (True, True, "Vous êtes parties"),
    ],
)
def test_a_participle_with_etre_agrees_with_its_subject(
    by_hand: ByHand, feminine: bool, plural: bool, french: str
) -> None:
    subject = by_hand.pronoun("vous", feminine=feminine, plural=plural)
    assert by_hand.french(by_hand.clause(subject, "partir=leave", "pc")) == french


def test_a_participle_agrees_with_an_object_before_it_alone(by_hand: ByHand) -> None:
    doors = by_hand.noun("porte", plural=True)
    before = by_hand.clause("il", "fermer=close", "pc", direct_clitic(doors))
    after = by_hand.clause("il", "fermer=close", "pc", direct(doors))
    assert by_hand.french(before) == "Il les a fermées"
    assert by_hand.french(after) == "Il a fermé les portes"


def test_a_participle_does_not_agree_with_to_whom(by_hand: ByHand) -> None:
    clause = by_hand.clause("il", "parler=talk", "pc", to_whom(by_hand.pronoun("elle")))
    assert by_hand.french(clause) == "Il lui a parlé"


def test_reflexives_agree_but_where_an_object_follows(by_hand: ByHand) -> None:
    washed = by_hand.clause("elle", "se laver=wash", "pc")
    hands = by_hand.clause(
        "elle", "se laver les mains=wash one's hands", "pc", tags="event noagree"
    )
    assert by_hand.french(washed) == "Elle s'est lavée"
    assert by_hand.french(hands) == "Elle s'est lavé les mains"


def test_a_verb_of_etre_takes_avoir_where_its_row_says_so(by_hand: ByHand) -> None:
    bags = direct(by_hand.noun("valise"))
    clause = by_hand.clause("elle", "descendre=take down", "pc", bags, tags="event avoir")
    assert by_hand.french(clause) == "Elle a descendu la valise"


def test_an_adjective_agrees_and_changes_before_a_vowel(by_hand: ByHand) -> None:
    phrases = by_hand.speaker.phrases
    adjectives = {one.key: one for one in by_hand.speaker.lexicon.adjectives}
    nouns = {noun.key: noun for noun in by_hand.speaker.lexicon.nouns}
    old, blue = adjectives["vieux"], adjectives["bleu"]
    said = [
        finish(phrases.build(nouns["arbre=tree"], "m", False, "un", old).fr),
        finish(phrases.build(nouns["arbre=tree"], "m", True, "un", old).fr),
        finish(phrases.build(nouns["voiture=car"], "f", True, "le", blue).fr),
        finish(phrases.build(nouns["chat=cat"], "m", False, "un", old).fr),
    ]
    assert said == ["Un vieil arbre", "De vieux arbres", "Les voitures bleues", "Un vieux chat"]


def test_determiners_know_the_sound_that_follows(by_hand: ByHand) -> None:
    said = [
        finish(by_hand.noun(noun, code).fr)
        for noun, code in (("arbre", "ce"), ("amie", "mon"), ("chat", "ce"), ("école", "le"))
    ]
    assert said == ["Cet arbre", "Mon amie", "Ce chat", "L'école"]


# --- inversion


@pytest.mark.parametrize(
    ("subject", "tense", "french"),
    [
        ("il", "pres", "Mange-t-il"),
        ("elles", "pres", "Mangent-elles"),
        ("tu", "pres", "Manges-tu"),
        ("on", "fut", "Mangera-t-on"),
        ("il", "pc", "A-t-il mangé"),
        ("nous", "pc", "Avons-nous mangé"),
        ("vous", "imp", "Mangiez-vous"),
    ],
)
def test_a_pronoun_is_inverted(by_hand: ByHand, subject: str, tense: str, french: str) -> None:
    assert by_hand.french(by_hand.clause(subject, "manger=eat", tense), inverted=True) == french


def test_no_t_after_d_and_t(by_hand: ByHand) -> None:
    said = [
        by_hand.french(by_hand.clause("il", verb, "pres"), inverted=True)
        for verb in ("prendre=take", "finir=end", "aller=go", "avoir=have")
    ]
    assert said == ["Prend-il", "Finit-il", "Va-t-il", "A-t-il"]


def test_may_i(by_hand: ByHand) -> None:
    clause = by_hand.clause("je", "entrer=come in", "", modal="pouvoir pres")
    assert by_hand.french(clause, inverted=True) == "Puis-je entrer"


def test_a_noun_is_taken_up_again(by_hand: ByHand) -> None:
    clause = by_hand.clause(by_hand.noun("voisine"), "manger=eat", "pc", negation="pas")
    assert by_hand.french(clause, inverted=True) == "La voisine n'a-t-elle pas mangé"
    name = by_hand.clause(by_hand.name("Paul"), "manger=eat", "pres")
    assert by_hand.french(name, inverted=True) == "Paul mange-t-il"


def test_a_noun_may_come_last(by_hand: ByHand) -> None:
    clause = by_hand.clause(by_hand.noun("voisin"), "travailler=work", "pres")
    assert by_hand.french(clause, last=True) == "Travaille le voisin"


def test_clitics_and_negation_stay_around_an_inverted_verb(by_hand: ByHand) -> None:
    book = direct_clitic(by_hand.noun("livre"))
    clause = by_hand.clause("tu", "lire=read", "pc", book, negation="pas")
    assert by_hand.french(clause, inverted=True) == "Ne l'as-tu pas lu"
    reflexive = by_hand.clause("tu", "se lever=get up", "pc")
    assert by_hand.french(reflexive, inverted=True) == "T'es-tu levé"


# --- the imperative


def test_clitics_follow_an_order_and_precede_its_negation(by_hand: ByHand) -> None:
    book, me = direct_clitic(by_hand.noun("livre")), to_whom(by_hand.pronoun("je"))
    order = by_hand.clause("tu", "donner=give", "pres", book, me)
    assert by_hand.orders(order) == ("Donne-le-moi", "Give it to me")
    order = replace(order, negation="pas")
    assert by_hand.orders(order) == ("Ne me le donne pas", "Don't give it to me")


@pytest.mark.parametrize(
    ("subject", "verb", "negation", "french", "english"),
    [
        ("tu", "se lever=get up", "", "Lève-toi", "Get up"),
        ("vous", "se lever=get up", "", "Levez-vous", "Get up"),
        ("nous", "se lever=get up", "", "Levons-nous", "Let's get up"),
        ("tu", "se lever=get up", "pas", "Ne te lève pas", "Don't get up"),
        ("nous", "partir=leave", "pas", "Ne partons pas", "Let's not leave"),
        ("tu", "partir=leave", "jamais", "Ne pars jamais", "Never leave"),
    ],
)
def test_orders(
    by_hand: ByHand, subject: str, verb: str, negation: str, french: str, english: str
) -> None:
    clause = by_hand.clause(subject, verb, "pres", negation=negation)
    assert by_hand.orders(clause) == (french, english)


def test_the_s_of_an_order_comes_back_before_y_and_en(by_hand: ByHand) -> None:
    go = by_hand.clause("tu", "aller=go", "pres", Part("to y", en="there", clitic="y"))
    assert by_hand.orders(go)[0] == "Vas-y"
    eat = by_hand.clause("tu", "manger=eat", "pres", Part("direct", en="some", clitic="en"))
    assert by_hand.orders(eat)[0] == "Manges-en"


# --- modals and adverbs


@pytest.mark.parametrize(
    ("modal", "french"),
    [
        ("aller pres", "Elle va partir"),
        ("vouloir cond", "Elle voudrait partir"),
        ("devoir pres", "Elle doit partir"),
        ("venir de pres", "Elle vient de partir"),
        ("avoir envie de pres", "Elle a envie de partir"),
        ("essayer de pc", "Elle a essayé de partir"),
        ("être en train de pres", "Elle est en train de partir"),
    ],
)
def test_modals(by_hand: ByHand, modal: str, french: str) -> None:
    assert by_hand.french(by_hand.clause("elle", "partir=leave", "", modal=modal)) == french


def test_an_adverb_follows_the_finite_verb(by_hand: ByHand) -> None:
    often = by_hand.clause("il", "manger=eat", "pres", adverb=("souvent", "often"))
    already = by_hand.clause("il", "manger=eat", "pc", adverb=("déjà", "already"))
    assert by_hand.french(often) == "Il mange souvent"
    assert by_hand.french(already) == "Il a déjà mangé"
