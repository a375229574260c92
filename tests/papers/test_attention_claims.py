from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.kinds.text.attention.correlation import PAIRS
from trueness.kinds.text.attention.summary import cells_of, summarise
from trueness.papers.attention_is_not_explanation.claims import claims

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


def test_few_seeds_decide_nothing():
    assert verdict(made_up(seeds=2), "BiLSTM attention correlates weakly with gradients") == "cannot tell"


def test_what_is_not_exact_is_no_exact_solution():
    assert not any(claim.claim.startswith("solved exactly") for claim in made_up(exact=False).claims)
