"""Scores, ranking and sentences about planted evidence, of records made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.protocols.ground_truth.summary import (
    PlantedCell,
    abstentions,
    pooled,
    ranking,
    scores,
    summarise,
    warnings,
)
from trueness.stats import t_interval

HIGHER, LOWER = "higher is better", "lower is better"


def row(method, seed, label=0, **more):
    size = {"words": 10, "evidence size": 0.2, "decoy size": 0.1}
    known = {"attribution share": 0.5, "AUROC": 0.8, "precision": 0.4, "top token": 0.6, "mean rank": 0.3}
    return {"seed": seed, "method": method, "label": label, **size, **known, "decoy share": 0.12, **more}


def fact(seed, *, proven=True, accuracy=0.9, refused=()):
    known = {"seed": seed, "accuracy": accuracy + seed / 100, "bound": 0.6 + seed / 10, "p_value": 0.0}
    return {**known, "proven": proven, "refused": dict(refused)}


def cell(rows, facts=None):
    known = tuple(fact(seed) for seed in range(3)) if facts is None else tuple(facts)
    return PlantedCell("texts", "net", pd.DataFrame(rows), known, ("class no", "class yes"))


GRADIENT = [row("gradient", seed, label, AUROC=0.9 + seed / 100, **{"attribution share": 0.4 + label / 10})
            for seed in range(3) for label in (0, 1)]  # fmt: skip
RANDOM = [row("random", seed, seed % 2, AUROC=0.5 + seed / 100, **{"decoy size": 0.0}) for seed in range(3)]
RATIONALE = [
    row("rationale", 0, selected=0.5, recall=1.0, words=10, **{"evidence size": 0.2, "decoy share": 0.2}),
    row("rationale", 0, 1, selected=0.1, recall=0.5, words=20, **{"evidence size": 0.1, "decoy share": np.nan}),
    row("rationale", 1, selected=0.4, recall=np.nan, words=10, **{"evidence size": 0.0, "decoy share": 0.5}),
    row("rationale", 1, selected=0.2, recall=0.5, words=10, **{"evidence size": 0.4, "decoy share": 0.0}),
]


def read(score):
    return score.null, score.best, score.direction


def test_every_method_is_scored_best_first():
    found = list(scores(cell([*RANDOM, *GRADIENT])))
    expected = ["AUROC", "attribution share", "precision", "top token", "mean rank"]
    expected += ["attribution share, class no", "attribution share, class yes"]
    assert [(score.quantity, score.method) for score in found] == [
        ("accuracy", "the model"),
        *((name, "gradient") for name in [*expected, "decoy share"]),
        *((name, "random") for name in expected),
    ], "of random no decoys"
    by = {(score.quantity, score.method): score for score in found}
    accuracy = by["accuracy", "the model"]
    assert (accuracy.value, accuracy.n) == (pytest.approx(0.91), 3)
    assert read(accuracy) == (pytest.approx(0.7), 1.0, HIGHER)
    auroc, interval = by["AUROC", "gradient"], t_interval([0.9, 0.91, 0.92])
    assert (auroc.value, auroc.low, auroc.high) == pytest.approx((interval.value, interval.low, interval.high))
    assert read(auroc) == (0.5, 1.0, HIGHER)
    for name, best, direction in (
        ("attribution share", 1.0, HIGHER),
        ("precision", 1.0, HIGHER),
        ("top token", 1.0, HIGHER),
    ):
        assert read(by[name, "gradient"]) == (pytest.approx(0.2), best, direction)
    assert read(by["mean rank", "gradient"]) == (0.5, 0.0, LOWER)
    assert by["mean rank", "gradient"].value == pytest.approx(0.3)
    assert by["attribution share", "gradient"].value == pytest.approx(0.45), "the mean of each model first"
    no, yes = (by[f"attribution share, class {name}", "gradient"] for name in ("no", "yes"))
    assert (no.value, yes.value, no.n) == (pytest.approx(0.4), pytest.approx(0.5), 3)
    assert by["attribution share, class yes", "random"].n == 1, "one model was asked about that class"
    decoys = by["decoy share", "gradient"]
    assert (decoys.value, read(decoys)) == (pytest.approx(0.12), (pytest.approx(0.1), 0.0, LOWER))


def test_the_null_of_a_class_is_its_own_evidence():
    some = [one | {"evidence size": 0.2 + one["label"] / 10} for one in GRADIENT]
    by = {score.quantity: score for score in scores(cell(some))}
    assert by["attribution share, class yes"].null == pytest.approx(0.3)
    assert by["attribution share"].null == pytest.approx(0.25)


def test_without_models_nothing_is_scored():
    empty = cell([], [])
    assert (list(scores(empty)), empty.methods, ranking(empty)) == ([], [], [])
    assert [score.quantity for score in scores(cell([], [fact(0)]))] == ["accuracy"]


def test_selections_are_pooled_over_all_words():
    table = pooled(pd.DataFrame([*RATIONALE, *GRADIENT]).assign(dataset="texts", model="net"))
    assert table[["dataset", "model", "seed"]].to_numpy().tolist() == [["texts", "net", 0], ["texts", "net", 1]]
    # Seed 0: 5 + 2 of 30 words chosen, 2 + 2 marked, 2 + 1 both, 1 + 0 decoys of 1 + 2.
    first, second = table.to_dict(orient="records")
    assert first["selected"] == pytest.approx(7 / 30)
    assert first["evidence size"] == pytest.approx(4 / 30)
    assert first["precision"] == pytest.approx(3 / 7)
    assert first["recall"] == pytest.approx(3 / 4)
    assert first["decoy size"] == pytest.approx(3 / 30)
    assert first["decoys"] == pytest.approx(1 / 7)
    assert first["share of the possible"] == pytest.approx(3 / 4), "four could be both"
    # Seed 1: 4 + 2 of 20 words chosen, 0 + 4 marked, 0 + 2 both, 2 + 0 decoys.
    assert second["precision"] == pytest.approx(2 / 6)
    assert second["recall"] == pytest.approx(2 / 4)
    assert second["decoys"] == pytest.approx(2 / 6)
    assert second["share of the possible"] == pytest.approx(2 / 4)
    few = [row("rationale", 0, selected=0.1, recall=0.25, words=10, **{"evidence size": 0.4})]
    assert pooled(pd.DataFrame(few).assign(dataset="d", model="m"))["share of the possible"].tolist() == [
        pytest.approx(1.0)
    ], "one word was chosen, and it is evidence"


def test_what_was_never_chosen_or_marked_has_no_share():
    def one(**more):
        rows = pd.DataFrame([row("rationale", 0, **{"selected": 0.2, "recall": 0.5, **more})])
        return pooled(rows.assign(dataset="d", model="m")).iloc[0]

    silent = one(selected=0.0, recall=0.0)
    assert silent[["precision", "decoys", "share of the possible"]].isna().all()
    assert silent["recall"] == 0.0
    unmarked = one(recall=np.nan, **{"evidence size": 0.0})
    assert unmarked[["recall", "share of the possible"]].isna().all()
    assert unmarked["precision"] == 0.0
    assert np.isnan(one(**{"decoy size": 0.0, "decoy share": np.nan})["decoys"])


def test_scores_of_a_selection_have_the_nulls_of_a_random_one():
    found = {score.quantity: score for score in scores(cell(RATIONALE)) if "select" in score.quantity}
    assert list(found) == [
        "selected words",
        "precision of the selection",
        "recall of the selection",
        "selected evidence, of the possible",
        "decoys in the selection",
    ]
    rate, size, alike = (7 / 30 + 6 / 20) / 2, (4 / 30 + 4 / 20) / 2, (3 / 30 + 2 / 20) / 2
    assert [score.value for score in found.values()] == pytest.approx(
        [rate, (3 / 7 + 2 / 6) / 2, (3 / 4 + 2 / 4) / 2, (3 / 4 + 2 / 4) / 2, (1 / 7 + 2 / 6) / 2]
    )
    assert {score.method for score in found.values()} == {"rationale"}
    for quantity, expected in {
        "selected words": (None, None, "neither"),
        "precision of the selection": (size, size / rate, HIGHER),
        "recall of the selection": (rate, 1.0, HIGHER),
        "selected evidence, of the possible": (max(size, rate), 1.0, HIGHER),
        "decoys in the selection": (alike, 0.0, LOWER),
    }.items():
        null, best, direction = read(found[quantity])
        assert direction == expected[2]
        assert null == (expected[0] if expected[0] is None else pytest.approx(expected[0]))
        assert best == (expected[1] if expected[1] is None else pytest.approx(expected[1]))
    assert "selected words" not in {score.quantity for score in scores(cell(GRADIENT))}
    rare = [one | {"evidence size": 0.5, "recall": 0.1, "selected": 0.1} for one in RATIONALE]
    best = {score.quantity: score.best for score in scores(cell(rare))}
    assert best["precision of the selection"] == 1.0
    assert best["recall of the selection"] == pytest.approx(0.1 / 0.5)


def test_explainers_that_cannot_be_told_apart_share_a_rank():
    auroc = {
        "best": [0.90, 0.91, 0.92, 0.93],
        "also": [0.89, 0.92, 0.91, 0.94],
        "worst": [0.50, 0.51, 0.52, 0.53],
        "void": [np.nan] * 4,
    }
    rows = [row(name, seed, AUROC=value) for name, some in auroc.items() for seed, value in enumerate(some)]
    table = ranking(cell(rows))
    assert [(one["rank"], one["method"], one["tie"], one["models"]) for one in table] == [
        (1, "also", True, 4),
        (1, "best", True, 4),
        (3, "worst", False, 4),
    ]
    interval = t_interval(auroc["worst"])
    assert table[2] == {
        "dataset": "texts",
        "model": "net",
        "rank": 3,
        "tie": False,
        "method": "worst",
        "AUROC": pytest.approx(0.515),
        "low": pytest.approx(interval.low),
        "high": pytest.approx(interval.high),
        "least": 0.5,
        "attribution share": 0.5,
        "evidence size": pytest.approx(0.2),
        "top token": pytest.approx(0.6),
        "models": 4,
    }
    (alone,) = ranking(cell([row("gradient", 0, AUROC=0.9)]))
    assert (alone["low"], alone["high"]) == (None, None)
    sure = [row("sure", seed, AUROC=value) for seed, value in enumerate([1.0, 0.9])]
    (cut,) = ranking(cell(sure))
    assert cut["high"] == 1.0, "no AUROC is larger"


def test_few_models_and_misleading_decoys_are_told():
    misled = [one | {"decoy share": 0.151} for one in GRADIENT]
    by_chance = [one | {"decoy share": 0.9, "decoy size": 0.1} for one in RANDOM]
    two = [fact(0), fact(1), fact(2, proven=False)]
    assert [(one.code, one.where, one.message) for one in warnings(cell([*misled, *by_chance], two))] == [
        ("few-models", "texts, net", "2 models used the evidence: with fewer than 3 the ranking may be chance"),
        (
            "decoys-attributed",
            "texts, net",
            "gradient gives decoys 1.5 times their share of the words: they tell nothing",
        ),
    ]
    at_limit = [one | {"decoy share": 0.3, "decoy size": 0.2} for one in GRADIENT]
    assert list(warnings(cell(at_limit))) == []
    none = [one | {"decoy share": 0.3, "decoy size": 0.0} for one in GRADIENT]
    assert list(warnings(cell(none))) == []
    assert list(warnings(cell([], [fact(0, proven=False)]))) == []
    assert [one.message[:8] for one in warnings(cell([], [fact(0)]))] == ["1 models"]


def test_models_that_need_not_have_used_the_evidence_are_told():
    facts = [
        fact(0, proven=False, accuracy=0.7),
        fact(1, refused={"lime": "It needs texts.", "shap": "No."}),
        fact(2, proven=False, accuracy=0.7),
    ]
    assert [(one.quantity, one.where, one.reason) for one in abstentions(cell([], facts))] == [
        (
            "a part of the models",
            "texts, net",
            "2 of 3 models need not have used the evidence: accuracy 0.700, 0.720, and 0.60 is expected without it "
            "(exact binomial, 1%)",
        ),
        ("lime", "texts, net", "It needs texts"),
        ("shap", "texts, net", "No"),
    ]
    assert list(abstentions(cell(GRADIENT))) == []


def test_a_result_holds_all_parts_of_all_cells():
    one = cell(GRADIENT)
    other = replace(cell([], [fact(0, proven=False, refused={"lime": "No."})]), dataset="more")
    result = summarise([one, other])
    assert len(result.records) == 6
    assert (result.records[["dataset", "model"]] == ["texts", "net"]).all(axis=None)
    assert result.scores == (*scores(one), *scores(other))
    assert result.warnings == (*warnings(one), *warnings(other))
    assert result.abstentions == (*abstentions(one), *abstentions(other))
    assert list(result.tables) == ["usage", "ranking"]
    usage = result.tables["usage"]
    assert list(usage) == ["dataset", "model", "seed", "accuracy", "bound", "p_value", "proven"], "refusals apart"
    assert usage["dataset"].tolist() == ["texts"] * 3 + ["more"]
    assert result.tables["ranking"]["method"].tolist() == ["gradient"]
    nothing = summarise([other])
    assert (list(nothing.records), len(nothing.records)) == (["method"], 0)
