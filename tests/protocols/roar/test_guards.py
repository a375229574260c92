"""Warnings about curves made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.protocols.roar.by_hand import EARLY, found, setting
from trueness.protocols.claim_helpers import decide
from trueness.protocols.roar.curves import MASKED, RemovalCell, cells_of
from trueness.stats import t_interval


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
    level = RemovalCell("texts", "net", "accuracy", "tokens", np.arange(11.0), tuple(range(5)), curves)
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
        assert "at step 1 accuracy is lower than with everything hidden" in warning.message
    assert not found("below-floor", setting({"method": EARLY}))


def test_the_last_step_is_no_rise():
    up_at_last = {"method": [0.9, 0.3, 0.3, 0.3, 0.3, 0.6]}
    assert not found("rising-curve", setting(up_at_last))


def test_below_the_floor_is_told_from_accuracy():
    """Macro-F1 of a model that always says the same is 1/3: one that is wrong four times in five has 0.2."""
    steps, performance, accuracy = [0.1, 0.5], [0.9, 0.36, 0.34, 0.333], [0.9, 0.36, 0.34, 0.5]
    points = [
        {"method": method, "order": order, "step": step, "seed": seed}
        | {"performance": performance[step] + seed / 1000, "accuracy": accuracy[step] + seed / 1000}
        for seed in range(4)
        for method, order, some in (
            ("nothing hidden", "both", [0]),
            ("all hidden", "both", [3]),
            ("random", "plain", [1, 2]),
            ("method", "recursive", [1, 2]),
        )
        for step in some
    ]
    table = pd.DataFrame(points).assign(dataset="texts", model="net")
    (curves,) = cells_of(table, steps, "share", {"texts": "macro-f1"})
    assert {one.where for one in found("below-floor", curves)} == {
        "texts, net, random",
        "texts, net, method, recursive",
    }
    (same,) = cells_of(table, steps, "share", {"texts": "accuracy"})
    assert not found("below-floor", same)


@pytest.mark.parametrize("code", ["mask-leak", "unusual-texts"])
def test_of_all_steps_the_largest_that_is_sure_is_told(code):
    """A noisy step with a larger mean must not hide a sure one, and many steps of noise must not make one."""
    rng = np.random.default_rng(0)

    def warned(excess):
        largest = np.full_like(excess, 0.2)
        masks = {("plain", "random"): (largest, largest), ("recursive", "method"): (largest + excess, largest)}
        odd = {"random": largest, "method": largest + excess}
        curves = setting({"method": EARLY}, seeds=5)
        return found(code, replace(curves, masks=masks) if code == "mask-leak" else replace(curves, unusual=odd))

    sure = np.tile([0.0, 0.1, 0.0, 0.0], (5, 1)) + rng.normal(scale=0.003, size=(5, 4))
    sure[:, 3] = [0.9, -0.2, 0.7, -0.3, 0.1]
    (warning,) = warned(sure)
    assert warning.message.startswith("at step 2 ")
    limit = {"mask-leak": 0.02, "unusual-texts": 0.05}[code]
    by_chance = sum(bool(warned(limit + rng.normal(scale=0.03, size=(5, 9)))) for _ in range(200))
    assert by_chance <= 0.08 * 200


def test_steps_that_hide_no_more_are_told():
    curves = setting({"method": EARLY})
    assert not found("repeated-steps", replace(curves, hidden=np.array([0.08, 0.18, 0.48, 0.9])))
    (warning,) = found("repeated-steps", replace(curves, hidden=np.array([0.0, 0.18, 0.18, 0.9])))
    assert warning.message.startswith("the steps 0.1, 0.5 hide no more")


def test_classifiers_of_masks_that_learnt_nothing_are_told():
    level = np.full((4, 4), 0.45)
    masks = {("plain", "random"): (level, level + 0.1), ("recursive", "method"): (level, level + 0.1)}
    curves = replace(setting({"method": EARLY}), masks=masks)
    assert len(found("blind-to-leaks", curves)) == 1
    seen = {**masks, ("recursive", "method"): (level + np.eye(4) / 100, level)}
    assert not found("blind-to-leaks", replace(curves, masks=seen))
