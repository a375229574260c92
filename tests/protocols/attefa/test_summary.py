"""Scores, warnings and abstentions of runs made by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.protocols.attefa.cell import GUIDES, MAIN, PUBLISHED, RETRAINED, TWIN, TwinCell, cells_of
from trueness.protocols.attefa.summary import abstentions, scores, summarise, warnings
from trueness.stats import t_interval

LN2 = math.log(2)
FACTS = {"performance": 0.9, "constant": 0.4, "ceiling": None, "one_class": 0.6, "classes": 2, "examples": 7}
WHERE = "texts, bilstm-additive"
HIGHER = "higher is better"


def run(method, weight, base, seed, change, divergence, one_class=0.5):
    where = {"method": method, "weight": weight, "base": base, "seed": seed, "epoch": 3 + seed}
    how = {"performance": 0.8 + seed / 100, "change": change, "divergence": divergence, "one_class": one_class}
    return {**where, **how}


RUNS = [
    run(PUBLISHED, MAIN, 0, 10, 0.10, 0.20),
    run(PUBLISHED, MAIN, 1, 11, 0.30, 0.30),
    run(TWIN, MAIN, 0, 10, 0.12, 0.25),
    run(TWIN, MAIN, 1, 11, 0.20, 0.35),
    run(TWIN, 0.5, 0, 10, 0.02, 0.10),
    run(TWIN, 0.5, 1, 11, 0.04, 0.20),
    run(TWIN, np.inf, 0, 10, 0.36, 0.50),
    run(TWIN, np.inf, 1, 11, 0.30, 0.60),
    run(RETRAINED, np.nan, 0, 1, 0.05, 0.08),
    run(RETRAINED, np.nan, 1, 0, 0.07, 0.06),
]
METRICS = [("base model", 0, 0.90), ("base model", 1, 0.92), ("uniform attention", 0, 0.80)]
METRICS += [("uniform attention", 1, 0.84), *((guide, 0, 0.5 + n / 10) for n, guide in enumerate(GUIDES))]


def cell(runs=RUNS, metrics=METRICS, **facts):
    bases = tuple({**FACTS, "seed": seed, **facts} for seed in (0, 1))
    table = pd.DataFrame(metrics, columns=["what", "seed", "value"])
    return TwinCell("texts", "bilstm-additive", bases, pd.DataFrame(runs, columns=list(RUNS[0])), table)


def told(*changed, **more):
    return {warning.code: warning.message for warning in warnings(cell(*changed, **more))}


def published(values):
    """Published twins with these changes at a divergence of half of ln 2: AtteFa is twice the change."""
    return [run(PUBLISHED, MAIN, 0, seed, value, LN2 / 2) for seed, value in enumerate(values)]


def area(points, ceiling, constant=0.4):
    """Under the least change that each share of the ceiling costs, on a fine grid."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    cost = [min([constant] + [change for change, reached in points if reached / ceiling >= share]) for share in grid]
    return np.mean(cost) / constant


