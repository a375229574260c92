"""Published cells are counted once, and agree by equivalence."""

import csv
import math
import statistics
from fnmatch import fnmatchcase
from importlib import resources

import pytest

from trueness.protocols.result import Score
from trueness.report.compare import compared_rows, sentences, summary
from trueness.stats import margin_of_deviations, margin_of_runs
from trueness.studies import KINDS
from trueness.studies.kinds import Margin

MARGINS = (
    Margin("tau", "", "", 0.05, "tau", "two runs"),
    Margin("tau, class 0", "", "", 0.05, "tau", "two runs"),
)


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


def test_what_stands_in_for_the_papers_own_is_counted_apart():
    """Its outcome says whether a finding carries over, not whether the paper's number comes out."""
    published = dict(
        [
            fact(method="a", published="0.40"),
            fact(method="b", published="0.40", stand_in="MiniLM for DistilBERT"),
            fact(method="c", published="0.90", stand_in="MiniLM for DistilBERT"),
        ]
    )
    rows = compared_rows([score(method=name) for name in "abc"], published, MARGINS)
    assert [(row["outcome"], row["stand_in"]) for row in rows] == [
        ("agrees", ""), ("agrees", "MiniLM for DistilBERT"), ("differs", "MiniLM for DistilBERT"),
    ]  # fmt: skip
    found = summary(rows, published, MARGINS)
    assert (found["compared"], found["agrees"], found["differs"]) == (1, 1, 0)
    assert found["stand-ins"] == {"compared": 2, "agrees": 1, "differs": 1, "cannot tell": 0}
    assert [(part["stand-in"], part["compared"]) for part in found["quantities"]] == [
        ("", 1),
        ("MiniLM for DistilBERT", 2),
    ]
    first, second, *_ = sentences(found)
    assert first == "Of 1 published values 1 agree with ours, 0 differ, and of 0 it cannot be told."
    assert second == (
        "For 2 more something else stands in (MiniLM for DistilBERT): they show whether a finding carries over, and "
        "are not judged."
    )
    (only,) = (one for one in sentences(summary(rows[1:], published, MARGINS)) if one.startswith("For "))
    assert only.startswith("For 2 something else")
    assert only.endswith("1 more were not measured here.")


def test_a_transformer_is_never_the_papers_own():
    """MiniLM is what is at hand for DistilBERT and RoBERTa."""
    for name in ("agreement", "recursive_roar"):
        assert all(row["stand_in"] for row in models(facts(name), TRANSFORMER))
        assert not any(row["stand_in"] for row in models(facts(name), BILSTM) if "babi-3" not in row["dataset"])


def test_ranks_are_compared_within_a_kind_of_quantity():
    names = "abcde"
    published = dict(fact(method=name, published=str(place / 10)) for place, name in enumerate(names))
    scores = [score(method=name, value=place**2 / 10) for place, name in enumerate(names)]
    (part,) = summary(compared_rows(scores, published, MARGINS), published, MARGINS)["quantities"]
    assert part["rank correlation"] == pytest.approx(1.0)
    (part,) = summary(compared_rows(scores[:4], published, MARGINS), published, MARGINS)["quantities"]
    assert part["rank correlation"] is None, "of four cells"


def test_the_same_value_every_time_is_its_own_interval():
    same = score(value=1.0, low=None, high=None, note="no interval: the same value every time")
    single = score(value=1.0, low=None, high=None, note="no interval: it is undefined")
    for one, outcome in ((same, "agrees"), (single, "cannot tell")):
        (row,) = compared_rows([one], dict([fact(published="1.0")]), MARGINS)
        assert row["outcome"] == outcome


