"""Points of removal curves made by hand, and what is said of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.protocols.roar.by_hand import AMOUNTS, EARLY, LATE, RANDOM, setting
from trueness.protocols.roar.curves import MASKED, RemovalCell, bands, cells_of, over_seeds
from trueness.protocols.roar.guards import abstentions, warnings
from trueness.protocols.roar.hiding import RANKS, SHARES
from trueness.protocols.roar.summary import _companion, _explanations, _scores, summarise, with_performance
from trueness.stats import Undefined, t_interval

STEPS = (0.2, 0.5)
REFUSED = pd.DataFrame(columns=["dataset", "model", "method", "order", "step", "seed", "reason"])
CURVES = {
    ("random", "plain"): [0.8, 0.7],
    ("gradient", "recursive"): [0.6, 0.5],
    ("gradient", "plain"): [0.7, 0.6],
}


def points(seeds=3, **more):
    """Accuracy 0.9 with nothing and 0.3 with all hidden, a little higher with each seed."""
    rows = []
    for seed in range(seeds):
        one = {"nothing hidden": ("both", [(0, 0.9)]), "all hidden": ("both", [(3, 0.3)])}
        some = [(name, *rest) for name, rest in one.items()]
        some += [(name, order, list(enumerate(curve, start=1))) for (name, order), curve in CURVES.items()]
        for method, order, known in some:
            for step, value in known:
                place = {"dataset": "texts", "model": "net", "method": method, "order": order, "step": step}
                more_hidden = 0.01 * (method == "gradient")  # only what random masks hide is kept
                inner = {
                    "hidden": [0, 0.18, 0.48, 1][step] + more_hidden,
                    "mask-only": 0.5 + step / 10,
                    "largest-class": 0.55,
                }
                rows.append({**place, "seed": seed, "accuracy": value + seed / 100, "f1": value / 2, **inner, **more})
    return pd.DataFrame(rows)


def cell(table=None, unit="share", metric="accuracy", **more):
    some = with_performance(points() if table is None else table, {"texts": metric})
    (found,) = cells_of(some, STEPS, unit, {"texts": metric}, **more)
    return found


def faithful(curve, random, amounts=(0, 0.2, 0.5, 1)):
    """Equation 3, literally."""
    above, below = (
        sum(
            (amounts[i + 1] - amounts[i]) * (random[i] - other[i] + random[i + 1] - other[i + 1]) / 2
            for i in range(len(amounts) - 1)
        )
        for other in (curve, [random[-1]] * len(random))
    )
    return above / below


def test_performance_is_the_metric_of_the_dataset():
    table = pd.concat([points(1), points(1).assign(dataset="more")])
    found = with_performance(table, {"texts": "accuracy", "more": "f1"})["performance"].to_numpy()
    assert found[:3].tolist() == pytest.approx([0.9, 0.3, 0.8])
    assert found[len(found) // 2 :][:3].tolist() == pytest.approx([0.45, 0.15, 0.4])


def test_curves_have_both_ends_and_all_seeds():
    some = cell()
    assert some.amounts.tolist() == [0, 0.2, 0.5, 1]
    assert some.seeds == (0, 1, 2)
    assert (some.dataset, some.model, some.metric, some.unit, some.target) == (
        "texts", "net", "accuracy", "share", "the gold class",
    )  # fmt: skip
    assert list(some.curves) == [("plain", "random"), ("recursive", "gradient"), ("plain", "gradient")]
    for (order, method), inner in (((order, name), curve) for (name, order), curve in CURVES.items()):
        expected = np.array([0.9, *inner, 0.3]) + np.arange(3)[:, None] / 100
        assert some.curves[order, method] == pytest.approx(expected)
    assert some.hidden == pytest.approx([0.18, 0.48])
    assert set(some.masks) == set(some.curves)
    alone, largest = some.masks["recursive", "gradient"]
    assert (alone.tolist(), largest.tolist()) == ([[0.6, 0.7]] * 3, [[0.55, 0.55]] * 3)
    assert (some.unusual, some.accuracies) == ({}, {})
    assert cell(target="predicted").target == "the predicted class"
    tokens = cell(unit="tokens")
    assert tokens.amounts.tolist() == [0, 0.2, 0.5]
    assert tokens.curves["plain", "random"][0].tolist() == [0.9, 0.8, 0.7]
    other = cell(metric="f1")
    assert other.curves["recursive", "gradient"][2].tolist() == pytest.approx([0.45, 0.3, 0.25, 0.15])
    assert other.accuracies["recursive", "gradient"][2] == pytest.approx([0.92, 0.62, 0.52, 0.32])


def test_what_is_not_complete_is_left_out():
    table = points()
    last = (table["method"] == "gradient") & (table["order"] == "plain") & (table["step"] == 2)
    assert ("plain", "gradient") not in cell(table[~last]).curves, "a step is missing"
    once = last & (table["seed"] == 1)
    assert ("plain", "gradient") not in cell(table[~once]).curves, "a seed is missing"
    assert ("plain", "gradient") not in cell(table[~once]).masks
    ended = table[~((table["method"] == "all hidden") & (table["seed"] == 2))]
    assert cell(ended).seeds == (0, 1)
    silent = with_performance(table[table["method"] != "random"], {"texts": "accuracy"})
    assert list(cells_of(silent, STEPS, "share", {"texts": "accuracy"})) == []
    blind = cell(table.drop(columns=["mask-only", "hidden"]))
    assert (blind.masks, blind.hidden.tolist()) == ({}, [])
    unmeasured = table.assign(**{"mask-only": np.nan, "hidden": np.nan})
    assert (cell(unmeasured).masks, cell(unmeasured).hidden.tolist()) == ({}, [])


def companion():
    """The companion's rows: ends of its own, and how many texts look unusual."""
    rows = [
        {"dataset": "texts", "model": "net", "method": method, "order": MASKED, "step": step, "seed": seed}
        | {"accuracy": value + seed / 50, "unusual": 0.05 * step + seed / 100}
        for method, curve in {"random": [0.88, 0.7, 0.6, 0.2], "gradient": [0.88, 0.5, 0.4, 0.2]}.items()
        for seed in range(3)
        for step, value in enumerate(curve)
    ]
    return pd.concat([pd.DataFrame(rows), points()], ignore_index=True)


