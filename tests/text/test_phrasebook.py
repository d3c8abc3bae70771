"""The phrasebook corpus: counts, split, correctness of the surface, errors."""

import re
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from transformer.text.phrasebook.expansion import (
    PARTS,
    Grammar,
    combinations_of,
    derive,
    expand,
    load_grammar,
    words_of,
)
from transformer.text.phrasebook.patterns import Derivation

FOLDER = Path(__file__).parents[2] / "data" / "phrasebook"
NUM_PAIRS, SEED = 25_000, 1
VOWEL = "aeiouyàâéèêëîïôùûœh"


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return load_grammar(FOLDER)


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Derivation]]:
    return derive(FOLDER, NUM_PAIRS, SEED)


@pytest.fixture(scope="module")
def pairs(parts: dict[str, list[Derivation]]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for part in parts.values() for pair in part]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "phrasebook"))


# --- size


def test_there_are_at_least_700_lemmas(grammar: Grammar) -> None:
    lexicon = grammar.lexicon
    verbs = {sense.verb.infinitive for group in lexicon.senses.values() for sense in group}
    adjectives = {adjective.masculine for adjective in lexicon.adjectives}
    assert len(lexicon.nouns) + len(adjectives) + len(verbs) >= 700


def test_there_are_at_least_80_patterns(grammar: Grammar) -> None:
    assert len({template.pattern for template in grammar.templates}) >= 80


def test_as_many_distinct_pairs_as_asked_for(parts: dict[str, list[Derivation]]) -> None:
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 23_000,
        "valid": 1_000,
        "test": 1_000,
    }
    assert len({(pair.source, pair.target) for part in parts.values() for pair in part}) == 25_000


def test_the_grammar_gives_well_over_60_000_pairs() -> None:
    assert sum(len(part) for part in expand(FOLDER, 70_000, SEED).values()) == 70_000


def test_a_small_corpus_is_possible() -> None:
    small = expand(FOLDER, 2_000, SEED)
    assert sum(len(part) for part in small.values()) == 2_000


def test_no_pattern_dominates(parts: dict[str, list[Derivation]]) -> None:
    counts = Counter(pair.pattern for pair in parts["train"])
    assert max(counts.values()) < 0.03 * len(parts["train"])
    assert len(counts) > 150


def test_most_sentences_are_short(pairs: list[tuple[str, str]]) -> None:
    lengths = [len(fr.split()) for fr, _ in pairs]
    assert sum(3 <= length <= 14 for length in lengths) > 0.95 * len(lengths)


# --- determinism


def test_same_seed_same_pairs() -> None:
    assert expand(FOLDER, 3_000, 5) == expand(FOLDER, 3_000, 5)


def test_another_seed_gives_other_pairs() -> None:
    first, second = expand(FOLDER, 3_000, 5), expand(FOLDER, 3_000, 6)
    assert set(first["train"]) != set(second["train"])
    assert set(first["test"]) != set(second["test"])


# --- translation is a function


def test_a_french_sentence_has_one_translation(pairs: list[tuple[str, str]]) -> None:
    counts = Counter(fr for fr, _ in pairs)
    assert [fr for fr, count in counts.items() if count > 1] == []


def test_templates_agree_on_what_a_sentence_means(grammar: Grammar) -> None:
    """Drawn without the filter for sentences seen before, no two English sides differ."""
    meanings: dict[str, set[str]] = {}
    for template in grammar.templates:
        rng = Random(template.name)
        for _ in range(60):
            filling = template.fill(rng, {})
            if filling is not None:
                pair = template.say(filling)
                meanings.setdefault(pair.source, set()).add(pair.target)
    assert {fr: en for fr, en in meanings.items() if len(en) > 1} == {}


# --- split


def test_held_out_sentences_hold_a_combination_unseen_in_train(
    parts: dict[str, list[Derivation]],
) -> None:
    seen = {combo for pair in parts["train"] for combo in combinations_of(pair.words)}
    for name in ("valid", "test"):
        for pair in parts[name]:
            assert not set(combinations_of(pair.words)) <= seen, pair


def test_every_word_of_held_out_sentences_occurs_in_train(
    parts: dict[str, list[Derivation]],
) -> None:
    french = set().union(*(words_of(pair.source) for pair in parts["train"]))
    english = set().union(*(words_of(pair.target) for pair in parts["train"]))
    for name in ("valid", "test"):
        for pair in parts[name]:
            assert words_of(pair.source) <= french
            assert words_of(pair.target) <= english


