"""What MLflow's pages show at first."""

from pipeline.experiments.browser_view import make_view, varying_params


def test_params_that_vary_stand_in_the_order_of_their_sections():
    models = [
        {"train.seed": "1", "model.size": "4", "corpus.name": "a", "old.key": "x"},
        {"train.seed": "2", "model.size": "5", "corpus.name": "a"},
    ]
    assert varying_params(models) == ["model.size", "train.seed", "old.key"]
    assert varying_params(models[:1]) == []


def test_the_view_ranks_by_bleu_and_shows_what_fits():
    view = make_view([f"train.p{number}" for number in range(9)])
    assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`test.bleu`", False)
    columns = view["selectedColumns"]
    assert columns[0] == "metrics.`test.bleu`"
    assert sum(name.startswith("params.") for name in columns) == 6
