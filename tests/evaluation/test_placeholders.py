"""Placeholders that come through."""

from transformer.evaluation.placeholders import count_kept


def test_what_source_and_reference_share_is_wanted_as_often() -> None:
    wanted_and_kept = {
        ("%d von %d Dateien", "%d of %d files", "%d of files"): (2, 1),
        ("<b>%s</b> fehlt", "<b>%s</b> is missing", "<b>%s</b> is lacking"): (3, 3),
        ("{name} fehlt", "a name is missing", "{name} is missing"): (0, 0),
        ("Es fehlt", "%s is missing", "%s is missing"): (0, 0),
        ("50 % von %s", "50 % of %s", "50 % of % s"): (1, 0),
    }
    for texts, counts in wanted_and_kept.items():
        assert count_kept(*([text] for text in texts)) == counts
    columns = zip(*wanted_and_kept, strict=True)
    assert count_kept(*map(list, columns)) == (6, 4)
