from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.kinds.text.attention.correlation import PAIRS
from trueness.kinds.text.attention.summary import cells_of, summarise
from trueness.papers.attention_is_not_explanation.claims import claims
from trueness.protocols.result import Result

MODELS = ("bilstm-additive", "average-additive", "bilstm-dot")


def made_up(seeds=4, instances=40, models=MODELS, exact=True, **changes):
    """Records in which every conclusion of the paper holds, except where changed; noise is small and fixed."""
    rng = np.random.default_rng(0)
    taus = {"bilstm-additive": 0.3, "average-additive": 0.8, "bilstm-dot": 0.31, **changes.get("taus", {})}
    rows, spread, metrics = [], [], []
    for model in models:
        for seed in range(seeds):
            for instance in range(instances):
                near = lambda value: value + rng.normal(0, 0.01)  # noqa: E731
                row = {f"{kind}: {pair}": near(taus[model]) for pair in PAIRS for kind in ("tau", "p", "overlap")}
                row |= {f"p: {pair}": 0.01 for pair in PAIRS}
                row["tau: gradient@jw2019, leave-one-out@jw2019"] = near(changes.get("reference", 0.9))
                rows.append(
                    {
                        **row,
                        "dataset": "made-up",
                        "model": model,
                        "seed": seed,
                        "instance": instance,
                        "length": 200,
                        "classes": changes.get("classes", 2),
                        "gold": instance % 2,
                        "predicted": instance % 2,
                        "max_attention": changes.get("formed", {}).get(model, 140) / 200,
                        "permutation": changes.get("permutation", 0.01),
                        "permutation_closed": 0.01,
                        "exact": exact,
                        "alone": 3,
                        "deciding": 9,
                        "adversary 0.01": near(changes.get("adversary", 0.65)),
                        "upper 0.01": 0.69,
                        "adversary 0.05": 0.69,
                        "upper 0.05": 0.69,
                        "search": near(changes.get("search", 0.6)),
                        "search@jw2019": near(changes.get("authors", 0.64)),
                    }
                )
            metrics.append(
                {"dataset": "made-up", "model": model, "seed": seed, "metric": "macro-f1", "value": 0.9 + seed / 1000}
            )
        spread += [
            {
                "dataset": "made-up",
                "model": model,
                "instance": instance,
                "reliability: attention": 0.81,
                "reliability: gradient@jw2019": 0.64,
                "divergence between seeds": 0.1,
                "largest divergence between seeds": changes.get("seeds_apart", 0.2),
            }
            for instance in range(instances)
        ]
    metrics += [
        {"dataset": "made-up", "model": f"{encoder}-uniform", "seed": seed, "metric": "macro-f1", "value": value}
        for encoder, value in (("bilstm", changes.get("uniform", 0.8)), ("average", 0.8))
        for seed in range(seeds)
    ]
    frames = [pd.DataFrame(part) for part in (rows, spread if seeds > 1 else [{"dataset": "", "model": ""}], metrics)]
    cells = cells_of(*frames, epsilons={"made-up": 0.01})
    return replace(summarise(cells, frames[2], pd.DataFrame()), claims=tuple(claims(cells)))


def verdict(result, start):
    (found,) = [claim for claim in result.claims if claim.claim.startswith(start)]
    return found.verdict


CLAIMS = {
    "BiLSTM attention correlates weakly with gradients": {"taus": {"bilstm-additive": 0.7}},
    "BiLSTM attention correlates weakly with leave": {"taus": {"bilstm-additive": 0.7}},
    "attention over a plain average": {"taus": {"average-additive": 0.1}},
    "gradients and leave-one-out agree more": {"reference": 0.1},
    "permuting changes little": {"permutation": 0.5},
    "solved exactly": {"adversary": 0.3, "search": 0.2},
    "the exact solution is never below": {"search": 0.68},
    "adversarial attention diverges more": {"seeds_apart": 0.69},
    "scaled dot-product": {"taus": {"bilstm-dot": 0.0}},
    "attention improves performance": {"uniform": 0.95},
}


@pytest.mark.parametrize("start", CLAIMS)
def test_a_conclusion_is_supported_by_records_that_show_it_and_not_by_others(start):
    assert verdict(made_up(), start) == "supported"
    assert verdict(made_up(**CLAIMS[start]), start) != "supported"