def test_the_companion_has_ends_of_its_own_and_comes_last():
    some = cell(companion())
    assert list(some.curves)[-2:] == [(MASKED, "random"), (MASKED, "gradient")]
    assert some.curves[MASKED, "gradient"][1] == pytest.approx([0.9, 0.52, 0.42, 0.22])
    assert some.unusual["gradient"] == pytest.approx(np.array([[0.05, 0.1]]) + np.arange(3)[:, None] / 100)
    assert (MASKED, "gradient") not in some.masks
    assert some.baseline(MASKED)[0] == pytest.approx([0.88, 0.7, 0.6, 0.2])
    assert some.baseline("recursive")[0] == pytest.approx([0.9, 0.8, 0.7, 0.3])
    assert cell(companion(), unit="tokens").curves[MASKED, "random"].shape == (3, 3)
    assert some.methods(MASKED) == some.methods("plain") == ["gradient"]


def test_scores_of_curves():
    found = list(_scores(cell(companion())))
    assert [(score.quantity, score.method) for score in found] == [
        ("performance (accuracy)", "the model"),
        ("faithfulness", "gradient"),
        ("faithfulness, as published", "gradient"),
        ("faithfulness (plain ROAR)", "gradient"),
        ("faithfulness (masked training)", "gradient"),
        ("mask-only accuracy above chance", "random"),
        ("mask-only accuracy above chance", "gradient"),
    ], "masks of plain ROAR are those of recursive ROAR"
    start, recursive, published, plain, masked, chance, leak = found
    interval = t_interval([0.9, 0.91, 0.92])
    assert (start.value, start.low, start.high, start.n) == pytest.approx((0.91, interval.low, interval.high, 3))
    assert (start.null, start.best, start.direction) == (pytest.approx(0.31), 1.0, "higher is better")
    random = [0.9, 0.8, 0.7, 0.3]
    best = faithful([0.9, 0.3, 0.3, 0.3], random)
    for score, curve in (
        (recursive, [0.9, 0.6, 0.5, 0.3]),
        (published, [0.9, 0.6, 0.5, 0.3]),
        (plain, [0.9, 0.7, 0.6, 0.3]),
    ):
        assert score.value == pytest.approx(faithful(curve, random))
        assert (score.null, score.best, score.n) == (0.0, pytest.approx(best), 3)
        assert score.direction == "higher is better"
    assert [one.variant for one in (recursive, published, plain)] == ["corrected", "as-published", "corrected"]
    random = [0.88, 0.7, 0.6, 0.2]
    assert masked.value == pytest.approx(faithful([0.88, 0.5, 0.4, 0.2], random))
    assert masked.best == pytest.approx(faithful([0.88, 0.2, 0.2, 0.2], random))
    assert chance.value == pytest.approx(0.7 - 0.55)
    assert leak.value == pytest.approx(0.0), "random masks tell as much"
    for score, step in ((chance, 2), (leak, 1)):
        assert score.note.startswith(f"the largest of all steps, at step {step}")
        assert (score.null, score.best, score.direction) == (0.0, 0.0, "lower is better")
    tokens = list(_scores(cell(unit="tokens")))
    assert tokens[0].null is None
    assert "faithfulness" not in {score.quantity for score in tokens}


