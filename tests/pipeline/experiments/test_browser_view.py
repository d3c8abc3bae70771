"""What MLflow's pages show at first."""

from pipeline.experiments.browser_view import make_ranking, varying_params


def test_params_that_vary_stand_in_the_order_of_their_sections():
    models = [
        {"train.seed": "1", "model.size": "4", "corpus.name": "a", "old.key": "x"},
        {"train.seed": "2", "model.size": "5", "corpus.name": "a"},
    ]
    assert varying_params(models) == ["model.size", "train.seed", "old.key"]
    assert varying_params(models[:1]) == []


def test_the_ranking_has_bleu_and_beam_size_first_and_what_fits():
    view = make_ranking(["search.beam_size", *(f"train.p{number}" for number in range(9))])
    assert view["searchFilter"] == "tags.kind = 'evaluation' and metrics.`bleu` >= 0"
    assert (view["orderByKey"], view["orderByAsc"]) == ("metrics.`bleu`", False)
    name, *columns = view["columnOrder"]
    assert name == "attributes.`Run Name`"
    assert columns == view["selectedColumns"]
    assert columns[:3] == ["metrics.`bleu`", "params.`search.beam_size`", "tags.`champion`"]
    assert len(columns) == len(set(columns))
    assert sum(name.startswith("params.`train") for name in columns) == 6


def test_quick_evaluations_are_ranked_by_figures_of_their_own():
    whole, quick = make_ranking([]), make_ranking([], "quick_")
    assert "metrics.`quick_bleu` >= 0" in quick["searchFilter"]
    assert quick["orderByKey"] == "metrics.`quick_bleu`"
    assert [name.replace("quick_", "") for name in quick["columnOrder"]] == whole["columnOrder"]
    assert "metrics.`quick_int8_bleu`" in quick["selectedColumns"]