@pytest.mark.parametrize("side", ["source", "target"])
def test_no_sentence_is_in_two_parts(parts: dict[str, list[Derivation]], side: str) -> None:
    sets = [{getattr(pair, side) for pair in parts[name]} for name in PARTS]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]


def test_held_out_sentences_come_from_many_patterns(parts: dict[str, list[Derivation]]) -> None:
    assert len({pair.pattern for pair in parts["test"]}) > 100


def test_nearly_every_word_occurs_in_train(
    grammar: Grammar, parts: dict[str, list[Derivation]]
) -> None:
    lexicon = grammar.lexicon
    counts = Counter(word for pair in parts["train"] for word in pair.words)
    keys = {noun.key for noun in lexicon.nouns} | {word.key for word in lexicon.adjectives}
    keys |= {sense.key for group in lexicon.senses.values() for sense in group}
    keys |= {phrase.key for members in lexicon.phrases.values() for phrase in members}
    missing = sorted(key for key in keys if not counts[key])
    assert len(missing) <= 0.005 * len(keys), missing


# --- surface of the sentences

FRENCH_ERRORS = {
    "unelided": rf"(?i)(?<![\w'-])(je|me|te|se|ne|le|la|de|que|jusque|lorsque) "
    rf"(?!hibou|hamster|harpe|handball|haricot|huit|onze|yaourt|honte)[{VOWEL}]",
    "uncontracted": r"(?i)(?<![\w-])(de les|à les|de le|à le)\b(?! (voir|lire|faire))",
    "si il": r"\b[Ss]i ils?\b",
    "ma before a vowel": r"\b([mts]a) [aeiouàâéèêîôœ]",
    "ce before a vowel": r"\bce [aeiouàâéèêîôœ](?!n\b)",
    "beau before a vowel": r"\b([Uu]n|[Ll]e|mon|ton|[Qq]uel) (beau|vieux|nouveau) [aeioéœ]",
    "mark left": r"[*°^{}~_|=<>]",
    "spaces": r"  |^ | $| [.,]|[^ ][?!]$",
    "pas un": r"(?<!est )(?<!sont )\bpas une? (?!fois)",
    "apostrophe": r"[’‘]",
    "double t": r"[td]-t-",
}
ENGLISH_ERRORS = {
    "a before a vowel": r"\b[Aa] [aeio]\w",
    "an before a consonant": r"\b[Aa]n (?![aeiouAEIOU]|honest|hour)",
    "mark left": r"[*°^{}~_|=<>]",
    "spaces": r"  |^ | $| [.,?!]",
    "third person": r"^(He|She|It) (are|have|do|go|am)\b",
    "first person": r"\bI (is|are|has|does|goes)\b",
    "plural": r"\b([Tt]hey|[Ww]e|[Yy]ou) (is|was|has|does|am)\b",
    "double negation": r"n't \w+ (never|nothing|nobody)",
    "do with be": r"\b([Dd]o|[Dd]oes|[Dd]id)(n't)? be\b",
    "contraction": r"\b(I'm|he's|she's|we're|they're|you're|it's)\b",
    "regular for irregular": r"\b(feed|eat|read|go|run|buy|sing|think|teach|drive)ed\b",
    "single consonant": r"\b(runing|swiming|seting|puting|cuting|geting|stoping|planed|chating)\b",
}
IDIOMS_WITH_CONTRACTION = {"You're welcome.", "That's all, thank you."}


@pytest.mark.parametrize("name", FRENCH_ERRORS)
def test_french_has_no(name: str, pairs: list[tuple[str, str]]) -> None:
    pattern = re.compile(FRENCH_ERRORS[name])
    found = [fr for fr, _ in pairs if pattern.search(fr)]
    assert found == []


@pytest.mark.parametrize("name", ENGLISH_ERRORS)
def test_english_has_no(name: str, pairs: list[tuple[str, str]]) -> None:
    pattern = re.compile(ENGLISH_ERRORS[name])
    found = [en for _, en in pairs if pattern.search(en) and en not in IDIOMS_WITH_CONTRACTION]
    assert found == []


def test_sentences_are_cased_and_punctuated(pairs: list[tuple[str, str]]) -> None:
    for fr, en in pairs:
        assert fr[0].isupper(), fr
        assert en[0].isupper(), en
        assert fr[-1] == en[-1] or {fr[-1], en[-1]} <= {".", "!", "?"}
        assert re.search(r"(\w|\.|\)| [?!])[.]?$", fr), fr