def test_what_is_published_is_cut_to_one():
    deep = points()
    mine = (deep["method"] == "gradient") & (deep["order"] == "recursive")
    found = {score.quantity: score for score in _scores(cell(deep.assign(accuracy=deep["accuracy"].where(~mine, 0.0))))}
    assert found["faithfulness"].value > 1
    assert found["faithfulness, as published"].value == 1.0


def test_what_the_companion_adds():
    some = replace(
        setting({"first": EARLY, "second": LATE, "third": RANDOM}, noise=0.001),
        unusual={"first": np.array([[0.1, 0.3], [0.2, 0.2], [0.5, 0.4], [0.1, 0.3]])},
    )
    both = {**some.curves, **{(MASKED, name): curve for (_, name), curve in some.curves.items()}}
    nobody = pd.DataFrame()
    found = list(_companion(replace(some, curves=both), nobody))
    assert [(score.quantity, score.method) for score in found] == [
        ("agreement of rankings (Kendall tau)", "masked training and recursive"),
        ("unusual texts (masked training)", "first"),
    ]
    tau, unusual = found
    assert (tau.value, tau.null, tau.best) == (pytest.approx(1.0), 0.0, 1.0)
    assert tau.note.startswith("over 3 methods")
    assert (unusual.value, unusual.null, unusual.n) == (pytest.approx(0.3), 0.05, 4)
    assert unusual.note == "the largest of all steps, at step 2"
    fewer = {key: curve for key, curve in both.items() if key != (MASKED, "third")}
    assert [score.method for score in _companion(replace(some, curves=fewer), nobody)] == ["first"]
    assert [score.method for score in _companion(some, nobody)] == ["first"]


def test_measures_between_bounds_are_means_over_texts_then_seeds():
    pairs = {
        "random": [[(0.5, 0.4), (0.3, None)], [(0.4, 0.2)]],
        "gradient": [[(0.9, 0.8), (None, 0.6)], [(None, None)]],
    }
    bounded = pd.DataFrame(
        [
            {"dataset": dataset, "model": "net", "method": method, "seed": seed, "pair": pair}
            for dataset in ("texts", "more")
            for method, seeds in pairs.items()
            for seed, some in enumerate(seeds)
            for pair in (some if dataset == "texts" else [(0.0, 0.0)])
        ]
    )
    found = list(_companion(setting({"gradient": EARLY}), bounded))
    assert [(one.quantity, one.method, one.value, one.n, one.null, one.best) for one in found] == [
        ("comprehensiveness, normalised", "random", pytest.approx(0.4), 2, pytest.approx(0.4), 1.0),
        ("comprehensiveness, normalised", "gradient", pytest.approx(0.9), 1, pytest.approx(0.4), 1.0),
        ("sufficiency, normalised", "random", pytest.approx(0.3), 2, pytest.approx(0.3), 1.0),
        ("sufficiency, normalised", "gradient", pytest.approx(0.7), 1, pytest.approx(0.3), 1.0),
    ]
    without = bounded[bounded["method"] != "random"]
    assert {one.null for one in _companion(setting({"gradient": EARLY}), without)} == {None}
    assert list(_companion(setting({"gradient": EARLY}, model="other"), bounded)) == []


