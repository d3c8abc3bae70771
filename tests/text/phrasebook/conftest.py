"""One grammar, what it draws, and clauses made by hand, for all tests of the phrasebook."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from transformer.text.phrasebook import english, french
from transformer.text.phrasebook.clause import Clause, Part
from transformer.text.phrasebook.expansion import Grammar, derive, load_grammar
from transformer.text.phrasebook.speaker import Speaker
from transformer.text.phrasebook.tables import Place
from transformer.text.phrasebook.words import Derivation, NounPhrase, Phrase

FOLDER = Path(__file__).parents[3] / "data" / "phrasebook"


@pytest.fixture(scope="session")
def grammar() -> Grammar:
    return load_grammar(FOLDER)


@pytest.fixture(scope="session")
def speaker(grammar: Grammar) -> Speaker:
    return grammar.sentences.speaker


@pytest.fixture(scope="session")
def drawn(grammar: Grammar) -> list[Derivation]:
    """Sentences as they come: repeated ones too, fixed ones not."""
    return [pair for number in range(15) for pair in grammar.draw_chunk(0, number)]


@pytest.fixture(scope="session")
def parts() -> dict[str, list[Derivation]]:
    return derive(FOLDER, 6_000, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A phrasebook to spoil."""
    return Path(shutil.copytree(FOLDER, tmp_path / "phrasebook"))


@dataclass(frozen=True)
class ByHand:
    """Makes clauses of words that are named, and says them."""

    speaker: Speaker

    def pronoun(self, key: str, *, feminine: bool = False, plural: bool = False) -> NounPhrase:
        """je, tu ... with the gender and number that they stand for."""
        pronoun = self.speaker.phrases.pronouns[key]
        return NounPhrase(
            fr=pronoun.subject,
            en=pronoun.en_subject,
            gender=pronoun.gender or ("f" if feminine else "m"),
            plural=plural if pronoun.plural is None else pronoun.plural,
            person=pronoun.person,
            en_person=pronoun.en_person,
            pronoun=pronoun,
            kind="pronoun",
            classes=frozenset(("person",)),
        )

    def noun(self, singular: str, code: str = "le", *, plural: bool = False) -> NounPhrase:
        """A noun by its singular, with the determiner of this code."""
        for noun in self.speaker.lexicon.nouns:
            for gender, forms in noun.forms.items():
                if forms[0].strip("*") == singular:
                    return self.speaker.phrases.build(noun, gender, plural, code)
        raise AssertionError(f"no noun {singular}")

    def name(self, text: str, *, feminine: bool = False) -> NounPhrase:
        pronoun = self.speaker.phrases.pronouns["elle" if feminine else "il"]
        gender = "f" if feminine else "m"
        return NounPhrase(text, text, gender, False, 2, 2, pronoun, "name")

    def clause(
        self,
        subject: NounPhrase | str,
        verb: str,
        tense: str,
        *complements: Part,
        tags: str = "event",
        modal: str = "",
        negation: str = "",
        adverb: tuple[str, str] | None = None,
    ) -> Clause:
        """`verb` is French=English, `modal` the key of the first such row of modals.txt."""
        fr, en = verb.split("=")
        use = self.speaker.lexicon.verb_use(Place("by hand", 1), fr, en, tags, "")
        modals = {one.key: one for one in reversed(self.speaker.lexicon.modals)}
        return Clause(
            self.pronoun(subject) if isinstance(subject, str) else subject,
            use,
            modals[modal].tense if modal else tense,
            modal=modals[modal] if modal else None,
            negation=negation,
            adverb=Phrase(adverb[0], {"": adverb[0]}, {"": adverb[1]}) if adverb else None,
            complements=list(complements),
        )

    def french(self, clause: Clause, *, inverted: bool = False, last: bool = False) -> str:
        return french.finish(self.speaker.in_french.clause(clause, inverted=inverted, last=last))

    def english(self, clause: Clause, *, asked: bool = False, word: str = "") -> str:
        return english.finish(self.speaker.in_english.clause(clause, asked=asked, word=word))

    def orders(self, clause: Clause) -> tuple[str, str]:
        return (
            french.finish(self.speaker.in_french.imperative(clause)),
            english.finish(self.speaker.in_english.imperative(clause)),
        )


@pytest.fixture(scope="session")
def by_hand(speaker: Speaker) -> ByHand:
    return ByHand(speaker)


def direct(phrase: NounPhrase) -> Part:
    return Part("direct", phrase=phrase)
