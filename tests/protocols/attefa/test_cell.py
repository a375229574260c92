"""Base models are the unit: twins of one of them say nothing about others."""

import numpy as np
import pandas as pd
import pytest

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, RETRAINED, TWIN, TwinCell
from trueness.protocols.attefa.score import attefa
from trueness.protocols.attefa.summary import scores
from trueness.stats import t_interval

FACTS = {"performance": 0.9, "constant": 0.4, "ceiling": None, "one_class": 0.5, "classes": 2}


def cell(bases, twins=3):
    """Base models that differ much, and twins that hardly do."""
    rows, rng = [], np.random.default_rng(0)
    for base in range(bases):
        for twin in range(twins):
            seed = base + bases * twin
            change = 0.1 + 0.05 * base + 0.001 * rng.random()
            common = {"base": base, "seed": seed, "performance": 0.8, "one_class": 0.5, "epoch": 3}
            rows.append({**common, "method": PUBLISHED, "weight": MAIN, "change": change, "divergence": 0.5})
            rows += [
                {**common, "method": TWIN, "weight": weight, "change": change, "divergence": some}
                for weight, some in ((MAIN, 0.4), (np.inf, 0.6))
            ]
        rows.append({**common, "method": RETRAINED, "weight": np.nan, "change": 0.05, "divergence": 0.1})
    metrics = pd.DataFrame([{"what": "base model", "seed": seed, "value": 0.9 + seed / 100} for seed in range(bases)])
    facts = tuple({**FACTS, "seed": seed} for seed in range(bases))
    return TwinCell("data", "bilstm-additive", facts, pd.DataFrame(rows), metrics)


def of(found, quantity, method):
    return next(score for score in found if (score.quantity, score.method) == (quantity, method))


def test_the_interval_is_over_base_models():
    some = cell(bases=3)
    score = of(list(scores(some)), "AtteFa", PUBLISHED)
    runs = some.of(PUBLISHED, MAIN)
    each = [attefa(row["change"], row["divergence"]) for row in runs.to_dict(orient="records")]
    means = pd.Series(each).groupby(runs["base"].to_numpy()).mean()
    expected = t_interval(means)
    assert (score.value, score.low, score.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert score.n == 3
    assert "9 twins of 3 base models" in score.note
    assert of(list(scores(some)), "AtteFa*", TWIN).n == 3


def test_twins_of_one_base_model_have_no_interval():
    found = list(scores(cell(bases=1, twins=9)))
    for quantity in ("AtteFa", "TVD", "epoch"):
        score = of(found, quantity, PUBLISHED)
        assert (score.n, score.low, score.high) == (1, None, None)
    assert of(found, "AtteFa, seed 4", PUBLISHED).n == 1


def test_the_base_model_s_score_is_that_of_all_models_trained_so():
    score = of(list(scores(cell(bases=3))), "F1", "base model")
    assert (score.value, score.n) == (pytest.approx(0.91), 3)
