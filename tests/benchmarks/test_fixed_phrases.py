"""How many fixed sentences are known: counted, and the others listed."""

import pytest

from benchmarks.fixed_phrases import FORMS, main


@pytest.mark.filterwarnings("ignore:int8 products")
def test_what_is_wrong_is_listed(make_translator, tmp_path, capsys):
    # The translator copies, in lower case: what is its own translation is right.
    rows = ["fr | en", "un chat. | un chat.", "deux chats ! | deux chats!", "un chien ? | a dog?"]
    (tmp_path / "idioms.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    main(make_translator(), phrases=tmp_path, output=tmp_path / "page.md")
    page = capsys.readouterr().out
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page.removesuffix("\n")
    table = [line.strip("| ").split(" | ") for line in page.split("\n") if line.startswith("| ")]
    counts = {cells[0]: cells[1:] for cells in table if cells[0] in FORMS and len(cells) == 3}
    assert set(counts) == set(FORMS)
    assert all(total == "3" for _, total in counts.values())
    assert counts["as written"][0] == counts["in lower case"][0]
    assert any("a dog?" in cells[-1] for cells in table if len(cells) == 4)