def facts(name):
    text = (resources.files(f"trueness.papers.{name}") / "published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def of(kind, quantity, method="", model=""):
    (found,) = (
        one.margin
        for one in KINDS[kind].margins()
        if (one.quantity, one.method, one.model) == (quantity, method, model)
    )
    return found


def half(row, deviations=1.0):
    return (float(row["published_high"]) - float(row["published_low"])) / 2 / deviations


def models(rows, pattern):
    return [row for row in rows if fnmatchcase(row["model"], pattern)]


BILSTM, AVERAGE, TRANSFORMER = "bilstm-*", "average-*", "transformer"


def runs_of_jain_and_wallace(quantity, pattern="*"):
    both = [
        (float(row["published"]), float(row["second_run"]))
        for row in models(facts("attention_is_not_explanation"), pattern)
        if row["quantity"].split(", predicted")[0] == quantity and row["published"] and row["second_run"]
    ]
    return margin_of_runs(*map(list, zip(*both, strict=True)))


def test_margins_of_jain_and_wallace_are_the_differences_of_their_runs():
    """Each number of margins.csv is computed once more from published.csv, here and below."""
    for quantity in ("Kendall tau", "share significant", "deviation of Kendall tau"):
        for pattern in (BILSTM, AVERAGE):
            margin = pytest.approx(runs_of_jain_and_wallace(quantity, pattern), abs=6e-5)
            for name in (quantity, *(f"{quantity}, predicted class {number}" for number in range(3))):
                assert of("attention-is-not-explanation", name, model=pattern) == margin
    for quantity in ("test macro-f1", "test accuracy"):
        margin = pytest.approx(runs_of_jain_and_wallace(quantity), abs=6e-5)
        assert of("attention-is-not-explanation", quantity) == margin
    tau = runs_of_jain_and_wallace("Kendall tau", BILSTM) / math.sqrt(3)
    assert of("agreement", "Kendall tau") == pytest.approx(tau, abs=6e-5)


@pytest.mark.parametrize("pattern", [BILSTM, AVERAGE])
def test_margins_of_attefa_are_of_the_same_encoder(pattern):
    """Twins of an average fall into two groups, those of a BiLSTM do not: pooled, one would widen the other's."""
    twins = models(facts("attefa"), pattern)
    for quantity in ("F1", "TVD", "divergence of attention", "AtteFa"):
        cells = {}
        for row in twins:
            if row["quantity"].startswith(f"{quantity}, seed "):
                cells.setdefault((row["dataset"], row["model"]), []).append(float(row["published"]))
        margin = margin_of_deviations([statistics.stdev(values) for values in cells.values()], 9)
        assert of("attefa", quantity, "twin@attefa2022", pattern) == pytest.approx(margin, abs=6e-5)
    epochs = margin_of_deviations([half(row, 2) for row in twins if row["quantity"] == "epoch"], 9)
    assert of("attefa", "epoch", "twin@attefa2022", pattern) == pytest.approx(epochs, abs=6e-5)


@pytest.mark.parametrize("pattern", [BILSTM, TRANSFORMER])
def test_margins_of_the_other_papers(pattern):
    accuracies = [half(row, 2) for row in models(facts("agreement"), pattern) if row["quantity"] == "accuracy"]
    margin = margin_of_deviations(accuracies, 3)
    assert of("agreement", "accuracy", model=pattern) == pytest.approx(margin, abs=6e-5)
    for quantity in ("faithfulness, as published", "performance (macro-f1)", "performance (accuracy)"):
        every = models(facts("recursive_roar"), pattern)
        some = [row for row in every if row["quantity"] == quantity and not row["same_cell_as"]]
        margin = margin_of_deviations([half(row, 1.96) for row in some], 1)
        assert of("recursive-roar", quantity, model=pattern) == pytest.approx(margin, abs=6e-5)
    for quantity in ("attribution share", "decoy share"):
        some = [row for row in facts("ground_truth") if row["quantity"] == quantity]
        deviations = [(float(row["published_high"]) - float(row["published"])) / 2 for row in some]
        assert of("ground-truth", quantity) == pytest.approx(margin_of_deviations(deviations, 11), abs=6e-5)


def test_a_margin_may_be_of_some_models_only():
    margins = (Margin("tau", "", "m*", 0.05, "tau, m", "two runs"), Margin("tau", "", "n-*", 0.5, "tau, n", "two runs"))
    (row,) = compared_rows([score()], dict([fact(published="0.60")]), margins)
    assert (row["margin"], row["group"], row["outcome"]) == (0.05, "tau, m", "differs")
    (row,) = compared_rows([score()], dict([fact(published="0.60")]), margins[1:])
    assert row["outcome"] is None


def test_a_margin_may_be_of_some_methods_only():
    margins = (Margin("tau", "b", "", 0.5, "tau of b", "two runs"), Margin("tau", "", "", 0.05, "tau", "two runs"))
    published = dict([fact(method="a", published="0.60"), fact(method="b", published="0.60")])
    rows = compared_rows([score(method="a"), score(method="b")], published, margins)
    assert [(row["margin"], row["group"], row["outcome"]) for row in rows] == [
        (0.05, "tau", "differs"),
        (0.5, "tau of b", "agrees"),
    ]


def test_each_kind_of_quantity_has_its_own_counts():
    margins = (*MARGINS, Margin("other", "", "", 0.001, "other", "two runs"))
    published = dict(
        [
            fact(method="a", published="0.40"),
            fact(method="b", published="0.90"),
            fact("other", "a", published="0.401"),
            fact("other", "b", published="0.7"),
            fact("other", "c", published="0.7"),
            fact("without a margin", "c", published="0.7"),
        ]
    )
    scores = [score(method="a"), score(method="b"), score("other", "a"), score("other", "b")]
    found = summary(compared_rows(scores, published, margins), published, margins)
    assert [(part["group"], part["agrees"], part["differs"], part["cannot tell"]) for part in found["quantities"]] == [
        ("tau", 1, 1, 0),
        ("other", 0, 1, 1),
    ]
    assert found["not measured"] == 1, "only what could have been compared"
    assert (found["compared"], found["agrees"], found["differs"], found["cannot tell"]) == (4, 1, 2, 1)


def test_the_margin_of_attefas_base_models_is_how_far_earlier_models_of_the_same_kind_lie():
    """Wiegreffe and Pinter's F1 stands in the notes."""
    both = [
        (float(row["published"]), float(row["note"].rsplit(" ", 1)[1]))
        for row in facts("attefa")
        if row["quantity"] == "F1" and "Wiegreffe and Pinter" in row["note"]
    ]
    assert len(both) == 6
    margin = margin_of_runs(*map(list, zip(*both, strict=True)))
    assert of("attefa", "F1", "base model") == pytest.approx(margin, abs=6e-5)


def test_what_is_published_of_a_cell_is_published_whole():
    """Jain and Wallace's tables give a mean, a deviation and a share for every pair of methods."""
    cells = {}
    for row in facts("attention_is_not_explanation"):
        quantity, _, of_class = row["quantity"].partition(", ")
        cells.setdefault((row["dataset"], row["model"], row["method"], of_class), set()).add(quantity)
    pairs = {place: found for place, found in cells.items() if " " in place[2] and "," in place[2]}
    assert pairs
    lacking = {place for place, found in pairs.items() if len(found) < 3}
    agnews = "agnews@jw2019", "bilstm-dot", "attention, gradient@jw2019"
    assert lacking == {(*agnews, "predicted class 0"), (*agnews, "predicted class 1")}, "the authors' files lack them"
