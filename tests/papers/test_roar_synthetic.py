import numpy as np
import pandas as pd
import pytest

from trueness.papers.roar_synthetic.summary import summarise
from trueness.protocols.result import Result

STEPS = 5


def records(curves, dataset="roar-synthetic@madsen2022", draws=6, noise=0.0):
    """Curves by method, repeated over draws with a little noise."""
    rng = np.random.default_rng(0)
    rows = []
    for method, curve in curves.items():
        for seed in range(draws):
            for step, accuracy in enumerate(curve):
                rows.append(
                    {
                        "dataset": dataset,
                        "model": "m",
                        "method": method,
                        "seed": seed,
                        "step": step,
                        "ratio": step / (STEPS - 1),
                        "removed": " ".join(map(str, range(step))),
                        "accuracy": accuracy + noise * rng.standard_normal(),
                    }
                )
    return pd.DataFrame(rows)


BEST = [1.0, 1.0, 0.5, 0.5, 0.5]
LATE = [1.0, 1.0, 1.0, 1.0, 0.5]
RANDOM = [1.0, 0.9, 0.8, 0.7, 0.5]


def verdicts(result):
    return {claim.claim.split(" (")[0]: claim.verdict for claim in result.claims}


def test_the_paper_s_picture_supports_the_paper_s_claims():
    curves = {"recursive-roar": BEST, "roar": LATE, "ground-truth": BEST, "worst-case": LATE, "random": RANDOM}
    result = summarise(records(curves, noise=0.001), informative=2, margin=0.02)
    assert set(verdicts(result).values()) == {"supported"}
    scores = {(score.quantity, score.method): score for score in result.scores}
    assert scores["share of draws equal to the ground-truth order", "recursive-roar"].value == 1
    assert scores["share of draws equal to the ground-truth order", "recursive-roar"].low == pytest.approx(
        0.54, abs=0.01
    )
    assert scores["share of draws above the ground-truth order", "roar"].value == 1
    assert scores["faithfulness", "recursive-roar"].value > 0 > scores["faithfulness", "worst-case"].value
    assert scores["accuracy at step 2", "recursive-roar"].value == pytest.approx(0.5, abs=0.01)
    assert scores["accuracy at step 2", "recursive-roar"].null == pytest.approx(0.8, abs=0.01)
    assert all(score.variant == "as-published" for score in result.scores)
    assert not result.abstentions


def test_every_claim_can_fail():
    curves = {"recursive-roar": LATE, "roar": BEST, "ground-truth": RANDOM, "random": RANDOM}
    result = summarise(records(curves, noise=0.001), informative=2, margin=0.02)
    assert set(verdicts(result).values()) == {"not supported"}


def test_one_draw_that_differs_refutes_identity():
    table = records({"recursive-roar": BEST, "ground-truth": BEST})
    table.loc[(table.method == "recursive-roar") & (table.seed == 3) & (table.step == 2), "accuracy"] = 1.0
    result = summarise(table, informative=2, margin=0.02)
    claim = next(item for item in result.claims if "identical" in item.claim)
    assert claim.verdict == "not supported"
    assert "5 of 6 draws" in claim.evidence
    assert "+0.5000 at step 2" in claim.evidence


def test_few_draws_decide_nothing():
    result = summarise(
        records({"recursive-roar": BEST, "ground-truth": BEST, "random": RANDOM}, draws=3), informative=2, margin=0.02
    )
    assert set(verdicts(result).values()) == {"cannot tell"}
    assert [warning.code for warning in result.warnings] == ["few-draws"]


def test_a_baseline_that_never_falls_gives_an_abstention_not_a_number():
    flat = [0.5] * STEPS
    result = summarise(
        records({"recursive-roar": flat, "ground-truth": flat, "random": flat}), informative=2, margin=0.02
    )
    assert not [score for score in result.scores if score.quantity == "faithfulness"]
    abstention = result.abstentions[0]
    assert "baseline curve never falls" in abstention.reason
    assert "6 of 6 draws" in abstention.reason


def test_a_small_denominator_is_a_warning():
    almost = [0.52, 0.51, 0.51, 0.51, 0.5]
    result = summarise(records({"roar": almost, "random": almost}), informative=2, margin=0.02)
    assert "small-denominator" in [warning.code for warning in result.warnings]


def test_missing_orders_and_steps_are_abstentions():
    result = summarise(records({"recursive-roar": BEST}), informative=9, margin=0.02)
    assert not result.scores
    assert not result.claims
    assert [item.quantity for item in result.abstentions].count("claims") == 2
    assert len(result.abstentions) == 4


def test_equal_draws_have_no_interval_and_say_so():
    result = summarise(records({"ground-truth": BEST, "random": RANDOM}), informative=2, margin=0.02)
    score = next(item for item in result.scores if item.quantity == "faithfulness")
    assert (score.low, score.high) == (None, None)
    assert "the same value every time" in score.note


def test_a_result_survives_the_store_and_shows_itself():
    result = summarise(
        records({"recursive-roar": BEST, "ground-truth": BEST, "random": RANDOM}), informative=2, margin=0.02
    )
    again = Result.from_payloads(result.payloads())
    assert again.scores == result.scores
    assert again.claims == result.claims
    pd.testing.assert_frame_equal(again.to_pandas(), result.records)
    html = again._repr_html_()
    assert "<table" in html
    assert "supported" in html


def test_a_difference_of_exactly_the_margin_counts_as_equal():
    shifted = [value + 0.02 for value in BEST]
    result = summarise(records({"recursive-roar": shifted, "ground-truth": BEST}), informative=2, margin=0.02)
    assert next(claim.verdict for claim in result.claims if "identical" in claim.claim) == "supported"


def test_reaching_chance_needs_the_whole_interval():
    table = records({"recursive-roar": BEST, "ground-truth": BEST}, draws=20)
    table.loc[(table.method == "recursive-roar") & (table.seed == 3) & (table.step == 2), "accuracy"] = 0.9
    result = summarise(table, informative=2, margin=0.02)
    assert next(claim.verdict for claim in result.claims if "chance" in claim.claim) == "cannot tell"


def test_a_difference_without_meaning_does_not_make_roar_worse():
    almost = [value + 1e-4 for value in BEST]
    result = summarise(records({"roar": almost, "ground-truth": BEST}, noise=1e-6), informative=2, margin=0.02)
    assert next(claim.verdict for claim in result.claims if "Plain" in claim.claim) == "not supported"


def test_a_model_as_published_makes_the_score_as_published():
    table = records({"roar": BEST, "random": RANDOM}, dataset="roar-synthetic").assign(model="m@madsen2022")
    assert {score.variant for score in summarise(table, informative=2, margin=0.02).scores} == {"as-published"}


def test_steps_that_remove_nothing_are_a_warning():
    table = records({"roar": BEST, "random": RANDOM})
    table["removed"] = ["0" if step else "" for step in table["step"]]
    assert "repeated-steps" in [warning.code for warning in summarise(table, informative=1, margin=0.02).warnings]
