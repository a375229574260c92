"""Tables, warnings and abstentions of records made by hand."""

import numpy as np
import pandas as pd
import pytest

from tests.protocols.attention.by_hand import ADVERSARY, TAU, cell, frames
from trueness.kinds.text.attention.correlation import PAIRS
from trueness.kinds.text.attention.scores import scores
from trueness.kinds.text.attention.summary import (
    abstentions,
    cells_of,
    correlations,
    curve,
    densities,
    histograms,
    summarise,
    warnings,
)

FIRST = "attention, gradient@jw2019"
HERE = {"dataset": "texts", "model": "bilstm-additive"}
WHERE = "texts, bilstm-additive"


def told(**changes):
    """By code; tau is defined for every instance and far from 0 unless changed."""
    clean = {f"tau: {FIRST}": 0.9} | changes
    return {warning.code: warning.message for warning in warnings(cell(**clean))}


def uniform(first, second):
    """Metrics in which uniform attention has these values; learned attention has 0.91 and 0.95."""
    return frames()[2].assign(value=[0.91, 0.95, first, second, 0.1])


def test_each_dataset_and_model_gets_its_own_rows():
    records, spread, metrics = frames()
    both = [
        pd.concat([table, table.assign(dataset="other", model="bilstm-dot")], ignore_index=True)
        for table in (records, spread)
    ]
    metrics = pd.concat([metrics, metrics.assign(dataset="other")], ignore_index=True)
    found = cells_of(*both, metrics, epsilons={"texts": 0.02, "other": 0.01})
    assert [(one.dataset, one.model, one.epsilon) for one in found] == [
        ("texts", "bilstm-additive", 0.02),
        ("other", "bilstm-dot", 0.01),
    ]
    for one in found:
        for table, size in ((one.records, 8), (one.spread, 4), (one.metrics, 5)):
            assert (len(table), set(table["dataset"])) == (size, {one.dataset})
    crossed = cells_of(records, spread.assign(model="bilstm-dot"), metrics, epsilons={"texts": 0.02})
    assert len(crossed[0].spread) == 0, "of another model"
    assert found[0].records["null_deviation"].iloc[0] == pytest.approx(np.sqrt(2 * 25 / (9 * 10 * 9)))


def test_a_result_holds_all_parts_of_all_cells():
    records, spread, metrics = frames()
    other = records.assign(model="bilstm-dot")
    shuffled = pd.concat([other, records]).set_axis([*range(8, 16), *range(8)])
    cells = cells_of(shuffled, spread, metrics, epsilons={"texts": 0.02})
    shown = pd.DataFrame({"words": [["a"]]})
    result = summarise(cells, metrics, shown)
    assert result.records.index.tolist() == list(range(16))
    assert result.scores == tuple(score for one in cells for score in scores(one))
    assert result.warnings == tuple(item for one in cells for item in warnings(one))
    assert result.abstentions == tuple(item for one in cells for item in abstentions(one))
    assert list(result.tables) == ["correlations", "histograms", "densities", "epsilons", "metrics", "examples"]
    assert result.tables["metrics"] is metrics
    assert result.tables["examples"] is shown
    for name, make in (
        ("correlations", correlations),
        ("histograms", histograms),
        ("densities", densities),
        ("epsilons", curve),
    ):
        assert len(result.tables[name]) == sum(len(list(make(one))) for one in cells) > 0


def test_nothing_is_said_of_records_without_trouble():
    assert told() == {}
    assert list(abstentions(cell())) == []


def test_most_divergences_near_the_largest_possible_are_told():
    high = np.where(ADVERSARY > 0.45, 0.69, ADVERSARY)
    (warning,) = warnings(cell(**{"adversary 0.02": high, f"tau: {FIRST}": 0.9}))
    assert (warning.code, warning.where) == ("divergence-saturated", WHERE)
    assert warning.message == (
        "the strongest adversary exceeds 0.68 (of at most 0.693) in 75% of the instances (median length 25), so that "
        "it hardly tells them apart"
    )
    half = np.where(np.arange(4) < 2, 0.68, 0.69)
    assert told(**{"adversary 0.02": half}) == {}, "half are not most, and 0.68 is not above"
    assert told(**{"adversary 0.02": high, "exact": False})["divergence-saturated"].startswith("the best adversary")


