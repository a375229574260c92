from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from trueness.papers.agreement.claims import claims
from trueness.protocols.agreement.cell import SEED, AgreementCell
from trueness.protocols.agreement.measures import TAU, own_records, pair_records
from trueness.protocols.agreement.summary import agreement, cell_scores, summarise

RNG = np.random.default_rng(0)
LENGTHS = RNG.integers(6, 15, 40)
MASK = np.arange(15) < LENGTHS[:, None]
TRUTH = RNG.normal(size=MASK.shape)
SCORES = {
    "attention": np.abs(TRUTH) * MASK,
    "gradient": (TRUTH + 0.5 * RNG.normal(size=MASK.shape)) * MASK,
    "random": RNG.normal(size=MASK.shape) * MASK,
    "smooth-gradient": (TRUTH + 0.6 * RNG.normal(size=MASK.shape)) * MASK,
}


@pytest.fixture(scope="module")
def result():
    shared = {"gradient": ("gradient",), "smooth-gradient": ("gradient",)}
    return agreement(SCORES, MASK, without_sign=["attention"], machinery=shared)


def test_every_pair_equals_scipy_instance_by_instance(result):
    records = result.to_pandas().set_index(["pair", "instance"])
    assert len(records) == 6 * 40
    for first, second in (("attention", "gradient"), ("gradient", "random"), ("random", "smooth-gradient")):
        for row in range(40):
            a, b = (np.abs(SCORES[name][row, : LENGTHS[row]]) for name in (first, second))
            found = records.loc[(f"{first} and {second}", row)]
            assert found["Kendall tau"] == pytest.approx(kendalltau(a, b).statistic)
            assert found["Spearman"] == pytest.approx(spearmanr(a, b).statistic)
            assert found["Pearson"] == pytest.approx(pearsonr(a, b).statistic)


def test_chance_is_zero_and_sameness_is_one(result):
    means = {(score.method, score.quantity): score for score in result.scores}
    for quantity in {quantity for _, quantity in means}:
        score = means["gradient and random", quantity]
        assert abs(score.value) < 0.12, quantity
        assert (score.null, score.best, score.n) == (0.0, 1.0, 40)
    same = agreement({"one": TRUTH * MASK, "other": 2 * TRUTH * MASK}, MASK)
    assert all(score.value == pytest.approx(1.0) for score in same.scores)


def test_what_is_misleading_is_said(result):
    codes = {(warning.code, warning.message) for warning in result.warnings}
    assert sum(code == "agreement-is-not-validity" for code, _ in codes) == 1
    assert any(code == "shared-machinery" and "smooth-gradient" in message for code, message in codes)
    assert any(code == "within-null-band" and "random" in message for code, message in codes)
    assert not any(code == "within-null-band" and "gradient and smooth-gradient" in message for code, message in codes)


def test_constant_scores_are_left_out_and_counted():
    flat = {**SCORES, "attention": np.where(np.arange(40)[:, None] < 10, 0.1, SCORES["attention"]) * MASK}
    (score,) = [
        score
        for score in agreement(flat, MASK).scores
        if (score.method, score.quantity) == ("attention and gradient", "Kendall tau")
    ]
    assert score.n == 30
    assert "undefined for 10 of 40 instances" in score.note
    nothing = agreement({"a": np.ones(MASK.shape), "b": TRUTH}, MASK)
    assert {item.quantity for item in nothing.abstentions} >= {"Kendall tau", "Spearman", "Pearson"}


def test_one_method_is_refused():
    with pytest.raises(ValueError, match="two methods"):
        agreement({"alone": TRUTH}, MASK)


