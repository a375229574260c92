"""The paper's findings on curves made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.protocols.roar.by_hand import EARLY, LATE, RANDOM, found, setting
from trueness.papers.recursive_roar.claims import claims
from trueness.protocols.roar.curves import MASKED
from trueness.protocols.roar.guards import abstentions
from trueness.protocols.roar.summary import RANKING, _companion, _scores

NOTHING = pd.DataFrame(columns=["dataset", "model", "method", "unit", "amount", "mean", "low", "high", "n"])


def verdicts(*settings, unit="share"):
    return {claim.claim: claim.verdict for claim in claims(settings, NOTHING, unit)}


def test_attention_against_random():
    text = "Attention is more faithful than random"
    assert verdicts(setting({"attention": EARLY}))[text] == "supported"
    above = np.minimum(np.array(RANDOM) + 0.05, 0.9)
    assert verdicts(setting({"attention": above}))[text] == "not supported"
    assert verdicts(setting({"attention": RANDOM}, noise=0.05))[text] == "cannot tell"
    assert verdicts(setting({"attention": EARLY}, seeds=2))[text] == "cannot tell"
    assert text not in verdicts(setting({"gradient": EARLY}))


def test_nothing_is_claimed_where_random_masks_cost_nothing():
    level = [0.61, 0.61, 0.61, 0.61, 0.61, 0.60]
    empty = setting({"attention": [0.61, 0.60, 0.60, 0.60, 0.60, 0.60]}, "empty", random=level, noise=0.0001)
    assert (empty.fragile().sum(), empty.empty()) == (4, True)
    assert verdicts(empty) == {}
    both = [empty, setting({"attention": EARLY})]
    evidence = {claim.claim: claim.evidence for claim in claims(both, NOTHING, "share")}
    assert evidence["Attention is more faithful than random"].startswith("holds on 1 of 1")
    assert not any("empty" in text for text in evidence.values())
    (abstention,) = abstentions(both, pd.DataFrame({"order": []}), "share")
    assert (abstention.quantity, abstention.where) == ("faithfulness", "empty, net")
    assert "4 of 4 seeds" in abstention.reason
    assert not found("small-denominator", empty)
    random = np.array([RANDOM, RANDOM, RANDOM, level])
    partly = replace(both[1], curves={**both[1].curves, ("plain", "random"): random})
    (warning,) = found("small-denominator", partly)
    assert "1 of 4 seeds" in warning.message
    scores = {one.quantity: one for one in _scores(partly)}
    assert (scores["faithfulness"].n, scores["faithfulness, as published"].n) == (3, 4)
    assert scores["faithfulness"].value < scores["faithfulness"].best


@pytest.mark.parametrize("silent", [(), ("plain",), (MASKED,), ("plain", MASKED)])
def test_faithfulness_that_would_divide_by_nothing_is_not_given(silent):
    level = [0.61, 0.61, 0.61, 0.61, 0.61, 0.60]
    methods = {"attention": EARLY, "gradient": LATE, "random words": RANDOM}
    by_order = {order: setting(methods, random=level if order in silent else RANDOM) for order in ("plain", MASKED)}
    curves = dict(by_order["plain"].curves)
    curves |= {(MASKED, name): curve for (_, name), curve in by_order[MASKED].curves.items()}
    some = replace(by_order["plain"], curves=curves)
    given = {score.quantity for score in (*_scores(some), *_companion(some, NOTHING))}
    assert ("faithfulness" in given) == ("faithfulness, as published" in given) == ("plain" not in silent)
    assert ("faithfulness (masked training)" in given) == (MASKED not in silent)
    assert (RANKING.name in given) == (not silent)
    left_out = {one.quantity for one in abstentions([some], pd.DataFrame({"order": []}), "share")}
    assert left_out == {{"plain": "faithfulness", MASKED: "faithfulness (masked training)"}[order] for order in silent}


@pytest.mark.parametrize(("curve", "verdict"), [(EARLY, "supported"), (LATE, "not supported")])
def test_where_curves_fall_fastest(curve, verdict):
    """The last fall, to where everything is hidden, is the steepest of all and counts for no method."""
    found = verdicts(setting({"gradient": curve}))
    text = next(text for text in found if text.startswith("Most curves fall fastest"))
    assert found[text] == verdict
    assert (np.array(curve)[-2] - curve[-1]) / 0.1 > 1


def test_the_best_method_may_depend_on_the_task():
    one = setting({"attention": EARLY, "gradient": LATE}, "first")
    other = setting({"attention": LATE, "gradient": EARLY}, "second")
    assert verdicts(one, other)["Which method is most faithful depends on the task (net)"] == "supported"
    same = setting({"attention": EARLY, "gradient": LATE}, "second")
    assert verdicts(one, same)["Which method is most faithful depends on the task (net)"] == "not supported"
    equal = setting({"attention": LATE, "gradient": LATE}, "second", noise=0.02)
    assert verdicts(one, equal)["Which method is most faithful depends on the task (net)"] == "cannot tell"


def test_variants_of_integrated_gradients_do_not_hide_that_they_are_best():
    alike = {"integrated-gradients": EARLY, "integrated-gradients@madsen2022": EARLY}
    one = setting({**alike, "attention": LATE}, "first")
    other = setting({**dict.fromkeys(alike, LATE), "attention": EARLY}, "second")
    text = "Which method is most faithful depends on the task (net, integrated gradients"
    found = verdicts(one, other)
    assert (found[f"{text} as the authors')"], found[f"{text} corrected)"]) == ("supported", "supported")


def test_areas_that_only_rounding_tells_apart_are_equal():
    curves = setting({"first": EARLY, "second": EARLY, "third": LATE}, noise=0)
    values = curves.curves["recursive", "first"].copy()
    values[:, 1] += 1e-15
    masked = {(MASKED, name): curve for (_, name), curve in curves.curves.items()}
    both = replace(curves, curves={**curves.curves, ("recursive", "first"): values, **masked})
    (tau,) = [one for one in _companion(both, NOTHING) if one.quantity == RANKING.name]
    assert tau.value == pytest.approx(1.0)


def test_integrated_gradients():
    ours, theirs = "integrated-gradients", "integrated-gradients@madsen2022"
    found = verdicts(setting({theirs: LATE, ours: EARLY, "gradient": EARLY}))
    text = "are not always more faithful than gradients or input times gradient"
    assert found[f"Integrated gradients as the authors compute them {text}"] == "supported"
    assert found["Corrected integrated gradients are more faithful than the authors'"] == "supported"
    found = verdicts(setting({theirs: EARLY, ours: EARLY, "gradient": LATE}))
    assert found[f"Integrated gradients {text}"] == "not supported"


def test_in_tokens_only_the_shape_of_curves_is_read():
    found = verdicts(setting({"attention": EARLY}, unit="tokens"), unit="tokens")
    assert "Attention is more faithful than random" not in found


def test_the_sparsest_explanation():
    def row(method, mean):
        place = {"dataset": "texts", "model": "net", "unit": "tokens", "amount": 10.0}
        return {**place, "method": method, "mean": mean, "low": mean - 0.01, "high": mean + 0.01, "n": 5}

    text = "Attention is mostly the sparsest explanation"
    for attention, verdict in ((0.9, "supported"), (0.5, "not supported"), (0.71, "cannot tell")):
        table = pd.DataFrame([row("attention", attention), row("gradient", 0.7), row("random", 0.99)])
        (found,) = claims([], table, "share")
        assert (found.claim, found.verdict) == (text, verdict)
