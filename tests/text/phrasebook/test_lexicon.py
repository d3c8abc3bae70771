"""The words: how many there are, and that each is said."""

import re
from pathlib import Path
from random import Random

from tests.text.phrasebook.conftest import FOLDER
from transformer.text.phrasebook.expansion import Grammar
from transformer.text.phrasebook.lexicon import COMPLEMENTS, MODAL_TAGS, TAGS
from transformer.text.phrasebook.words import Derivation


def test_there_are_at_least_1_200_lemmas(grammar: Grammar) -> None:
    lexicon = grammar.lexicon
    nouns = {form for noun in lexicon.nouns for form in noun.forms.values()}
    verbs = {(use.reflexive, use.verb.infinitive) for use in lexicon.uses}
    adjectives = {adjective.masculine for adjective in lexicon.adjectives}
    assert len(nouns) + len(verbs) + len(adjectives) >= 1_200


def test_nearly_every_word_is_drawn(grammar: Grammar, drawn: list[Derivation]) -> None:
    """All uses of verbs; of nouns and adjectives but the few that only fragments show."""
    lexicon = grammar.lexicon
    seen = {word for pair in drawn for word in pair.words}
    rng = Random(1)
    # The rarest, which core words leave little room, come in a larger sample.
    for _ in range(240_000):
        pair = grammar.draw(rng)
        seen.update(pair.words if pair is not None else ())
    assert [use.key for use in lexicon.uses if use.key not in seen] == []
    nouns = [noun.key for noun in lexicon.nouns if noun.key not in seen]
    adjectives = [one.key for one in lexicon.adjectives if one.key not in seen]
    assert len(nouns) <= 0.05 * len(lexicon.nouns), nouns
    assert len(adjectives) <= 0.1 * len(lexicon.adjectives), adjectives


def test_every_class_of_nouns_has_members(grammar: Grammar) -> None:
    """But the classes that adjectives alone are of."""
    lexicon = grammar.lexicon
    members = {name for word in (*lexicon.nouns, *lexicon.adjectives) for name in word.classes}
    declared = [
        line.split("|")[0].strip()
        for line in (FOLDER / "classes.txt").read_text(encoding="utf-8").splitlines()
        if line and line[0] != "#"
    ]
    assert [name for name in declared[1:] if name not in members] == []


def test_made_up_names_are_no_words(grammar: Grammar) -> None:
    words = grammar.lexicon.french_words
    assert {"tu", "le", "ne", "est", "mangeons", "vieilles", "hier", "pas", "que"} <= words
    assert "tombouctou" not in words


def test_no_person_is_drawn_twice_in_a_sentence(drawn: list[Derivation]) -> None:
    """Paul doesn't see Paul."""
    names = re.compile(r"\b(Marie|Paul|Sophie|Lucas|Alice|Thomas|Julie|Pierre)\b(?=.*\b\1\b)")
    twice = [pair for pair in drawn if names.search(pair.source) and "then" not in pair.structure]
    assert len(twice) < 0.001 * len(drawn), twice


def test_readme_names_every_file_and_tag() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in Path(FOLDER).glob("*.txt"):
        assert f"`{path.name}`" in text, path.name
    for tag in (*TAGS, *MODAL_TAGS):
        assert re.search(rf"`{tag}`", text), tag
    for kind in COMPLEMENTS:
        assert f"`@{kind}`" in text, kind