def cell(noise, **more):
    """Four methods on three seeds: two nearly the same, one noisy, one unrelated."""
    rng = np.random.default_rng(5)
    records, own, seen = [], [], []
    truth = rng.normal(size=MASK.shape)
    for seed in range(3):
        model = truth + noise * rng.normal(size=MASK.shape)
        scores = {
            "lime": model,
            "integrated-gradients": model + 0.05 * rng.normal(size=MASK.shape),
            "occlusion": truth + 2 * rng.normal(size=MASK.shape),
            "attention": np.abs(rng.normal(size=MASK.shape)),
        }
        records.append(pair_records(scores, MASK, 3).assign(seed=seed))
        own += [
            own_records(scores, earlier, MASK).assign(against=SEED, seed=other, other=seed)
            for other, earlier in enumerate(seen)
        ]
        seen.append(scores)
    settings = {"dataset": "texts", "model": "bilstm-additive", "variant": "corrected", **more}
    return AgreementCell(
        records=pd.concat(records, ignore_index=True), own=pd.concat(own, ignore_index=True), **settings
    )


def tau_of(cell, method):
    found = (score for score in cell_scores(cell) if (score.quantity, score.method) == ("Kendall tau", method))
    return next(found)


def test_equal_seeds_know_no_more_than_one_and_n_counts_seeds():
    one = cell(noise=1.0)
    first = one.records[one.records["seed"] == 0]
    thrice = replace(one, records=pd.concat([first.assign(seed=seed) for seed in range(3)], ignore_index=True))
    single = replace(one, records=first.reset_index(drop=True))
    a, b = (tau_of(some, "lime and attention") for some in (thrice, single))
    assert (a.n, b.n) == (3, 40)
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=1e-9)


def test_seeds_that_differ_widen_the_interval():
    some = cell(noise=1.0)
    shifted = some.records.assign(**{"Kendall tau": some.records["Kendall tau"] + 0.1 * some.records["seed"]})
    before, after = (tau_of(one, "lime and attention") for one in (some, replace(some, records=shifted)))
    assert after.high - after.low > 2 * (before.high - before.low)


def test_one_model_supports_no_conclusion():
    some = cell(noise=1.0)
    one = replace(some, records=some.records[some.records["seed"] == 0])
    assert {item.verdict for item in claims([one])} == {"cannot tell"}


def test_conclusions_can_fail():
    """A transformer about which all methods agree, and attention that agrees with them."""
    recurrent, agreeing = cell(noise=1.0), cell(noise=1.0, model="transformer")
    same = agreeing.records.assign(**{"Kendall tau": 0.9 + 0.01 * (agreeing.records["instance"] % 3)})
    verdicts = {item.claim: item.verdict for item in claims([recurrent, replace(agreeing, records=same)])}
    assert [verdict for claim, verdict in verdicts.items() if "strongly" in claim] == ["not supported"] * 2
    assert [verdict for claim, verdict in verdicts.items() if "transformer" in claim] == ["not supported"] * 2
    pairs = [replace(recurrent, dataset="pairs", pairs_of_texts=True), recurrent]
    (verdict,) = [item.verdict for item in claims(pairs) if "pairs of texts" in item.claim]
    assert verdict == "cannot tell", "the same records"


def test_all_models_count_where_one_kind_has_more():
    """Of seven seeds the last four agree less: the difference is that of all."""
    few, many = cell(noise=1.0, model="transformer"), cell(noise=1.0)
    later = [many.records.assign(seed=seed, **{TAU: -0.5}) for seed in range(3, 7)]
    more = replace(many, records=pd.concat([many.records, *later], ignore_index=True))
    (item,) = [item for item in claims([few, more]) if "less about the transformer" in item.claim]
    methods = ["attention", "lime", "integrated-gradients"]
    wanted = few.attribution(methods).to_numpy().mean() - more.attribution(methods).to_numpy().mean()
    assert f"difference {wanted:.3f}" in item.evidence
    assert wanted > 0.3


def test_the_kind_with_the_fewest_seeds_decides_how_many_there_are():
    """Two models of one kind are too few for a conclusion, however many there are of the other."""
    many, other = cell(noise=1.0), cell(noise=1.0, model="transformer")
    low = replace(other, records=other.records.assign(**{TAU: -0.9}))
    verdict = {}
    for seeds in (2, 3):
        few = replace(low, records=low.records[low.records["seed"] < seeds])
        found = [item for item in claims([few, many]) if "less about the transformer" in item.claim]
        (verdict[seeds],) = [item.verdict for item in found]
    assert verdict == {2: "cannot tell", 3: "supported"}