def test_questions_are_questions_in_both(pairs: list[tuple[str, str]]) -> None:
    assert [pair for pair in pairs if pair[0].endswith("?") != pair[1].endswith("?")] == []


PHENOMENA = {
    "elision of le": (r"\bl'[aeioué]", r""),
    "h aspiré": (r"\b(le|la|un|de) (hibou|hamster|harpe)", r""),
    "du": (r"\bdu (Japon|pain|piano)", r""),
    "aux États-Unis": (r"aux États-Unis", r"the United States"),
    "in the domain": (r"^(Il|Elle) (vit|habite|travaille) (au|en|à)", r"(lives|works) in"),
    "inversion with t": (r"-t-(il|elle)", r"\?$"),
    "est-ce que": (r"^Est-ce qu", r"^(Do|Does|Did|Is|Are|Has|Have|Will|Am|Was)"),
    "never": (r"\b(n'|ne )\w+ jamais", r"never"),
    "no longer": (r"\b(n'|ne )\w+ plus\b", r"anymore|left"),
    "nobody": (r"\bpersonne\b", r"anyone"),
    "être with agreement": (r"\b(est|sont) (allée|parties|arrivées|sortie)", r""),
    "preceding object": (r"\bl'a[is]? \w+(ée|ie|ue)\b", r"\b(her|it)\b"),
    "his and her": (r"\bElle .* son \w+", r"\bher\b"),
    "leur": (r"\bleur (a|ont|écri|parl)", r"\bthem\b"),
    "y": (r"\bn?'?y va", r"there"),
    "en": (r"\ben (ai|as|a|avons|ont)\b", r""),
    "bel, vieil, nouvel": (r"\b(bel|vieil|nouvel) [aeioé]", r""),
    "mon before a vowel": (r"\b[Mm]on (amie|écharpe|assiette)", r"[Mm]y "),
    "de before an adjective": (r"\bde (beaux|belles|petits|grandes|vieux)", r""),
    "better": (r"\bmeilleure?s?\b", r"better"),
    "since": (r"\bdepuis\b", r"\b(has|have|had)\b"),
    "miss": (r"\b[mt]e manque", r"\bmiss"),
    "hungry": (r"\ba faim", r"\bis hungry"),
    "years old": (r"\ba \w+ ans\b", r"\bis \w+ years old"),
    "conditional": (r"\bachèter(ais|ait|ions|aient)", r"\bwould buy"),
    "if he": (r"\b[Ss]'il ", r"\b[Ii]f "),
    "subjunctive": (r"\b[Ii]l faut qu", r"must"),
    "venir de": (r"\bvien\w+ d", r""),
    "near future": (r"\b(va|vont) ", r"going to"),
    "perfect": (r"\bdéjà\b", r"already"),
    "superlative": (r"\b(le|la) plus ", r"(est|most) "),
    "possessive 's": (r"\b(de|d')(Marie|[AÉI]\w+) (est|n'est)", r"'s "),
    "reflexive": (r"\bs'est (lavé|couché|levé)", r""),
    "imperative": (r"^\w+-(moi|nous|les|toi)\b", r""),
}


@pytest.mark.parametrize("name", PHENOMENA)
def test_corpus_shows(name: str, pairs: list[tuple[str, str]]) -> None:
    source, target = PHENOMENA[name]
    assert any(re.search(source, fr) and re.search(target, en) for fr, en in pairs)


def test_il_vit_au_japon_is_in_the_domain(grammar: Grammar) -> None:
    rng = Random(0)
    template = next(each for each in grammar.templates if each.name == "live/1")
    found = set()
    for _ in range(20_000):
        filling = template.fill(rng, {})
        if filling is not None:
            pair = template.say(filling)
            found.add((pair.source, pair.target))
    assert ("Il vit au Japon.", "He lives in Japan.") in found


# --- conjugation

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
    ("aller", "fut"): "irai iras ira irons irez iront",
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
        ("dire", "dis disons dites"),
    ],
)
def test_imperative(grammar: Grammar, infinitive: str, forms: str) -> None:
    assert " ".join(grammar.lexicon.verbs[infinitive].imperative) == forms


# --- errors