def test_how_much_the_top_tokens_hold():
    curve = [0.1 * number for number in range(1, 11)] + [None] * 9
    rows = [{"dataset": "d", "model": "m", "method": "gradient", "curve": curve}] * 2
    rows.append({"dataset": "d", "model": "m", "method": "lime", "curve": [1.0] * 10 + [0.5] * 9})
    table = _explanations(pd.DataFrame(rows))
    assert list(table) == ["dataset", "model", "method", "unit", "amount", "mean", "low", "high", "n"]
    first = table[table["method"] == "gradient"]
    assert first["amount"].tolist() == list(range(1, 11)), "what is never known is left out"
    assert first["mean"].tolist() == pytest.approx(curve[:10])
    assert set(first["n"]) == {2}
    rest = table[table["method"] == "lime"]
    assert rest["unit"].tolist() == ["tokens"] * len(RANKS) + ["share"] * len(SHARES)
    assert rest["amount"].tolist()[10:] == pytest.approx([step / 10 for step in range(1, 10)])
    empty = _explanations(pd.DataFrame())
    assert (list(empty), len(empty)) == (list(table), 0)


def test_a_result_has_the_amount_of_each_step():
    how = {"amounts": STEPS, "target": "predicted", "metrics": {"texts": "accuracy"}}
    result = summarise(companion(), pd.DataFrame(), REFUSED, pd.DataFrame(), unit="share", **how)
    by_step = result.records.groupby("step")["amount"].unique().map(list).to_dict()
    assert by_step == {0: [0.0], 1: [0.2], 2: [0.5], 3: [1.0]}
    some = cell(companion(), target="predicted")
    assert result.scores == (*_scores(some), *_companion(some, pd.DataFrame()))
    assert result.warnings == tuple(warnings([some], "predicted"))
    assert result.abstentions == ()
    assert list(result.tables) == ["curves", "sparsity"]
    assert len(result.tables["curves"]) == 5 * 4
    tokens = summarise(points(), pd.DataFrame(), REFUSED, pd.DataFrame(), unit="tokens", trained_before=["bert"], **how)
    assert tokens.records["amount"].max() == np.inf
    assert [one.where for one in tokens.warnings if one.code == "trained-before"] == ["bert"]
    assert [one.quantity for one in tokens.abstentions] == ["faithfulness"]


def test_bands_are_means_over_seeds_cut_to_the_range():
    rows = list(bands(cell()))
    interval = t_interval([0.6, 0.61, 0.62])
    assert rows[5] == {
        "dataset": "texts", "model": "net", "metric": "accuracy", "unit": "share", "method": "gradient",
        "order": "recursive", "step": 1, "amount": 0.2, "mean": pytest.approx(0.61),
        "low": pytest.approx(interval.low), "high": pytest.approx(interval.high), "n": 3,
    }  # fmt: skip
    high = RemovalCell("d", "m", "f1", "share", AMOUNTS[:1], (0, 1), {("plain", "random"): np.array([[0.9], [1.0]])})
    assert next(bands(high))["high"] == 1.0


def test_the_mean_over_seeds_is_of_those_that_are_defined():
    found = over_seeds(np.array([0.1, np.nan, 0.3]))
    assert (found.value, found.n) == (pytest.approx(0.2), 2)
    assert isinstance(over_seeds(np.array([np.nan])).value, Undefined)


def test_reasons_to_abstain():
    refused = [("d", "m", "deep-lift", "explained", 0, 0, "No."), ("d", "m", "deep-lift", "explained", 0, 1, "Never.")]
    refused += [("d", "m", "lime", "recursive", 1, 0, "Not that.")]
    table = pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "seed", "reason"])
    (first,) = abstentions([setting({"gradient": EARLY})], table, "share")
    assert (first.quantity, first.where, first.reason) == ("deep-lift", "d, m", "No")
    first, second = abstentions([setting({"gradient": EARLY})], table, "tokens")
    assert (second.quantity, second.where) == ("faithfulness", "all datasets")
    assert second.reason == ("counted in tokens the curves end before everything is hidden; read them as curves")