def test_taus_of_unrelated_rankings_are_told():
    near = np.array([[0.1, 0.1, -0.1, 0.1], [0.1, 0.1, 0.1, np.nan]])
    assert told(**{f"tau: {FIRST}": near})["within-null-band"] == (
        "in 100% of the instances tau of attention and gradient lies within the band of unrelated rankings of that "
        "length"
    )
    near[0, 0] = -0.9
    assert set(told(**{f"tau: {FIRST}": near})) == {"constant-ranking"}, "of 7 instances 6 are not nearly all"


def test_attention_that_has_not_formed_is_told():
    assert told(max_attention=1.4 / cell().records["length"].to_numpy().reshape(2, 4))["attention-not-formed"] == (
        "the largest weight is 1.4 times an even share on average: attention has hardly formed, so that its "
        "correlations tell when training stopped rather than what attention is; train for more epochs"
    )
    assert "attention-not-formed" not in told(max_attention=2.1 / cell().records["length"].to_numpy().reshape(2, 4))


def test_undefined_taus_are_told_with_how_many():
    some = told(**{f"tau: {FIRST}": TAU})
    assert some["constant-ranking"] == (
        "tau is not defined for 1 of 8 instances, because attention or gradient is constant or there is one token; "
        "they are left out (the authors' code makes the whole cell NaN)"
    )
    assert "constant-ranking" not in told(**{f"tau: {FIRST}": 0.5})


def test_uniform_weights_that_do_as_well_are_told():
    learned = 0.91, 0.95
    text = "learned attention gains +0.009 over uniform weights, less than 0.01"
    unsure = told(metrics=uniform(*(value - gain for value, gain in zip(learned, (0.0, 0.018), strict=True))))
    assert unsure["uniform-may-suffice"] == f"{text}, but more cannot be ruled out with 2 seeds"
    sure = told(metrics=uniform(*(value - gain for value, gain in zip(learned, (0.00899, 0.00901), strict=True))))
    assert sure["uniform-suffices"] == (
        f"{text} (at most +0.009): whether such attention explains anything is void on this task"
    )
    same = told(metrics=uniform(*(value - 0.009 for value in learned)))
    assert set(same) & {"uniform-suffices", "uniform-may-suffice"} == {"uniform-may-suffice"}, "no interval"
    assert not {"uniform-suffices", "uniform-may-suffice"} & set(told(metrics=uniform(0.89, 0.93)))


def test_adversaries_no_further_than_seeds_are_told():
    low = np.array([[0.2, 0.45, 0.5, 0.6], [0.3, 0.4, 0.5, 0.6]])
    assert told(**{"adversary 0.02": low}) == {
        "adversary-within-seeds": "in 83% of the instances the strongest adversary diverges no more than retraining "
        "with another seed does"
    }
    half = np.array([[0.3, 0.5, 0.6, 0.1], [0.2, 0.4, 0.5, 0.1]])
    assert told(**{"adversary 0.02": half}) == {}


def test_what_has_no_answer_is_said_with_the_reason():
    _, _, metrics = frames()
    some = cell(seeds=1, metrics=metrics.iloc[:2], exact=False, **{"tau: full-gradient, leave-one-out@jw2019": np.nan})
    assert [(item.quantity, item.where, item.reason) for item in abstentions(some)] == [
        ("noise ceiling and divergence between seeds", WHERE, "it compares seeds, and there is one"),
        (
            "strongest adversary",
            WHERE,
            "it is known exactly for two classes and a head that is linear in the attended state; here the best "
            "feasible one found and an upper bound are given, 0.003 apart in the mean",
        ),
        ("gain over uniform attention", WHERE, "bilstm-uniform is not part of the study"),
        (
            "Kendall tau, full-gradient, leave-one-out@jw2019",
            WHERE,
            "a ranking is constant in every instance",
        ),
    ]


