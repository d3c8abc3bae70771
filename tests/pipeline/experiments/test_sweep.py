"""A sweep's grid, its report and its picture."""

import pytest

from pipeline.experiments.grid import DEFAULT, parse_grid
from pipeline.experiments.sweep_picture import draw_sweep
from pipeline.experiments.sweep_report import collect_scores, describe_sweep

TWO_AXES = ["train.learning_rate=1e-3,2e-3", "model.dropout=0.1,0.2,0.3", "train.seed=2"]


def test_a_grid_has_a_point_for_each_pair_of_values():
    grid = parse_grid(TWO_AXES)
    assert [axis.label for axis in grid.axes] == ["learning_rate", "dropout"]
    points = grid.points()
    assert len(points) == 6
    assert points[-1].place == (1, 2)
    assert points[-1].changes == ("train.seed=2", "train.learning_rate=2e-3", "model.dropout=0.3")
    assert points[-1].name == f"learning_rate=2e-3-dropout=0.3-{grid.sweep}"
    assert len({point.name for point in points}) == 6


def test_fixed_settings_are_digits_in_a_name():
    fixed = [f"train.setting_{number}=value" for number in range(4)]
    grid = parse_grid(["train.seed=1,2", *fixed])
    assert len(grid.points()[0].name) == len("seed=1-123456")
    assert parse_grid([*reversed(fixed), "train.seed=1,2"]).sweep == grid.sweep
    other = parse_grid(["train.seed=1,2", *fixed[1:], "train.setting_0=another"])
    assert {one.name for one in grid.points()}.isdisjoint(one.name for one in other.points())
    assert [one.name for one in parse_grid(["train.seed=1,2"]).points()] == ["seed=1", "seed=2"]


def test_axes_of_one_last_name_keep_their_whole_names():
    (first, *_) = parse_grid(["vocab.source.size=1,2", "vocab.target.size=3,4"]).points()
    assert first.name == "vocab.source.size=1-vocab.target.size=3"


def test_without_an_axis_it_is_the_default_sweep():
    assert parse_grid([]) == parse_grid(DEFAULT)
    shrunken = parse_grid(["train.max_steps=10"])
    assert shrunken.axes == parse_grid([]).axes
    assert shrunken.fixed == ("train.max_steps=10",)


def test_commas_in_brackets_are_no_axis():
    grid = parse_grid(["evaluate.length_bins=[5,10],[6]", "train.betas=[1,2]"])
    assert grid.fixed == ("train.betas=[1,2]",)
    assert grid.points()[0].name == f"length_bins=_5_10_-{grid.sweep}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["train.seed"], "expected KEY=VALUE"),
        (["train.seed=1,,2"], "expected KEY=VALUE"),
        (["train.seed=1,1"], "a value stands there twice"),
        (["train.seed=1,2", "train.seed=3"], "train.seed: given twice"),
        (["a=1,2", "b=1,2", "c=1,2"], r"3 params have several values \(a, b, c\)"),
    ],
)
def test_what_is_no_grid_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        parse_grid(changes)


def rows(grid, **states):
    return {
        point.name: {"State": states.get(f"n{n}"), "bleu": 10.0 + n, "bleu_margin": 0.5}
        for n, point in enumerate(grid.points())
    }


def test_the_report_ranks_what_has_run_and_names_what_has_not():
    grid = parse_grid(["train.seed=1,2,3"])
    known = rows(grid, n1="Failed", n2="Success")
    scores = collect_scores(grid.points(), known)
    assert scores == {(0,): (10.0, 0.5), (2,): (12.0, 0.5)}
    lines = describe_sweep(grid.points(), known, scores).split("\n")
    assert lines[0].endswith("seed=3")
    assert lines[2].split() == ["failed", "seed=2"]
    assert "dvc queue logs" in lines[3]

    whole = rows(grid)
    text = describe_sweep(grid.points(), whole, collect_scores(grid.points(), whole))
    assert text.endswith("python -m pipeline compare seed=2 seed=3")


def test_quick_experiments_are_ranked_among_themselves():
    grid = parse_grid(["train.seed=1,2", "evaluate.num_sentences=50"])
    quick = {
        name: {"State": None, "bleu": None, "quick_bleu": row["bleu"], "quick_bleu_margin": 3.0}
        for name, row in rows(grid).items()
    }
    assert collect_scores(grid.points(), quick) == {(0,): (10.0, 3.0), (1,): (11.0, 3.0)}


@pytest.mark.parametrize("changes", [TWO_AXES, ["train.seed=1,2,3"]])
def test_the_picture_is_the_same_for_the_same_scores(tmp_path, changes):
    grid = parse_grid(changes)
    scores = {point.place: (10.0 + n, 0.5) for n, point in enumerate(grid.points()[1:])}
    pictures = []
    for value in (
        scores,
        dict(reversed(scores.items())),
        scores | {grid.points()[1].place: (9, 1)},
    ):
        draw_sweep(grid, value, tmp_path / "sweep.png")
        pictures.append((tmp_path / "sweep.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


@pytest.mark.parametrize("axes", [["train.seed=1,2"], TWO_AXES[:2]])
def test_a_long_title_stays_within_the_picture(tmp_path, monkeypatch, axes):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figures = []
    monkeypatch.setattr(
        "transformer.evaluation.plots.write_figure", lambda figure, path: figures.append(figure)
    )
    fixed = [f"train.a_rather_long_name_{number}=WWWWWWWW" for number in range(5)]
    grid = parse_grid([*axes, *fixed])
    draw_sweep(grid, {point.place: (10.0, 1.0) for point in grid.points()}, tmp_path / "no.png")
    (figure,) = figures
    FigureCanvasAgg(figure).draw()
    title = figure.axes[0].title
    assert all(one in title.get_text().replace("\n", " ") for one in fixed)
    extent = title.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width


def test_nothing_to_draw_is_refused(tmp_path):
    with pytest.raises(ValueError, match="none of the sweep's experiments has run"):
        draw_sweep(parse_grid(TWO_AXES), {}, tmp_path / "sweep.png")