def test_every_score_of_a_cell_in_order():
    unit = "2 twins of 2 base models, which n counts"
    halves = "half of the change of prediction, as in the paper; "
    star = [area([(0.12, 0.25), (0.02, 0.10), (0.36, 0.50)], 0.5), area([(0.2, 0.35), (0.04, 0.2), (0.3, 0.6)], 0.6)]
    of_run = [0.1 / (0.2 / LN2), 0.3 / (0.3 / LN2)]
    retrained = "retrained"
    share, up = (None, None, "neither"), (0.0, 1.0, HIGHER)
    expected = [
        ("epoch", PUBLISHED, [13, 14], share, unit),
        ("F1", PUBLISHED, [0.9, 0.91], share, unit),
        ("TVD", PUBLISHED, [0.05, 0.15], share, halves + unit),
        ("divergence of attention", PUBLISHED, [0.2, 0.3], share, unit),
        ("AtteFa", PUBLISHED, of_run, up, unit),
        *[
            (f"{quantity}, seed {seed}", PUBLISHED, [value], read, "")
            for seed, values in ((10, (0.9, 0.05, 0.2, of_run[0])), (11, (0.91, 0.15, 0.3, of_run[1])))
            for quantity, value, read in zip(
                ("F1", "TVD", "divergence of attention", "AtteFa"), values, (share, share, share, up), strict=True
            )
        ],
        ("F1", "base model", [0.9, 0.92], share, ""),
        ("AtteFa*", TWIN, star, up, ""),
        ("AtteFa", TWIN, [0.12 / (0.25 / LN2), 0.2 / (0.35 / LN2)], up, ""),
    ]
    for name, changes, divergences in (
        ("twin", (0.12, 0.2), (0.25, 0.35)),
        ("twin, weight 0.5", (0.02, 0.04), (0.1, 0.2)),
        ("twin, divergence alone", (0.36, 0.3), (0.5, 0.6)),
    ):
        expected += [
            ("change of prediction", name, changes, (0.0, None, "neither"), ""),
            ("divergence of attention", name, divergences, (0.0, LN2, "neither"), ""),
            ("F1", name, [0.9, 0.91], share, ""),
        ]
    expected += [
        ("divergence of attention", "the most reached", [0.6], (None, LN2, "neither"), ""),
        ("change of prediction", "best constant", [0.4], share, ""),
        ("change of prediction", retrained, [0.05, 0.07], (0.0, None, "neither"), ""),
        ("divergence of attention", retrained, [0.08, 0.06], (0.0, LN2, "neither"), ""),
        ("F1 over seeds", "uniform attention", [0.8, 0.84], share, ""),
        *[("F1 of a guided model", guide, [0.5 + n / 10], share, "") for n, guide in enumerate(GUIDES)],
    ]
    found = list(scores(cell()))
    assert [(score.quantity, score.method) for score in found] == [one[:2] for one in expected]
    for score, (quantity, method, values, read, note) in zip(found, expected, strict=True):
        assert score.value == pytest.approx(np.mean(values), abs=1e-4), (quantity, method)
        assert (score.null, score.best, score.direction, score.n) == (*read, len(values)), (quantity, method)
        assert score.note.startswith(note)
        if len(values) > 1:
            assert score.note == note
            interval = t_interval(values)
            most = math.inf if quantity == "epoch" else 1.0
            ends = max(interval.low, 0.0), min(interval.high, most)
            assert (score.low, score.high) == pytest.approx(ends, abs=2e-3), (quantity, method)
        as_published = method == PUBLISHED or (quantity, method) == ("F1", "base model")
        assert score.variant == ("as-published" if as_published else "corrected")
        assert score.target == "the whole prediction"


def test_a_bound_is_given_where_equal_words_get_equal_weights():
    by = {(score.quantity, score.method): score for score in scores(cell(ceiling=0.62))}
    bound = by["divergence of attention", "bound"]
    assert (bound.value, bound.best, bound.null) == (0.62, LN2, None)
    assert bound.note.startswith("equal words get equal weights; ")
    assert by["divergence of attention", TWIN].best == 0.62
    assert by["divergence of attention", "the most reached"].best == 0.62


def test_without_published_twins_nothing_is_as_published_but_the_base_model():
    found = list(scores(cell([one for one in RUNS if one["method"] != PUBLISHED])))
    assert {score.method for score in found if score.variant == "as-published"} == {"base model"}
    rest = [one for one in RUNS if one["weight"] != np.inf]
    assert "the most reached" not in {score.method for score in scores(cell(rest))}


def test_only_the_selection_on_the_test_split_is_told_of_runs_without_trouble():
    assert told() == {"selected-on-test": f"the epochs of {PUBLISHED} were chosen on the test split, as published"}
    assert told([one for one in RUNS if one["method"] != PUBLISHED]) == {}
    assert {warning.where for warning in warnings(cell())} == {WHERE}


def test_collapsed_and_saturated_twins_are_counted():
    runs = [
        run(PUBLISHED, MAIN, 0, 0, 0.1, 0.2, one_class=0.96),
        run(PUBLISHED, MAIN, 0, 1, 0.1, 0.2, one_class=0.95),
        run(PUBLISHED, 0.5, 0, 2, 0.1, 0.2, one_class=1.0),
        run(TWIN, MAIN, 0, 0, 0.1, 0.985 * LN2),
        run(TWIN, MAIN, 0, 1, 0.1, 0.98 * LN2),
        run(TWIN, MAIN, 1, 2, 0.1, 0.99 * LN2),
    ]
    found = told(runs)
    assert found["collapsed-twin"] == (
        "1 of 2 twins chosen on the test split predict one class for more than 95% of the examples (the base model: "
        "60%): their scores say nothing about attention"
    )
    assert found["divergence-saturated"] == (
        "2 of 3 twins reach more than 98% of the divergence that is possible: their score is the change of prediction "
        "rescaled"
    )
    assert "collapsed-twin" not in told(runs, one_class=0.96), "the base model does so too"
    assert "collapsed-twin" in told(runs, one_class=0.95)
    assert set(told(runs[:2], ceiling=0.2)) >= {"collapsed-twin", "unreachable-ceiling", "divergence-saturated"}


