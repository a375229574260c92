"""Published cells are counted once, and agree by equivalence."""

import csv
import math
import statistics
from importlib import resources

import pytest

from trueness.protocols.result import Score
from trueness.report.compare import compared_rows, sentences, summary
from trueness.stats import margin_of_deviations, margin_of_runs
from trueness.studies import KINDS
from trueness.studies.kinds import Margin

MARGINS = (Margin("tau", "", 0.05, "tau", "two runs"), Margin("tau, class 0", "", 0.05, "tau", "two runs"))


def score(quantity="tau", method="a", variant="as-published", value=0.40, low=0.38, high=0.42, note=""):
    return Score(
        quantity=quantity, dataset="d", model="m", method=method, variant=variant, target="t", value=value, low=low,
        high=high, level=0.95, n=5, direction="neither", null=None, best=None, note=note,
    )  # fmt: skip


def fact(quantity="tau", method="a", **more):
    known = {"published": "", "second_run": "", **more}
    return (quantity, "d", "m", method), {"quantity": quantity, "dataset": "d", "model": "m", "method": method, **known}


def test_every_published_cell_is_counted_once():
    """As published rather than corrected; the second run where nothing else was left; no cell of the paper twice."""
    published = dict(
        [
            fact(method="a", published="0.41", second_run="0.7"),
            fact(method="b", second_run="0.60"),
            fact(method="c", published="0.41", same_cell_as="d"),
            fact(method="missing", published="0.1"),
            fact("other", "a", published="0.3"),
        ]
    )
    scores = [
        score(variant="corrected", value=0.9),
        score(),
        score(method="b"),
        score(method="c"),
        score("other"),
        score(method="unpublished"),
    ]
    rows = compared_rows(scores, published, MARGINS)
    assert [row["outcome"] for row in rows] == [None, "agrees", "differs", None, None, None]
    assert "their second run only" in rows[2]["note"]
    found = summary(rows, published, MARGINS)
    assert {name: found[name] for name in ("compared", "agrees", "differs", "cannot tell", "not measured")} == {
        "compared": 2, "agrees": 1, "differs": 1, "cannot tell": 0, "not measured": 1,
    }  # fmt: skip
    (part,) = found["quantities"]
    assert part["mean absolute error"] == pytest.approx((0.01 + 0.20) / 2)
    assert part["rank correlation"] is None, "of two cells"
    first, second = sentences(found)
    assert first == (
        "Of 2 published values 1 agree with ours, 1 differ, and of 0 it cannot be told; 1 more were not measured here."
    )
    assert "margin 0.05" in second


def test_ranks_are_compared_within_a_kind_of_quantity():
    names = "abcd"
    published = dict(fact(method=name, published=str(place / 10)) for place, name in enumerate(names))
    scores = [score(method=name, value=place**2 / 10) for place, name in enumerate(names)]
    (part,) = summary(compared_rows(scores, published, MARGINS), published, MARGINS)["quantities"]
    assert part["rank correlation"] == pytest.approx(1.0)


def test_the_same_value_every_time_is_its_own_interval():
    same = score(value=1.0, low=None, high=None, note="no interval: the same value every time")
    single = score(value=1.0, low=None, high=None, note="no interval: it is undefined")
    for one, outcome in ((same, "agrees"), (single, "cannot tell")):
        (row,) = compared_rows([one], dict([fact(published="1.0")]), MARGINS)
        assert row["outcome"] == outcome


def facts(name):
    text = (resources.files(f"trueness.papers.{name}") / "published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def of(kind, quantity, method=""):
    return next(
        one.margin for one in KINDS[kind].margins() if (one.quantity, one.method) == (quantity, method)
    )  # fmt: skip


def half(row, deviations=1.0):
    return (float(row["published_high"]) - float(row["published_low"])) / 2 / deviations


def test_margins_are_what_the_papers_own_runs_differ_by():
    """Each number of margins.csv is computed once more from published.csv."""
    twice = facts("attention_is_not_explanation")
    for quantity in ("Kendall tau", "share significant", "deviation of Kendall tau", "test macro-f1", "test accuracy"):
        both = [
            (float(row["published"]), float(row["second_run"]))
            for row in twice
            if row["quantity"].split(", predicted")[0] == quantity and row["published"] and row["second_run"]
        ]
        margin = margin_of_runs(*map(list, zip(*both, strict=True)))
        assert of("attention-is-not-explanation", quantity) == pytest.approx(margin, abs=6e-5)
        if quantity == "Kendall tau":
            assert of("agreement", quantity) == pytest.approx(margin / math.sqrt(3), abs=6e-5)
    twins = facts("attefa")
    for quantity in ("F1", "TVD", "divergence of attention", "AtteFa"):
        cells = {}
        for row in twins:
            if row["quantity"].startswith(f"{quantity}, seed "):
                cells.setdefault((row["dataset"], row["model"]), []).append(float(row["published"]))
        margin = margin_of_deviations([statistics.stdev(values) for values in cells.values()], 9)
        assert of("attefa", quantity, "twin@attefa2022") == pytest.approx(margin, abs=6e-5)
    epochs = [half(row, 2) for row in twins if row["quantity"] == "epoch"]
    assert of("attefa", "epoch", "twin@attefa2022") == pytest.approx(margin_of_deviations(epochs, 9), abs=6e-5)
    accuracies = [half(row, 2) for row in facts("agreement") if row["quantity"] == "accuracy"]
    assert of("agreement", "accuracy") == pytest.approx(margin_of_deviations(accuracies, 3), abs=6e-5)
    for quantity in ("faithfulness, as published", "performance (macro-f1)", "performance (accuracy)"):
        some = [row for row in facts("recursive_roar") if row["quantity"] == quantity and not row["same_cell_as"]]
        margin = margin_of_deviations([half(row, 1.96) for row in some], 1)
        assert of("recursive-roar", quantity) == pytest.approx(margin, abs=6e-5)
    for quantity in ("attribution share", "decoy share"):
        some = [row for row in facts("ground_truth") if row["quantity"] == quantity]
        deviations = [(float(row["published_high"]) - float(row["published"])) / 2 for row in some]
        assert of("ground-truth", quantity) == pytest.approx(margin_of_deviations(deviations, 11), abs=6e-5)
