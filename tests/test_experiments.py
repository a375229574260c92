"""Experiments go on where an earlier file ends, and show what is there of them."""

import gzip
import json

import pandas as pd
import pytest
import scipy.stats
from benchmarks.experiments.plans import Arm
from benchmarks.experiments.running import _kept
from benchmarks.experiments.shown import leads, lengths

from trueness.engine import task


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
