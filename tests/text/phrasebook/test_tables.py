"""Malformed tables: file, line and what to do are named."""

import re
from pathlib import Path

import pytest

from transformer.text.phrasebook.expansion import load_grammar


def _append(path: Path, line: str) -> int:
    """Add a line to a file; returns its number."""
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n" + line + "\n"
    path.write_text(text, encoding="utf-8")
    return len(text.splitlines())


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("classes.txt", "gadget | gizmo", "unknown class 'gizmo'"),
        ("nouns.txt", "machin | m | thing | gadgetry", "unknown class 'gadgetry'"),
        ("nouns.txt", "machin | n | thing | device", "unknown gender 'n'"),
        ("nouns.txt", "machin | m | thing", "3 cells where the header has 5 columns"),
        ("nouns.txt", "acteur | mf | actor | folk | gold", "unknown flag 'gold'"),
        ("nouns.txt", "chat / chatte | m | cat | pet", "2 spellings for gender 'm'"),
        ("adjectives.txt", "las | lasse | weary | | around | mood", "unknown place 'around'"),
        ("adjectives.txt", "las | lasse | weary | | after | gloom", "unknown class 'gloom'"),
        ("adjectives.txt", "las | lasse | weary | | after | mood | gold", "unknown flag 'gold'"),
        ("names.txt", "Dominique | mf", "unknown gender 'mf'"),
        ("pronouns.txt", "x | x" + " | n" * 12, "unknown gender 'n'"),
        ("pronouns.txt", "x | x | m" + " | two" * 11, "unknown number 'two'"),
        ("pronouns.txt", "x | x | m | sg | 9" + " | 0" * 9, "unknown person '9'"),
        (
            "pronouns.txt",
            "x | x | m | sg | 2 | a | a | a | a | 2 | a | a | my | 0",
            "unknown determiner 'my'",
        ),
        ("geography.txt", "Malte | n | Malta", "unknown kind 'n'"),
        ("verbs_fr.txt", "gésir | gésir", "unknown verb model 'gésir'"),
        ("verbs_fr.txt", "gésir | er", "does not end in its model 'er'"),
        ("verbs_fr.txt", "rire | rire | aller", "unknown auxiliary 'aller'"),
        ("models_fr.txt", "oir | ois ois oit | oy | oir | u", "must have 6 forms"),
        ("verbs_en.txt", "go", "1 cells where the header has 4 columns"),
        ("verbs.txt", "choir | fall | event", "unknown French verb 'choir'; add it to"),
        ("verbs.txt", "rire | laugh | home", "must name exactly one of"),
        ("verbs.txt", "rire | laugh | event often", "unknown tag 'often'"),
        ("verbs.txt", "rire | laugh | event by=clowns", "unknown class 'clowns'"),
        ("verbs.txt", "rire | laugh | event weight=much", "weight 'much' is not a number"),
        ("verbs.txt", "lire | read | event | text sg", "must be three words"),
        ("verbs.txt", "lire | read | event | text sg nul", "unknown determiner 'nul'"),
        ("verbs.txt", "lire | read | event | text some un", "unknown number 'some'"),
        ("verbs.txt", "lire | read | event | novels sg un", "unknown class 'novels'"),
        ("verbs.txt", "lire | read | event | text mass un", "no noun is of class text and number"),
        ("verbs.txt", "lire | read | event | text sg un > avec", "must end in 'person'"),
        ("verbs.txt", "lire | read | event | text sg un > sur person", "unknown preposition"),
        ("frames.txt", "être | be | state | @where", "unknown complement 'where'"),
        ("modals.txt", "choir | pres | fall | simple | base | 1", "unknown French verb 'choir'"),
        ("modals.txt", "oser | pres | dare | simple | infinitive | 1", "unknown form"),
        (
            "modals.txt",
            "oser | pres | dare | simple | base | much",
            "weight 'much' is not a number",
        ),
        ("modals.txt", "oser | now | dare | simple | base | 1", "unknown French tense 'now'"),
        ("modals.txt", "oser | pres | dare | now | base | 1", "unknown English tense 'now'"),
        ("modals.txt", "oser | pres | dare | simple | base | 1 | bold", "unknown tag 'bold'"),
        ("determiners.txt", "x" + " | y" * 11, "unknown determiner 'y'"),
        ("models_fr.txt", "oir | a b c d e f | oy | oir | u | | ois oyez", "must have 3 forms"),
        ("wrappers.txt", "1 | x | Oui, | Yes, | |", "unknown mark 'x'"),
        ("rules.txt", "1 | {n:name}. | {n.genitve}.", "unknown view 'genitve'"),
        ("rules.txt", "1 | {lexicon}. | {lexicon}.", "unknown kind of slot"),
        ("phrases.txt", "past | hier", "2 cells where the header has 3 columns"),
        ("places.txt", "out_place | au bois", "2 cells where the header has 6 columns"),
        ("wrappers.txt", "often | . | Oui, | Yes, | |", "weight 'often' is not a number"),
        ("idioms.txt", "Bonjour.", "1 cells where the header has 2 columns"),
        ("rules.txt", "1 | {x:thing}. | {x}.", "unknown kind of slot or class of phrases 'thing'"),
        ("rules.txt", "1 | {a:adjective}. | {a}.", "no adjective is of class"),
        ("rules.txt", "1 | {v:infinitive moi}. | {v}.", "unknown pronoun 'moi'"),
        ("rules.txt", "1 | {n:name x}. | {n}.", "unknown gender 'x'"),
        ("rules.txt", "1 | {a:name} {a:city}. | {a}.", "is both 'name' and 'city'"),
        ("rules.txt", "1 | {a:name}. | hi.", "slot ['a'] stands on one side alone"),
        ("rules.txt", "1 | {a:name. | hi.", "unbalanced braces"),
        ("rules.txt", "1 | {}. | hi.", "empty braces"),
        ("rules.txt", "1 | oui. | yes!", "both sides must end with the same mark"),
        ("rules.txt", "1 | oui. | yes. | gold", "unknown flag 'gold'"),
        ("rules.txt", "much | oui. | yes.", "weight 'much' is not a number"),
    ],
)
def test_a_malformed_line_is_named(folder: Path, file: str, line: str, message: str) -> None:
    path = folder / file
    number = _append(path, line)
    place = f"{file}, line {number}: "
    with pytest.raises(ValueError, match=re.escape(place) + ".*" + re.escape(message)):
        load_grammar(folder)


