"""Questions of every form, over the same clauses."""

import re
from collections import defaultdict
from collections.abc import Callable
from random import Random

import pytest

from tests.text.phrasebook.conftest import ByHand, direct
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.french import finish
from transformer.text.phrasebook.questions import Asked, Questions
from transformer.text.phrasebook.words import Derivation

ENGLISH = {
    "où": "where",
    "d'où": "where",
    "quand": "when",
    "pourquoi": "why",
    "que": "what",
    "qui": "who",
    "avec qui": "who",
    "comment": "(how|what)",
    "combien": "how (much|many|long)",
    "à quelle heure": "what time",
    "quel": "(which|how old)",
    "quelle": "which",
}
# rendez-vous is a noun, but in "lui rendez-vous visite".
INVERTED = r"((?<!rendez)-(je|tu|il|elle|on|nous|vous|ils|elles)|(lui|leur|me|nous) rendez-vous)\b"
FORMS = {
    "est-ce que": r"est-ce qu",
    "inversion": INVERTED,
    "inversion of a noun": rf"^(?!.*(est-ce|{INVERTED}))",
    "no inversion": rf"^(?!.*(est-ce|{INVERTED}))",
    "in place": r"^(?!.*est-ce)",
}


@pytest.fixture(scope="module")
def questions(drawn: list[Derivation]) -> dict[tuple[str, str], list[Derivation]]:
    """Single questions with a question word, by the word and the form."""
    found = defaultdict(list)
    for pair in drawn:
        word, form = (*pair.structure, "", "")[:2]
        alone = not any(part == "then" or part.startswith("wrapped") for part in pair.structure)
        if alone and word.startswith("question ") and form.startswith("question "):
            key = word.removeprefix("question "), form.removeprefix("question ")
            found[key].append(pair)
    return dict(found)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_what_it_says(
    questions: dict[tuple[str, str], list[Derivation]], form: str
) -> None:
    pairs = [pair for key in questions if key[1] == form for pair in questions[key]]
    assert len(pairs) > 30
    assert [pair for pair in pairs if not re.search(FORMS[form], pair.source)] == []


@pytest.mark.parametrize("word", ENGLISH)
def test_the_english_begins_with_its_question_word(
    questions: dict[tuple[str, str], list[Derivation]], word: str
) -> None:
    pairs = [pair for key in questions if key[0] == word for pair in questions[key]]
    assert pairs
    assert [pair for pair in pairs if not re.match(f"(?i){ENGLISH[word]} ", pair.target)] == []


@pytest.mark.parametrize(
    ("word", "form", "start", "end"),
    [
        ("que", "est-ce que", "Qu'est-ce qu", ""),
        ("que", "inversion", "Qu('|e )", ""),
        ("que", "in place", "(?!Qu)", r"\bquoi .*\?"),
        ("où", "est-ce que", "Où est-ce qu", ""),
        ("où", "inversion", "Où ", ""),
        ("où", "inversion of a noun", "Où ", ""),
        ("où", "in place", "(?!Où)", r"\boù .*\?"),
        ("quand", "est-ce que", "Quand est-ce qu", ""),
        ("quand", "no inversion", "Quand ", ""),
        ("pourquoi", "inversion", "Pourquoi ", ""),
        ("qui", "est-ce que", "Qui est-ce qu", ""),
        ("quel", "inversion", "Quel ", ""),
    ],
)
def test_a_word_in_a_form(
    questions: dict[tuple[str, str], list[Derivation]], word: str, form: str, start: str, end: str
) -> None:
    assert questions[word, form]
    for pair in questions[word, form]:
        assert re.search(f"^{start}.*{end}$", pair.source), pair


@pytest.mark.parametrize(
    ("form", "french"),
    [
        ("inversion", INVERTED),
        ("est-ce que", r"^Est-ce qu"),
        ("intonation", r"^(?!Est-ce)"),
    ],
)
def test_yes_or_no(drawn: list[Derivation], form: str, french: str) -> None:
    pairs = [
        pair
        for pair in drawn
        if pair.structure[0] == f"question {form}"
        and "rendez-vous" not in pair.source  # a noun, or an inversion
        and not any(part == "then" or part.startswith("wrapped") for part in pair.structure)
    ]
    auxiliary = r"^(Am|Are|Is|Was|Were|Do|Does|Did|Has|Have|Had|Will|Won't|Would|Can|Could|Must|"
    auxiliary += r"Should|May|Might)(n't)? |^Can't "
    assert len(pairs) > 300
    assert [pair for pair in pairs if not re.search(french, pair.source)] == []
    assert [pair for pair in pairs if not re.search(auxiliary, pair.target)] == []


