"""The table of noise: what each form changes, and what a translator that copies makes of it."""

import pytest

from benchmarks.noise import FORMS, main, make_sources
from transformer.text.corpus import part_path, write_pairs
from transformer.text.noise import KINDS
from transformer.text.normalize import normalize

SOURCE = 'Ma sœur dit "l\'été arrive", vraiment ?'
TYPED = {
    "typographic quotes": "Ma sœur dit « l’été arrive », vraiment ?",
    "narrow space before marks": 'Ma sœur dit "l\'été arrive", vraiment\u202f?',
    "no space before marks": 'Ma sœur dit "l\'été arrive", vraiment?',
    "repeated marks": 'Ma sœur dit "l\'été arrive", vraiment ???',
    "oe for œ": 'Ma soeur dit "l\'été arrive", vraiment ?',
}


def test_each_kind_of_noise_and_each_way_of_typing_has_a_row():
    assert [*FORMS] == ["none", *KINDS, *TYPED]


def test_ways_of_typing_change_the_source_and_nothing_once_it_is_folded():
    sources = make_sources([SOURCE], 1)
    assert {name: sources[name][0] for name in TYPED} == TYPED
    folded = {
        normalize(text, lowercase=False, strip_punctuation=False, fold_typography=True)
        for text in (SOURCE, *TYPED.values())
    }
    assert len(folded) == 1


def test_the_seed_decides_the_typos_alone():
    texts = [SOURCE.replace("été", f"été {n}") for n in range(20)]
    first, again, other = (make_sources(texts, seed) for seed in (1, 1, 2))
    assert first == again
    assert {name for name in FORMS if first[name] != other[name]} == {"typo"}


def read_table(page):
    lines = [line for line in page.split("\n") if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in (line.strip("| ").split(" | ") for line in lines)}


@pytest.mark.filterwarnings("ignore:int8 products")
def test_two_translators_stand_beside_each_other(make_translator, tmp_path, capsys):
    numbers = ["un", "deux", "trois", "quatre"]
    pairs = [(f"Un chat dort {n}\u202f?", f"UN CHAT DORT {n.upper()} ?") for n in numbers]
    write_pairs(part_path(tmp_path, "test"), pairs)
    folding = make_translator("folding")
    side = {"lowercase": False, "fold_typography": False}
    plain = make_translator("plain", normalization={"source": side})
    main([folding, plain], data=tmp_path, num=2, output=tmp_path / "page.md")
    page = capsys.readouterr().out
    assert (tmp_path / "page.md").read_text() == page.removesuffix("\n")
    assert "tok:13a" in page
    assert "of 2 sentences" in page
    table = read_table(page)
    folding_bleu = {name: float(cells[1]) for name, cells in table.items() if name in FORMS}
    plain_bleu = {name: float(cells[2]) for name, cells in table.items() if name in FORMS}
    unchanged = {"none", "lose_accents", "lowercase", "uppercase", "title_case", *TYPED}
    assert {name for name, bleu in folding_bleu.items() if bleu == 100} == unchanged
    assert plain_bleu["lowercase"] == 100
    assert plain_bleu["uppercase"] < plain_bleu["none"] < 100
    assert plain_bleu["repeated marks"] < plain_bleu["none"]
    assert [table[name][0] for name in ("none", "uppercase", "typographic quotes")] == [
        "0", "2", "0",
    ]  # fmt: skip


def test_a_missing_test_part_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"test\.parquet: no such file"):
        main(data=tmp_path)