def test_attention_that_has_not_formed_is_not_compared():
    unformed = made_up(taus={"bilstm-dot": 0.0}, formed={"bilstm-dot": 1.5})
    assert verdict(unformed, "scaled dot-product") == "cannot tell"
    (score,) = [
        one for one in unformed.scores if (one.quantity, one.model) == ("largest weight times length", "bilstm-dot")
    ]
    assert score.value == pytest.approx(1.5)
    assert score.null == 1.0


def test_what_the_search_misses():
    assert verdict(made_up(), "the published search finds all") == "not supported"
    assert verdict(made_up(search=0.648, authors=0.688), "the published search finds all") == "supported"


def test_many_classes_are_reported_as_a_whole_however_few_occur():
    quantities = {score.quantity for score in made_up(classes=6).scores}
    assert "Kendall tau" in quantities
    assert not any("predicted class" in quantity for quantity in quantities)


def test_few_seeds_decide_nothing():
    result = made_up(seeds=2)
    assert verdict(result, "BiLSTM attention correlates weakly with gradients") == "cannot tell"
    single = made_up(seeds=1)
    assert any("there is one" in item.reason for item in single.abstentions)
    score = next(score for score in single.scores if score.quantity == "Kendall tau")
    assert score.n == 1
    assert score.note == "over 40 instances"


def test_scores_can_be_read():
    result = made_up()
    by = {(score.quantity, score.model, score.method): score for score in result.scores}
    tau = by["Kendall tau", "bilstm-additive", "attention, gradient@jw2019"]
    assert (tau.null, tau.direction, tau.variant, tau.n) == (0.0, "higher is better", "as-published", 4)
    ceiling = by["noise ceiling of Kendall tau", "bilstm-additive", "attention, gradient@jw2019"]
    assert ceiling.value == pytest.approx(0.72), "sqrt(0.81 * 0.64)"
    assert by["Kendall tau", "bilstm-additive", "attention, full-gradient"].variant == "corrected"
    assert by["Kendall tau", "bilstm-additive", "attention, leave-one-out@jw2019"].variant == "as-published"
    assert tau.low < tau.value < tau.high
    gain = by["test macro-f1", "bilstm-additive", "gain over uniform attention"]
    assert gain.value == pytest.approx(0.1015)
    for score in result.scores:
        if score.quantity.startswith("share") and score.high is not None:
            assert 0 <= score.low <= score.high <= 1
    assert {score.quantity for score in result.scores} >= {
        "Kendall tau, predicted class 0",
        "share significant, predicted class 1",
        "largest divergence within epsilon",
        "tokens that could carry the decision alone",
    }


def test_warnings():
    codes = {warning.code for warning in made_up(adversary=0.69, uniform=0.905, seeds_apart=0.75).warnings}
    assert {"divergence-saturated", "uniform-suffices", "adversary-within-seeds"} <= codes
    few = {warning.code for warning in made_up(seeds=1, uniform=0.899).warnings}
    assert "uniform-may-suffice" in few
    assert "within-null-band" in {warning.code for warning in made_up(taus={"bilstm-additive": 0.0}).warnings}
    assert not made_up().warnings


def test_undefined_taus_are_counted_and_left_out():
    result = made_up(taus={"bilstm-additive": np.nan})
    assert any(warning.code == "constant-ranking" for warning in result.warnings)
    assert any("constant in every instance" in item.reason for item in result.abstentions)
    assert not [
        s
        for s in result.scores
        if s.quantity == "Kendall tau"
        and s.model == "bilstm-additive"
        and "gradient@" in s.method
        and s.method.startswith("attention")
    ]


def test_an_interval_where_the_adversary_is_not_exact():
    result = made_up(exact=False)
    assert any("an upper bound are given" in item.reason for item in result.abstentions)
    methods = {s.method for s in result.scores if s.quantity == "largest divergence within epsilon"}
    assert methods == {"search@jw2019", "search", "best found", "upper bound"}
    assert not any(claim.claim.startswith("solved exactly") for claim in result.claims)


def test_tables_hold_what_the_figures_need_and_survive_the_store():
    result = made_up()
    assert set(result.tables) == {"correlations", "histograms", "densities", "epsilons", "metrics", "examples"}
    shares = result.tables["histograms"].groupby(["model", "quantity"])["share"].sum()
    assert shares.to_numpy() == pytest.approx(np.ones(len(shares)))
    densities = result.tables["densities"].groupby(["model", "quantity", "attention_low"])["share"].sum()
    assert densities.to_numpy() == pytest.approx(np.ones(len(densities)))
    assert result.tables["correlations"]["seed"].nunique() == 4
    back = Result.from_payloads(result.payloads())
    assert back.claims == result.claims