def test_who_is_the_subject(drawn: list[Derivation]) -> None:
    pairs = [pair for pair in drawn if pair.structure[0] == "who" and "then" not in pair.structure]
    assert any(re.match(r"Qui est-ce qui ", pair.source) for pair in pairs)
    for pair in pairs:
        assert re.search(r"(?i)\bqui ", pair.source), pair
        assert re.search(r"(?i)\bwho ", pair.target), pair


# --- what may be asked of a clause


def _asked(by_hand: ByHand, clause: Clause) -> set[tuple[str, str]]:
    questions = Questions(by_hand.speaker)
    found = (questions.asked(Random(seed), clause) for seed in range(200))
    return {(asked.fr, asked.en) for asked in found if asked is not None}


def test_a_thing_and_a_person_are_asked_for_by_their_words(by_hand: ByHand) -> None:
    thing = by_hand.clause("elle", "manger=eat", "pc", direct(by_hand.noun("pomme")))
    assert {("que", "what"), ("pourquoi", "why")} <= _asked(by_hand, thing)
    assert ("quelle pomme", "which apple") in _asked(by_hand, thing)
    person = by_hand.clause("elle", "voir=see", "pc", direct(by_hand.noun("voisin")))
    assert ("qui", "who") in _asked(by_hand, person)
    assert ("que", "what") not in _asked(by_hand, person)


@pytest.mark.parametrize(
    ("part", "question"),
    [
        (Part("at", "au cinéma", "at the cinema"), ("où", "where")),
        (Part("from", "de Lyon", "from Lyon"), ("d'où", "where")),
        (Part("time", "hier", "yesterday", name="past"), ("quand", "when")),
        (Part("time", "à midi", "at noon", name="clock"), ("à quelle heure", "what time")),
        (Part("company", "avec Paul", "with Paul", name="name"), ("avec qui", "who")),
        (Part("age", "dix ans", "ten years old"), ("quel âge", "how old")),
        (Part("price", "dix euros", "ten euros"), ("combien", "how much")),
        (Part("means", "à pied", "on foot"), ("comment", "how")),
    ],
)
def test_a_part_is_asked_for(by_hand: ByHand, part: Part, question: tuple[str, str]) -> None:
    assert question in _asked(by_hand, by_hand.clause("il", "partir=leave", "pc", part))


def test_what_is_asked_for_is_not_said(by_hand: ByHand) -> None:
    where = Part("at", "au cinéma", "at the cinema")
    clause = by_hand.clause("il", "dormir=sleep", "pc", where)
    questions = Questions(by_hand.speaker)
    asked = [questions.asked(Random(seed), clause) for seed in range(50)]
    rests = [one.rest for one in asked if one is not None and one.fr == "où"]
    assert rests
    assert {by_hand.french(rest) for rest in rests} == {"Il a dormi"}
    assert by_hand.english(rests[0], asked=True, word="where") == "Where did he sleep"
    assert by_hand.french(rests[0], inverted=True) == "A-t-il dormi"


# --- which forms a question of a noun has


@pytest.fixture
def forms(by_hand: ByHand) -> Callable[[Clause, Part, str], set[str]]:
    """The French questions, with `word`, that a clause with this part answers."""

    def ask(clause: Clause, part: Part, word: str) -> set[str]:
        questions = Questions(by_hand.speaker)
        asked = Asked(word, "", clause, part=part)
        return {finish(questions._french_question(Random(seed), asked)[0]) for seed in range(99)}

    return ask


def test_a_noun_before_etre_has_no_question_word_in_front(
    by_hand: ByHand, forms: Callable[[Clause, Part, str], set[str]]
) -> None:
    kind, paul = Part("adjective", "grand", "tall"), by_hand.name("Paul")
    said = forms(by_hand.clause(paul, "être=be", "pres", tags="state"), kind, "comment")
    assert {"Comment est Paul", "Paul est comment"} <= said
    assert "Comment Paul est" not in said
    he = forms(by_hand.clause("il", "être=be", "pres", tags="state"), kind, "comment")
    assert "Comment il est" in he


def test_a_noun_does_not_follow_what_belongs_to_the_verb(
    by_hand: ByHand, forms: Callable[[Clause, Part, str], set[str]]
) -> None:
    since, paul = Part("duration", "", "", name="since"), by_hand.name("Paul")
    word = "depuis combien de temps"
    waits = forms(by_hand.clause(paul, "attendre=wait", "pres"), since, word)
    assert "Depuis combien de temps attend Paul" in waits
    queues = forms(by_hand.clause(paul, "faire la queue=queue", "pres"), since, word)
    assert "Depuis combien de temps Paul fait-il la queue" in queues
    assert "Depuis combien de temps fait la queue Paul" not in queues