def _append(path: Path, line: str) -> int:
    """Add a line to a file; returns its number."""
    text = path.read_text(encoding="utf-8").rstrip("\n") + "\n" + line + "\n"
    path.write_text(text, encoding="utf-8")
    return len(text.splitlines())


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("nouns.txt", "machin | m | thing | gadgetry", "unknown class 'gadgetry'"),
        ("nouns.txt", "machin | n | thing | device", "unknown gender 'n'"),
        ("nouns.txt", "machin | m | thing", "3 cells where the header has 5 columns"),
        ("nouns.txt", "acteur | mf | actor | folk | gold", "unknown flag 'gold'"),
        ("nouns.txt", "chat / chatte | m | cat | pet", "2 spellings for gender 'm'"),
        ("adjectives.txt", "las | lasse | weary | | around | mood", "unknown place 'around'"),
        ("verbs_fr.txt", "gésir | gésir", "unknown verb model 'gésir'"),
        ("verbs_fr.txt", "gésir | er", "does not end in its model 'er'"),
        ("verbs_fr.txt", "rire | rire | aller", "unknown auxiliary 'aller'"),
        ("models_fr.txt", "oir | ois ois oit | oy | oir | u", "must have 6 forms"),
        ("verbs.txt", "do | choir | fall | event", "unknown French verb 'choir'"),
        ("verbs.txt", "do | rire | laugh | often", "unknown aspect 'often'"),
        ("verbs.txt", "act | lire | read | event | text sg", "must be three words"),
        ("verbs.txt", "act | lire | read | event | text sg nul", "unknown determiner 'nul'"),
        ("verbs.txt", "act | lire | read | event | text some un", "unknown number 'some'"),
        ("geography.txt", "Malte | n | Malta", "unknown kind 'n'"),
        ("patterns/10-doing.txt", "  z = thing", "unknown kind of slot 'thing'"),
        ("patterns/10-doing.txt", "  z = verb dance", "unknown group of verbs 'dance'"),
        ("patterns/10-doing.txt", "  z = phrase yesterday", "unknown class of phrases 'yesterday'"),
        ("patterns/10-doing.txt", "  z = object s", "object VERB"),
        ("patterns/10-doing.txt", "  z = adj y", "'adj SLOT [CLASS]' with a slot declared above"),
        ("patterns/10-doing.txt", "  fr {x v pres}.\n  en hi.", "unknown slot 'x'"),
        ("patterns/10-doing.txt", "  fr {s v pres maybe}.\n  en hi.", "unknown word in a clause"),
        ("patterns/10-doing.txt", "  fr {s v pres.\n  en hi.", "unbalanced braces"),
        ("patterns/10-doing.txt", "  fr {}.\n  en hi.", "empty braces"),
        ("patterns/10-doing.txt", "  fr oui.", "must be followed by its 'en' line"),
        ("patterns/10-doing.txt", "  en yes.", "must follow an 'fr' line"),
        ("patterns/10-doing.txt", "pattern do-past", "is empty or taken"),
        ("patterns/10-doing.txt", "  weight much", "is not a number"),
        ("patterns/10-doing.txt", "  hello", "'hello' begins no line"),
    ],
)
def test_a_malformed_line_is_named(folder: Path, file: str, line: str, message: str) -> None:
    path = folder / file
    number = _append(path, line) - line.count("\n")
    place = f"{path.name}, line {number}: "
    with pytest.raises(ValueError, match=re.escape(place) + ".*" + re.escape(message)):
        expand(folder, 100, SEED)


def test_a_missing_column_is_named(folder: Path) -> None:
    (folder / "names.txt").write_text("name\nMarie\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"names\.txt, line 1: .*missing column: gender"):
        expand(folder, 100, SEED)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "names.txt").unlink()
    with pytest.raises(ValueError, match=r"names\.txt: no such file"):
        expand(folder, 100, SEED)


def test_a_folder_without_patterns_is_named(folder: Path) -> None:
    shutil.rmtree(folder / "patterns")
    with pytest.raises(ValueError, match="no pattern files"):
        expand(folder, 100, SEED)


def test_asking_for_too_many_says_how_many_there_are(folder: Path) -> None:
    for path in (folder / "patterns").glob("*.txt"):
        path.unlink()
    text = "pattern only\n  s = subject pron\n  v = verb rain\n  fr {s v pres}.\n  en {s v pres}.\n"
    (folder / "patterns" / "only.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"num_pairs = 5000, but this grammar gives only \d+"):
        expand(folder, 5_000, SEED)


def test_no_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="num_pairs = 0 must be at least 1"):
        expand(FOLDER, 0, SEED)
