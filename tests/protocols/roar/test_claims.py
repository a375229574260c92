"""The paper's findings on curves made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.protocols.findings import decide
from trueness.protocols.roar.claims import claims
from trueness.protocols.roar.curves import MASKED, Setting
from trueness.protocols.roar.guards import abstentions, warnings
from trueness.protocols.roar.summary import RANKING, _companion, _scores
from trueness.stats import t_interval

AMOUNTS = np.array([0.0, 0.1, 0.2, 0.5, 0.9, 1.0])
RANDOM = [0.9, 0.88, 0.86, 0.8, 0.7, 0.3]
EARLY = [0.9, 0.6, 0.55, 0.5, 0.45, 0.3]
LATE = [0.9, 0.88, 0.86, 0.5, 0.45, 0.3]
NOTHING = pd.DataFrame(columns=["dataset", "model", "method", "unit", "amount", "mean", "low", "high", "n"])


def setting(methods, dataset="texts", model="net", unit="share", noise=0.005, seeds=4, random=RANDOM):
    rng = np.random.default_rng(0)

    def seen(curve):
        found = np.tile(curve, (seeds, 1)) + rng.normal(scale=noise, size=(seeds, len(curve)))
        found[:, [0, -1]] = np.array(curve)[[0, -1]]  # shared by all methods
        return found if unit == "share" else found[:, :-1]

    curves = {("plain", "random"): seen(random)}
    curves |= {("recursive", name): seen(curve) for name, curve in methods.items()}
    amounts = AMOUNTS if unit == "share" else AMOUNTS[:-1] * 10
    return Setting(dataset, model, "accuracy", unit, amounts, tuple(range(seeds)), curves)


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
    assert (empty.fragile(), empty.empty()) == (4, True)
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


@pytest.mark.parametrize("silent", [(), ("plain",), (MASKED,), ("plain", MASKED)])
def test_faithfulness_that_would_divide_by_nothing_is_not_given(silent):
    level = [0.61, 0.61, 0.61, 0.61, 0.61, 0.60]
    methods = {"attention": EARLY, "gradient": LATE, "random words": RANDOM}
    by_order = {order: setting(methods, random=level if order in silent else RANDOM) for order in ("plain", MASKED)}
    curves = dict(by_order["plain"].curves)
    curves |= {(MASKED, name): curve for (_, name), curve in by_order[MASKED].curves.items()}
    some = replace(by_order["plain"], curves=curves)
    given = {score.quantity for score in (*_scores(some, "share", "gold"), *_companion(some, NOTHING, "share", "gold"))}
    assert ("faithfulness" in given) == ("faithfulness, as published" in given) == ("plain" not in silent)
    assert ("faithfulness (masked training)" in given) == (MASKED not in silent)
    assert (RANKING in given) == (not silent)
    left_out = {one.quantity for one in abstentions([some], pd.DataFrame({"order": []}), "share")}
    assert left_out == {{"plain": "faithfulness", MASKED: "faithfulness (masked training)"}[order] for order in silent}


def found(code, curves):
    return [one for one in warnings([curves], "predicted") if one.code == code]


@pytest.mark.parametrize("unit", ["share", "tokens"])
def test_curves_that_rise_are_told_from_noise(unit):
    slowly, once = [0.9, 0.3, 0.33, 0.36, 0.4, 0.2], [0.9, 0.3, 0.5, 0.3, 0.2, 0.2]
    methods = {"slowly": slowly, "once": once, "falling": EARLY, "level": [0.9, 0.3, 0.3, 0.3, 0.3, 0.3]}
    rising = {
        one.where.split(", ")[2]: one.message for one in found("rising-curve", setting(methods, unit=unit, seeds=5))
    }
    assert set(rising) == {"slowly", "once"}
    assert "higher at step 4 than at step 1" in rising["slowly"]
    assert "higher at step 2 than at step 1" in rising["once"]


def test_no_rise_is_found_in_noise():
    """Of 45 pairs of steps some differ; without a correction every other level curve would rise."""
    rng = np.random.default_rng(0)
    curves = {("plain", f"method {number}"): 0.5 + rng.normal(scale=0.03, size=(5, 11)) for number in range(200)}
    level = Setting("texts", "net", "accuracy", "tokens", np.arange(11.0), tuple(range(5)), curves)
    assert len(found("rising-curve", level)) <= 0.05 * 200
    corrected = [t_interval(curve[:, 9] - curve[:, 1]) for curve in curves.values()]
    assert sum(bool(decide(interval, above=0)) for interval in corrected) > 0


def test_the_companion_learns_nothing_from_masks_and_may_be_misled():
    """What explanations of the gold class leave speaks for the others: performance is below that without any word."""
    curves = setting({"method": [0.9, 0.1, 0.15, 0.2, 0.25, 0.3]}, seeds=5)
    both = {("plain", "random"): curves.baseline()} | {
        (MASKED, name): curve for (_, name), curve in curves.curves.items()
    }
    masked = replace(curves, curves=both)
    assert not found("rising-curve", masked)
    for some, order in ((curves, "recursive"), (masked, MASKED)):
        (warning,) = found("below-floor", some)
        assert warning.where == f"texts, net, method, {order}"
        assert "at step 1 performance is lower than with everything hidden" in warning.message
    assert not found("below-floor", setting({"method": EARLY}))


def test_the_last_step_is_no_rise():
    up_at_last = {"method": [0.9, 0.3, 0.3, 0.3, 0.3, 0.6]}
    assert not found("rising-curve", setting(up_at_last))


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