def test_methods_that_explained_some_texts_only_are_not_averaged_with_others():
    some = cell(noise=1.0)
    early = some.records["instance"] < 3
    attention = (some.records[["first", "second"]] == "attention").any(axis=1)
    slow = replace(some, records=some.records[~attention | early])
    assert slow.on_all_texts == ["lime", "integrated-gradients", "occlusion"]
    assert some.on_all_texts == some.methods
    both = [slow, replace(slow, dataset="pairs", pairs_of_texts=True, records=slow.records.assign(**{TAU: 0.2}))]
    (item,) = [item for item in claims(both) if "pairs of texts" in item.claim]
    wanted = 0.2 - some.pair("lime", "integrated-gradients")[TAU].mean()
    assert f"difference {wanted:.3f}" in item.evidence


def test_one_pair_that_surely_agrees_is_enough_and_one_that_is_open_leaves_it_open():
    some = cell(noise=1.0, model="transformer")
    methods = ["attention", "attention-flow", "lime"]
    rows = [
        {"seed": seed, "instance": text, "first": first, "second": "lime", TAU: value + 0.001 * seed}
        for first, values in (("attention", [0.55, 0.56] * 20), ("attention-flow", [0.1, 0.6, 1.0]))
        for seed in range(3)
        for text, value in enumerate(values)
    ]
    mixed = replace(some, records=pd.DataFrame(rows))
    assert mixed.methods == methods
    assert mixed.on_all_texts == ["attention", "lime"]
    strongly = [item for item in claims([mixed]) if "strongly" in item.claim]
    assert [item.verdict for item in strongly] == ["not supported"] * 2
    low = mixed.records.assign(**{TAU: mixed.records[TAU].where(mixed.records["first"] != "attention", 0.4)})
    assert {item.verdict for item in claims([replace(mixed, records=low)]) if "strongly" in item.claim} == {
        "cannot tell"
    }


def test_what_is_known_of_one_model_or_of_no_text_supports_nothing():
    some = cell(noise=1.0, model="transformer")
    lime = (some.records[["first", "second"]] == "lime").any(axis=1)
    once = replace(some, records=some.records[~lime | (some.records["seed"] == 0)].assign(**{TAU: 0.9}))
    assert "lime" not in once.on_all_texts
    blank = replace(some, records=some.records.assign(**{TAU: np.nan}), pairs_of_texts=True, dataset="pairs")
    assert blank.on_all_texts == []
    assert [item for item in claims([some, blank]) if "pairs of texts" in item.claim] == []
    constant = some.records[TAU].where(~lime | (some.records["instance"] % 2 == 0))
    assert "lime" not in replace(some, records=some.records.assign(**{TAU: constant})).on_all_texts


def test_saturated_flow_and_many_places_are_said_once():
    some = [cell(noise=1.0, dataset=name, saturation=(0.7, 0.8), refused={"deep-lift": "No."}) for name in ("a", "b")]
    result = summarise(some)
    (flow,) = [item for item in result.warnings if item.code == "flow-saturated"]
    assert flow.where == "a, bilstm-additive; b, bilstm-additive"
    (refused,) = [item for item in result.abstentions if item.quantity == "deep-lift"]
    assert refused.where == flow.where


def test_equal_numbers_of_other_rows_are_kept_apart():
    """As many rows, but of other texts: half of the texts twice, and all of them once."""
    some = cell(noise=1.0)
    half = some.records[(some.records["instance"] < 20) & (some.records["seed"] < 2)].assign(second="attention-flow")
    flow = half[half["first"] == "lime"].drop_duplicates(["seed", "instance"])
    records = pd.concat([some.records[some.records["seed"] == 0], flow], ignore_index=True)
    found = {
        score.method: score.n
        for score in cell_scores(replace(some, records=records))
        if score.quantity == "Kendall tau"
    }
    assert found["lime and attention-flow"] == 2, "seeds"
    assert found["lime and attention"] == 40, "texts of one model"
