"""Experiments go on where an earlier file ends, and show what is there of them."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from benchmarks.experiments.plans import Arm
from benchmarks.experiments.running import _kept
from benchmarks.experiments.shown import (
    ALL_HIDDEN,
    _attended,
    _integrated,
    decays,
    distances,
    faithful,
    leads,
    lengths,
    sizes,
    twins,
)

from trueness.engine import task
from trueness.stats.divergence import LN2


@task("test/nothing", version=1)
def nothing(inputs, *, number):
    return {"number": number, "inputs": len(inputs)}


ARMS = [Arm({"dataset": "a", "seed": number}, nothing({}, number=number)) for number in range(3)]


def written(tmp_path, **more):
    rows = [{"dataset": "a", "seed": 1, "value": value} for value in (0.1, 0.2)]
    path = tmp_path / "one.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"rows": rows, **more}).encode()))
    return path


def test_arms_that_a_file_has_are_kept(tmp_path):
    found = _kept(written(tmp_path), ARMS, small=False)
    assert {number: [row["value"] for row in rows] for number, rows in found.items()} == {1: [0.1, 0.2]}
    assert _kept(tmp_path / "none.json.gz", ARMS, small=False) == {}


@pytest.mark.parametrize(("given", "small"), [({}, True), ({"small": True}, False)])
def test_small_runs_are_not_mixed_with_others(tmp_path, given, small):
    with pytest.raises(SystemExit, match="--small: give another folder"):
        _kept(written(tmp_path, **given), ARMS, small=small)


def rows_of(arms):
    about = {"quantity": "tau", "model": "m", "method": "x"}
    return pd.DataFrame(
        [
            {**about, "arm": arm, "seed": seed, "value": first * (1 + 0.1 * seed)}
            for arm, first in arms.items()
            for seed in range(3)
        ]
    )


def test_arms_are_compared_with_glove_by_seed():
    found = lengths(rows_of({"glove": 0.1, "unit": 0.4})).set_index("arm")
    assert found.loc["glove", "mean"] == pytest.approx(0.11)
    assert found.loc["unit", "difference"] == pytest.approx(0.33)
    assert found.loc["unit", "p"] == pytest.approx(float(scipy.stats.t.sf(0.33 / (0.03 / 3**0.5), 2) * 2))
    assert pd.isna(found.loc["glove", "p"])


@pytest.mark.parametrize("arms", [{"glove": 0.1}, {"unit": 0.4, "flat": 0.2}])
def test_without_a_pair_nothing_is_compared(arms):
    found = lengths(rows_of(arms))
    assert list(found["arm"]) == list(arms)
    assert found["p"].isna().all()


def test_attention_is_compared_with_gradients_by_seed():
    pairs = {("glove", 1): (0.3, 0.1), ("glove", 2): (0.5, 0.2), ("unit", 1): (0.2, 0.3), ("unit", 2): (0.2, 0.1)}
    every = [
        {
            "dataset": "a",
            "model": "m",
            "quantity": "faithfulness",
            "arm": arm,
            "seed": seed,
            "method": method,
            "value": value,
        }
        for (arm, seed), values in pairs.items()
        for method, value in zip(("attention", "gradient@madsen2022"), values, strict=True)
    ]
    found = leads(pd.DataFrame([*every, {**every[0], "quantity": "performance", "value": 9.0}])).set_index("arm")
    assert found["mean"].to_dict() == pytest.approx({"glove": 0.25, "unit": 0.0})
    assert found["p"].to_dict() == pytest.approx({"glove": 2 * 2 * scipy.stats.t.sf(0.25 / 0.05, 1), "unit": 1.0})


def seeds_of(values, **about):
    return [{"seed": seed, "value": value, **about} for seed, value in enumerate(values)]


def p_of(differences):
    return float(scipy.stats.ttest_1samp(differences, 0.0).pvalue)


def test_arms_are_paired_by_seed_and_corrected_within_a_quantity():
    """Seeds move together: unpaired, or in another order, the differences would have another spread."""
    glove, unit, flat = [0.1, 0.3, 0.8], [0.2, 0.42, 0.91], [0.15, 0.31, 0.83]
    about = {"model": "m", "method": "x"}
    rows = [
        row
        for quantity in ("tau", "faithfulness")
        for arm, values in (("flat", flat), ("glove", glove), ("unit", unit))
        for row in seeds_of(values, arm=arm, quantity=quantity, **about)
    ]
    found = lengths(pd.DataFrame(rows)).set_index(["quantity", "arm"])
    chances = {"unit": p_of(np.subtract(unit, glove)), "flat": p_of(np.subtract(flat, glove))}
    least, most = sorted(chances, key=chances.__getitem__)
    for quantity in ("tau", "faithfulness"):
        assert found.loc[(quantity, least), "p"] == pytest.approx(2 * chances[least])
        assert found.loc[(quantity, most), "p"] == pytest.approx(max(2 * chances[least], chances[most]))


def test_weight_decay_is_taken_away_and_paired_by_seed():
    given, none = [0.1, 0.3, 0.8], [0.2, 0.42, 0.91]
    about = {"model": "m", "arm": "unit", "quantity": "tau"}
    rows = [
        row
        for method, more in (("x", 0.0), ("y", 0.5))
        for decay, values in ((1e-5, given), (0.0, np.add(none, [more, 0, 0])))
        for row in seeds_of(values, weight_decay=decay, method=method, **about)
    ]
    found = decays(pd.DataFrame(rows)).set_index("method")
    apart = np.subtract(none, given)
    assert found.loc["x", ["with", "without", "difference"]].tolist() == pytest.approx([0.4, 0.51, 0.11])
    half = scipy.stats.t.ppf(0.975, 2) * apart.std(ddof=1) / 3**0.5
    assert found.loc["x", ["difference, low", "difference, high"]].tolist() == pytest.approx([0.11 - half, 0.11 + half])
    assert found.loc["x", "p"] == pytest.approx(2 * p_of(apart)), "of two methods"


def test_a_line_over_doublings_by_hand():
    """Means of 0.5, 0.4 and 0.35 at three sizes: half the difference of the ends, whose errors add."""
    halves = [0.06, 0.05, 0.04]
    rows = [
        {"quantity": "tau", "model": "m", "method": "x", "variant": "v", "seed": np.nan, "size": size, "n": 5,
         "value": value, "low": value - half, "high": value + half}
        for size, value, half in zip([500, 1000, 2000], [0.5, 0.4, 0.35], halves, strict=True)
    ]  # fmt: skip
    (found,) = sizes(pd.DataFrame(rows)).to_dict("records")
    assert (found["500"], found["2000"]) == (0.5, 0.35)
    assert found["a doubling"] == pytest.approx((0.35 - 0.5) / 2)
    errors = np.array(halves) / scipy.stats.t.ppf(0.975, 4)
    half = 1.96 * float(np.hypot(errors[0], errors[2])) / 2
    assert (found["low"], found["high"]) == (pytest.approx(-0.075 - half), pytest.approx(-0.075 + half))
    assert sizes(pd.DataFrame(rows[:2])).empty, "two sizes always lie on a line"


def test_curves_are_compared_with_random_masks_of_the_same_dataset_and_kind():
    def curve(dataset, explainer, spare, falls):
        return [
            {"dataset": dataset, "explainer": explainer, "spare": spare, "seed": seed, "hidden share": share,
             "accuracy": 0.9 - share * fall}
            for seed, fall in enumerate(falls)
            for share in (0.0, 0.5)
        ]  # fmt: skip

    one, other = "babi-1@original", "babi-2@original"
    rows = [
        *curve(one, "random", "kept", [0.2, 0.2]), *curve(one, "random", "hidden", [0.6, 0.7]),
        *curve(other, "random", "kept", [0.1, 0.1]), *curve(other, "random", "hidden", [0.3, 0.1]),
        *curve(one, "attention", "kept", [0.8, 1.0]),
    ]  # fmt: skip
    found = faithful(pd.DataFrame(rows)).set_index(["dataset", "explainer", "spare"])
    row = found.loc[(one, "attention", "kept")]
    assert row[0.5] == pytest.approx(0.9 - 0.45)

    def expected(fall):
        """Trapezoids down to all hidden, over the area between random masks and all hidden."""
        random, measured, end = 0.9 - 0.1, 0.9 - 0.5 * fall, ALL_HIDDEN[one]
        return (random - measured) / 2 / ((0.9 + random - 2 * end) / 4 + (random + end - 2 * end) / 4)

    assert row["faithfulness"] == pytest.approx(np.mean([expected(0.8), expected(1.0)]))
    assert found.loc[(one, "random", "kept"), "faithfulness"] is None or pd.isna(
        found.loc[(one, "random", "kept"), "faithfulness"]
    )


def test_integrated_gradients_correct_less_published_and_where_base_models_attend():
    published, correct = seeds_of([0.1, 0.2, 0.3], method="integrated-gradients@madsen2022"), [0.5, 0.7, 0.7]
    found = _integrated(pd.DataFrame([*published, *seeds_of(correct, method="integrated-gradients")]))
    assert found["difference"].item() == pytest.approx(np.mean(np.subtract(correct, [0.1, 0.2, 0.3])))
    shares = [(0.1, 0.9), (0.34, 0.9), (0.5, 0.5), (0.9, 0.32)]
    rows = [
        {"dataset": "mock", "model": "m", "base": base, "informed, class 0": one, "informed, class 1": other}
        for base, (one, other) in enumerate(shares)
    ]
    counted = _attended(pd.DataFrame(rows)).loc[("mock", "m")]
    assert (counted["models"], counted["one class only"], counted["least"]) == (4, 2, 0.1)


def test_twins_stand_beside_the_published_value_and_recipes_are_compared_where_all_were_tried():
    recipes = [("sum", 1e-5, 0.1), ("sum", 0.0, 0.2), ("mean", 1e-5, 0.3), ("mean", 0.0, 0.4)]
    twin = {"twin divergence": LN2, "twin performance": 1.0, "twin one_class": 0.96}
    rows = [
        {**twin, "dataset": f"mock-{number}@attefa2022", "model": "bilstm-additive", "base": base}
        | {"loss": loss, "weight_decay": decay, "twin change": change + apart}
        for number in (1, 2)
        for loss, decay, change in recipes
        for base, many, apart in ((0, 1, -0.05), (1, 3, 0.05))
        if number == 1 or (base, loss) != (1, "mean")
        for _ in range(many)
    ]
    found = twins(pd.DataFrame(rows))
    row = found.loc[("mock-1@attefa2022", "bilstm-additive", "sum", 1e-5)]
    assert row["attefa"] == pytest.approx(0.1), "base models count alike, with one twin or with three"
    assert (row["collapsed"], row["twins"], row["published"]) == (1.0, 4, 0.0304)
    far = distances(pd.DataFrame(rows)).loc[("bilstm-additive", "mean", 0.0)]
    # On mock-2 (published 0.0329) the other base model was not tried with every recipe.
    assert (far["mean"], far["size"]) == (pytest.approx((0.4 - 0.0304 + 0.35 - 0.0329) / 2), 2)