TABLES = (
    "adjectives classes determiners frames geography idioms modals models_fr names nouns phrases "
    "places pronouns reporting rules verbs verbs_en verbs_fr wrappers"
)


def test_these_are_all_tables(folder: Path) -> None:
    assert sorted(path.stem for path in folder.glob("*.txt")) == TABLES.split()


@pytest.mark.parametrize("name", TABLES.split())
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / f"{name}.txt").unlink()
    with pytest.raises(ValueError, match=rf"{name}\.txt: no such file"):
        load_grammar(folder)


@pytest.mark.parametrize("name", ["names", "verbs_en", "verbs", "rules"])
def test_a_missing_column_is_named(folder: Path, name: str) -> None:
    path = folder / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(index for index, line in enumerate(lines) if line and line[0] != "#")
    *others, last = lines[at].split(" | ")
    lines[at] = " | ".join(others)
    path.write_text("\n".join(lines), encoding="utf-8")
    message = rf"{name}\.txt, line {at + 1}: the header must be .*missing column: {re.escape(last)}"
    with pytest.raises(ValueError, match=message):
        load_grammar(folder)


def test_an_empty_table_is_named(folder: Path) -> None:
    (folder / "names.txt").write_text("# nobody\n")
    with pytest.raises(ValueError, match=r"names\.txt, line 1: empty; start with 'name \| gender'"):
        load_grammar(folder)


def test_what_is_not_utf_8_is_named(folder: Path) -> None:
    (folder / "names.txt").write_bytes("name | gender\nÉlise | f\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"names\.txt: not UTF-8 .*save it as UTF-8"):
        load_grammar(folder)
