import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from trueness.protocols.agreement import agreement

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
    return agreement(SCORES, MASK)


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


def test_signs_are_compared_only_where_both_have_one(result):
    signs = "top 5 with sign, corrected"
    compared = {score.method for score in result.scores if score.quantity == signs}
    assert compared == {"gradient and random", "gradient and smooth-gradient", "random and smooth-gradient"}
    (item,) = result.abstentions
    assert (item.quantity, item.where) == ("agreement of signs", "the texts, the model, attention")


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


def test_the_methods_of_a_model_are_compared_in_one_call(tmp_path):
    import trueness as tn
    from tests.models.test_training import DATA, QUICK, SMALL
    from trueness.errors import UserError

    model = tn.train("bilstm-additive", DATA, recipe=QUICK, **SMALL)
    names = ["attention", "lime", "kernel-shap", "gradient", "random"]
    found = tn.agreement(model, DATA, names, instances=30)
    tau = {score.method: score.value for score in found.scores if score.quantity == "Kendall tau"}
    assert len(tau) == 10
    assert tau["lime and kernel-shap"] > 0.5 > abs(tau["gradient and random"])
    (example,) = [row for row, text in enumerate(DATA["test"][:30]) if text is DATA["test"][7]]
    words = DATA["test"][7].tokens
    alone = [np.abs(tn.explain(model, [DATA["test"][7]], name)[0].scores) for name in ("attention", "gradient")]
    record = found.to_pandas().set_index(["pair", "instance"]).loc[("attention and gradient", example)]
    assert record["length"] == len(words)
    assert record["Kendall tau"] == pytest.approx(kendalltau(*alone).statistic, abs=1e-6)
    assert tn.agreement(model, ["x good y z", "bad x y y z"], ["attention", "gradient"]).scores
    with pytest.raises(UserError, match="two different explainers"):
        tn.agreement(model, DATA, ["lime", "lime"])
    with pytest.raises(UserError, match="did you mean lime"):
        tn.agreement(model, DATA, ["limes", "random"])