def test_the_table_of_correlations_has_a_row_for_each_pair_class_and_seed():
    rows = list(correlations(cell()))
    assert len(rows) == len(PAIRS) * 3 * 2
    assert rows[1] == {
        **HERE,
        "pair": FIRST,
        "class": "all",
        "seed": 1,
        "mean": pytest.approx(1 / 3),
        "deviation": pytest.approx(np.std([0.3, 0.2, 0.5])),
        "significant": pytest.approx(2 / 3),
        "n": 3,
        "undefined": 1,
    }
    assert [(row["class"], row["seed"]) for row in rows[:6]] == [
        ("all", 0),
        ("all", 1),
        ("0", 0),
        ("0", 1),
        ("1", 0),
        ("1", 1),
    ]
    empty = next(correlations(cell(**{f"tau: {FIRST}": np.nan, f"p: {FIRST}": np.nan})))
    assert {name: empty[name] for name in ("mean", "deviation", "significant", "n", "undefined")} == {
        "mean": None,
        "deviation": None,
        "significant": None,
        "n": 0,
        "undefined": 4,
    }


def test_histograms_share_all_instances_out():
    rows = list(histograms(cell(**{"search@jw2019": np.nan})))
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    assert quantities == [*(f"tau: {pair}" for pair in PAIRS), "exact"], "the search found nothing"
    exact = [row for row in rows if row["quantity"] == "exact"]
    assert [(row["class"], row["low"], row["high"], row["share"]) for row in exact] == [
        ("0", 0.3, 0.32, 1 / 8),
        ("0", 0.4, 0.42, 1 / 8),
        ("0", 0.6, 0.62, 1 / 8),
        ("1", 0.5, 0.52, 2 / 8),
        ("1", 0.68, 0.7, 3 / 8),
    ]
    assert {row["model"] for row in rows} == {"bilstm-additive"}
    tau = [row for row in histograms(cell(classes=6, **{f"tau: {FIRST}": 0.31})) if row["quantity"] == f"tau: {FIRST}"]
    assert tau == [{**HERE, "quantity": f"tau: {FIRST}", "class": "all", "low": 0.3, "high": 0.35, "share": 1.0}]
    found = [row["quantity"] for row in histograms(cell(exact=False))]
    assert set(found) == {*(f"tau: {pair}" for pair in PAIRS), "best found", "search@jw2019"}


def test_densities_count_instances_by_their_largest_weight():
    rows = list(densities(cell(permutation=[[0.11, 0.21, 0.22, 0.41], [0.12, 0.31, 0.41, 0.41]])))
    first = [row for row in rows if row["quantity"] == "permutation"]
    assert first[0] == {
        **HERE,
        "quantity": "permutation",
        "attention_low": 0.0,
        "attention_high": 0.1,
        "low": 0.1,
        "high": 0.125,
        "count": 2,
        "share": 1.0,
    }
    assert [(row["attention_low"], row["low"], row["count"], row["share"]) for row in first[1:]] == [
        (0.1, 0.2, 2, pytest.approx(2 / 3)),
        (0.1, 0.3, 1, pytest.approx(1 / 3)),
        (0.5, 0.4, 1, 1.0),
        (0.9, 0.4, 2, 1.0),
    ]
    assert list(dict.fromkeys(row["quantity"] for row in rows)) == ["permutation", "exact", "search@jw2019"]
    above = next(densities(cell(max_attention=1.0000001, permutation=0.01)))
    assert (above["attention_low"], above["count"]) == (0.9, 8), "rounding does not lose an instance"


def test_the_curve_over_epsilon():
    rows = list(curve(cell(**{"adversary 0.5": np.nan, "upper 0.5": np.nan})))
    values = ADVERSARY.ravel()
    assert [row["epsilon"] for row in rows] == [0.0, 0.02], "0.5 was not measured"
    assert rows[1] == {
        **HERE,
        "quantity": "exact",
        "epsilon": 0.02,
        "mean": pytest.approx(values.mean()),
        "lower_quartile": pytest.approx(np.quantile(values, 0.25)),
        "upper_quartile": pytest.approx(np.quantile(values, 0.75)),
        "upper_bound": pytest.approx(values.mean() + 0.0031),
        "saturated": 3 / 8,
        "seeds": 2,
    }
    (found,) = curve(cell(exact=False))
    assert (found["quantity"], found["epsilon"]) == ("best found", 0.02), "a search cannot keep an output exactly"
    assert next(curve(cell(**{"adversary 0": 0.68})))["saturated"] == 0
