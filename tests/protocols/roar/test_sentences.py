"""What is said of curves made by hand, word by word, and at which limits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.protocols.roar.by_hand import EARLY, LATE, RANDOM, found, setting
from trueness.protocols.claim_helpers import shown
from trueness.protocols.roar.curves import MASKED, over_seeds
from trueness.protocols.roar.guards import _largest, abstentions, warnings
from trueness.stats import t_interval

NOBODY = pd.DataFrame({"order": []})
LEVEL = [0.31, 0.31, 0.31, 0.31, 0.31, 0.30]


def test_models_that_knew_the_task_and_gold_labels_are_told_once():
    one = setting({"gradient": EARLY})
    first, second, third = warnings([one, one], "gold", ["bert", "roberta"])
    assert [(item.code, item.where) for item in (first, second, third)] == [
        ("trained-before", "bert"),
        ("trained-before", "roberta"),
        ("gold-label", "all methods"),
    ]
    assert first.message == (
        "it was a classifier before: what it learnt from whole texts is not lost when it is trained again"
    )
    assert third.message == (
        "explanations of the gold class can tell the label by what they hide; practice does not know it"
    )
    assert list(warnings([], "gold")) == []
    assert list(warnings([one], "predicted")) == []


def test_fewer_than_three_seeds_are_told():
    (item,) = warnings([setting({"gradient": EARLY}, seeds=2)], "predicted")
    assert (item.code, item.where, item.message) == (
        "few-seeds",
        "texts, net",
        "2 seeds: claims need at least 3",
    )
    assert not found("few-seeds", setting({"gradient": EARLY}, seeds=3))


def test_repeated_steps_and_blind_classifiers_in_words():
    some = setting({"gradient": EARLY})
    (item,) = found("repeated-steps", replace(some, hidden=np.array([0.0, 0.18, 0.18, 0.9])))
    assert (item.where, item.message) == (
        "texts, net",
        "the steps 0.1, 0.5 hide no more than those before: they measure the same again",
    )
    level = np.full((4, 4), 0.5)
    (item,) = found("blind-to-leaks", replace(some, masks={("recursive", "gradient"): (level, level)}))
    assert item.message == (
        "the classifiers of masks learnt nothing, so that no leak can be found: train them for longer (of texts: "
        "leak=150)"
    )
    assert item.where == "texts, net"


def test_a_small_denominator_is_told_of_the_order_it_is_in():
    some = setting({"gradient": EARLY}, noise=0)
    random = np.array([RANDOM, RANDOM, RANDOM, LEVEL])
    text = (
        "with 1 of 4 seeds random masks cost less than 0.05 accuracy over the whole curve: faithfulness would divide "
        "by little, and leaves them out but for the value as published"
    )
    plain = replace(some, curves={**some.curves, ("plain", "random"): random})
    assert [(item.where, item.message) for item in found("small-denominator", plain)] == [("texts, net", text)]
    both = {**some.curves, (MASKED, "random"): random, (MASKED, "gradient"): some.curves["recursive", "gradient"]}
    masked = found("small-denominator", replace(some, curves=both))
    assert [(item.where, item.message) for item in masked] == [(f"texts, net, {MASKED}", text)]
    half = replace(some, curves={**some.curves, ("plain", "random"): np.array([RANDOM, RANDOM, LEVEL, LEVEL])})
    assert len(found("small-denominator", half)) == 1, "half are not most"
    most = replace(some, curves={**some.curves, ("plain", "random"): np.array([RANDOM, LEVEL, LEVEL, LEVEL])})
    assert not found("small-denominator", most)
    (item,) = abstentions([most], NOBODY, "share")
    assert (item.quantity, item.where) == ("faithfulness", "texts, net")
    assert item.reason == "with 3 of 4 seeds random masks cost less than 0.05 accuracy over the whole curve"
    assert not found("small-denominator", setting({"gradient": EARLY}, unit="tokens", random=LEVEL))


def test_seeds_whose_random_masks_cost_nothing_are_counted():
    some = setting({"gradient": EARLY}, noise=0)
    flat = np.array([RANDOM, RANDOM, RANDOM, [0.3] * 6])
    (item,) = abstentions([replace(some, curves={**some.curves, ("plain", "random"): flat})], NOBODY, "share")
    assert item.quantity == "faithfulness"
    assert item.reason == ("the baseline curve never falls below its last point (of 1 of 4 seeds, which are left out)")
    both = {**some.curves, (MASKED, "random"): flat, (MASKED, "gradient"): some.curves["recursive", "gradient"]}
    (item,) = abstentions([replace(some, curves=both)], NOBODY, "share")
    assert item.quantity == "faithfulness (masked training)"


def steady(values, seeds=4):
    """The same curve with every seed, but for a little."""
    return np.tile(values, (seeds, 1)) + 0.0001 * np.arange(seeds)[:, None] * np.arange(len(values))


def test_a_rise_is_told_with_its_steps_and_size():
    some = setting({"gradient": EARLY}, noise=0)
    curve = steady([0.9, 0.5, 0.45, 0.55, 0.4, 0.3])
    (item,) = found("rising-curve", replace(some, curves={**some.curves, ("recursive", "gradient"): curve}))
    rise = t_interval(curve[:, 3] - curve[:, 2], level=1 - 2 * 0.05 / 10)
    assert item.where == "texts, net, gradient, recursive"
    assert item.message == (
        f"performance is higher at step 3 than at step 2, by {shown(rise)}, though more is hidden: what is hidden, or "
        "what is left, tells the label, or training is unsteady"
    )
    random = replace(some, curves={("plain", "random"): curve})
    assert [item.where for item in found("rising-curve", random)] == ["texts, net, random"]
    little = steady([0.9, 0.5, 0.45, 0.459, 0.4, 0.3])
    assert not found("rising-curve", replace(some, curves={**some.curves, ("recursive", "gradient"): little}))


def test_a_curve_below_the_floor_is_told():
    some = setting({"gradient": EARLY}, noise=0)
    curve = np.tile([0.9, 0.5, 0.25, 0.28, 0.3, 0.3], (4, 1)) + 0.0001 * np.arange(4)[:, None] * np.arange(6)
    low = replace(some, curves={**some.curves, ("recursive", "gradient"): curve})
    (item,) = found("below-floor", low)
    below = t_interval(curve[:, 5] - curve[:, 2], level=1 - 2 * 0.05 / 5)
    assert item.where == "texts, net, gradient, recursive"
    assert item.message == (
        f"at step 2 accuracy is lower than with everything hidden, by {shown(below)}: what is left misleads the "
        "model, which counts as faithfulness"
    )
    assert not found("below-floor", replace(low, unit="tokens"))


def test_masks_that_tell_the_label_are_told():
    some = setting({"gradient": EARLY}, noise=0)
    largest, chance = np.full((4, 4), 0.5), np.full((4, 4), 0.55)
    alone = np.array([0.5, 0.6, 0.7, 0.56]) + 0.001 * np.arange(4)[:, None]
    masks = {("plain", "random"): (chance, largest), ("recursive", "gradient"): (alone, largest)}
    (item,) = found("mask-leak", replace(some, masks=masks))
    excess = t_interval(alone[:, 2] - 0.55, level=1 - 2 * 0.05 / 4)
    assert item.where == "texts, net, gradient, recursive"
    assert item.message == (
        f"at step 3 the masks alone tell the label with accuracy {alone[:, 2].mean():.3f}, {shown(excess)} above "
        "random masks and the largest class: the curve is too high by an unknown part"
    )
    no_random = replace(some, masks={("recursive", "gradient"): (alone, largest)})
    assert no_random.leaked("recursive", "gradient") == pytest.approx(alone - 0.5)
    assert replace(some, masks=masks).leaked("plain", "random") == pytest.approx(chance - 0.5)
    rare = {("plain", "random"): (largest - 0.2, largest), ("recursive", "gradient"): (alone, largest)}
    assert replace(some, masks=rare).leaked("recursive", "gradient") == pytest.approx(alone - 0.5)


def test_unusual_texts_are_told_beside_random_masks():
    some = setting({"gradient": EARLY}, noise=0)
    odd = np.array([0.1, 0.3]) + 0.001 * np.arange(4)[:, None]
    usual = np.full((4, 2), 0.06)
    (item,) = found("unusual-texts", replace(some, unusual={"random": usual, "gradient": odd}))
    excess = t_interval(odd[:, 1] - 0.06, level=1 - 2 * 0.05 / 2)
    assert item.where == "texts, net, gradient"
    assert item.message == (
        f"at step 2 {odd[:, 1].mean():.3f} of the masked texts look unusual to the model trained under masks, "
        f"{shown(excess)} more than under random masks: its curve may show surprise instead of importance"
    )
    assert not found("unusual-texts", replace(some, unusual={"random": odd, "gradient": odd}))
    assert found("unusual-texts", replace(some, unusual={"gradient": odd}))
    assert not found("unusual-texts", replace(some, unusual={"random": odd}))


def test_only_differences_that_surely_exceed_the_limit_count():
    sure, unsure = np.array([0.1, 0.101, 0.102]), np.array([0.9, -0.2, 0.3])
    ((place, interval),) = _largest({"a": sure, "b": unsure, "c": sure - 0.05}, above=0.01)
    assert place == "a"
    assert interval == t_interval(sure, level=1 - 2 * 0.05 / 3)
    assert _largest({"a": sure}, above=0.101) == []
    assert _largest({}, above=0) == []
    ((_, partly),) = _largest({"a": np.append(sure, np.nan)}, above=0)
    assert partly.n == 3


def test_a_blurred_copy_that_is_no_less_faithful_is_told():
    def told(blurred, **more):
        some = setting({"lime": EARLY, "blurred[lime]": blurred, "gradient": LATE}, noise=0.002, **more)
        items = found("blurred-foil", some)
        gap = over_seeds(some.faithfulness("recursive", "blurred[lime]") - some.faithfulness("recursive", "lime"))
        return items, shown(gap)

    (item,), gap = told(EARLY)
    assert item.where == "texts, net, lime, recursive"
    assert item.message == f"its blurred copy cannot be told from it (difference {gap}): exactness is not measured"
    (item,), gap = told([0.9, 0.4, 0.35, 0.35, 0.35, 0.3])
    assert item.message == f"its blurred copy is at least as faithful (difference {gap}): exactness is not measured"
    assert told(LATE)[0] == [], "it is less faithful, as it should be"
    assert told(EARLY, seeds=2)[0] == []
    assert not found("blurred-foil", setting({"blurred[lime]": EARLY, "gradient": EARLY}))
    few = setting({"lime": EARLY, "blurred[lime]": EARLY}, noise=0.002)
    ends = {key: curve[:, [0, 5]] for key, curve in few.curves.items()}
    assert not found("blurred-foil", replace(few, curves=ends, amounts=np.array([0.0, 1.0])))
    assert not found("blurred-foil", setting({"lime": EARLY, "blurred[lime]": EARLY}, random=LEVEL, noise=0.0001))