def test_two_groups_of_scores_are_told():
    assert told(published([0.01, 0.4, 0.015, 0.42]))["two-groups"] == (
        "the scores of twins chosen on the test split fall into two groups (0.020, 0.030, 0.800, 0.840): their mean "
        "describes none of them"
    )
    assert "two-groups" not in told(published([0.1, 0.2, 0.3, 0.4]))


def test_a_ceiling_that_cannot_be_reached_is_told():
    assert told(ceiling=0.64)["unreachable-ceiling"] == (
        "no twin can diverge by more than 0.640, less than the ln 2 by which AtteFa divides; AtteFa* divides by what "
        "can be reached"
    )
    assert "unreachable-ceiling" not in told(ceiling=0.98 * LN2)


def test_uniform_weights_that_do_as_well_are_told():
    def gaining(*gains):
        learned = [("base model", seed, 0.9) for seed in range(len(gains))]
        return learned + [("uniform attention", seed, 0.9 - gain) for seed, gain in enumerate(gains)]

    text = "learned attention gains +0.005 F1 over uniform weights, less than 0.01"
    sure = told(metrics=gaining(0.0049, 0.0051))
    assert sure["uniform-suffices"] == f"{text}: whether it explains anything is void on this task"
    unsure = told(metrics=gaining(0.0, 0.01))
    assert unsure["uniform-may-suffice"] == f"{text}, but more cannot be ruled out"
    assert "uniform-may-suffice" in told(metrics=gaining(0.005)), "of one seed nothing is certain"
    assert not {"uniform-suffices", "uniform-may-suffice"} & set(told(metrics=gaining(0.02, 0.021)))


def test_scores_that_cannot_be_given_say_why():
    runs = [
        run(PUBLISHED, MAIN, 0, 0, 0.1, 0.0),
        run(PUBLISHED, MAIN, 0, 1, 0.1, 0.2),
        run(TWIN, MAIN, 0, 0, 0.1, 0.3),
    ]
    unknown = "no twin was trained for divergence alone (a weight of inf), so that what can be reached is unknown"
    assert [(item.quantity, item.where, item.reason) for item in abstentions(cell(runs))] == [
        ("AtteFa", f"{WHERE}, 1 of 2 runs of {PUBLISHED}", "the attentions do not differ"),
        ("AtteFa*", WHERE, unknown),
    ]
    sure = [*runs[1:], run(TWIN, np.inf, 0, 0, 0.1, 0.3)]
    assert [(item.quantity, item.reason) for item in abstentions(cell(sure, constant=0.0))] == [
        ("AtteFa*", "the base model predicts the same for every example")
    ]
    still = [run(TWIN, np.inf, 0, 0, 0.1, 0.0)]
    assert [(item.quantity, item.reason) for item in abstentions(cell(still))] == [
        ("AtteFa*", "the attentions do not differ")
    ]
    assert list(abstentions(cell())) == []


def test_a_result_and_its_cells_again():
    one, other = cell(), replace(cell(ceiling=0.5), dataset="more", model="cnn-dot")
    records = pd.DataFrame({"change": [0.1]})
    result = summarise([one, other], records)
    assert result.records is records
    assert result.scores == (*scores(one), *scores(other))
    about, *rest = result.warnings
    assert rest == [*warnings(one), *warnings(other)]
    assert (about.code, about.where) == ("another-model", "all scores")
    assert about.message == (
        "a twin is another model: it shows how freely attention can be moved, and does not measure the faithfulness "
        "of the base model"
    )
    assert result.abstentions == ()
    assert {name: len(table) for name, table in result.tables.items()} == {"runs": 20, "bases": 4, "metrics": 16}
    assert all(table.index.is_unique for table in result.tables.values())
    for before, after in zip((one, other), cells_of(result), strict=True):
        assert (after.dataset, after.model) == (before.dataset, before.model)
        assert [dict(base) for base in after.bases] == [dict(base) for base in before.bases]
        assert list(scores(after)) == list(scores(before))
