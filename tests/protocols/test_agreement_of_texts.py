"""Agreement from scores and masks: records, and what one call makes of them."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import kendalltau

from tests.models.test_attentive import VOCABULARY, build, examples
from trueness.errors import Unsupported, UserError
from trueness.explainers.contract import explainer
from trueness.explainers.simple import Random
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.protocols.agreement.explaining import explain_all
from trueness.protocols.agreement.measures import TAU, measure_names, own_records, pair_records
from trueness.protocols.agreement.summary import accuracies, agreement, summarise
from trueness.stats import t_interval

MASK = np.arange(8) < np.array([6, 8, 5])[:, None]
RNG = np.random.default_rng(3)
SCORES = {name: RNG.normal(size=MASK.shape) * MASK for name in ("a", "b", "c")}
TEXTS = [type(one)(one.tokens, one.label) for one in examples((4, 9, 2), pairs=False)]


def test_records_of_pairs_name_both_methods_and_every_text():
    records = pair_records(SCORES, MASK, 3)
    assert records["first"].tolist() == ["a"] * 6 + ["b"] * 3
    assert records["second"].tolist() == ["b"] * 3 + ["c"] * 6
    assert records["instance"].tolist() == [0, 1, 2] * 3
    assert records["length"].tolist() == [6, 8, 5] * 3
    assert measure_names(records.assign(seed=0)) == [
        "Kendall tau",
        "weighted tau",
        "tau of the top 3, corrected",
        "Spearman",
        "Pearson",
        "rank-biased overlap, corrected",
        "top 3, corrected",
        "top 3 with rank, corrected",
        "top 3 with sign, corrected",
        "top 3 with rank and sign, corrected",
    ]
    assert list(pair_records({"a": SCORES["a"]}, MASK, 3)) == ["instance", "first", "second", "length"]


def test_the_same_magnitudes_with_other_signs_differ_only_in_sign():
    records = pair_records({"a": SCORES["a"], "b": -SCORES["a"]}, MASK, 3)
    for name in measure_names(records):
        if "sign" in name:
            assert (records[name] < 0.5).all(), name
        else:
            assert records[name].to_numpy() == pytest.approx(np.ones(3)), name


def test_the_top_of_a_short_text_is_all_of_it():
    records = pair_records({"a": SCORES["a"], "b": SCORES["b"]}, MASK & (np.arange(8) < 2), 3)
    assert records["top 3, corrected"].isna().all(), "both words are always among the first two"
    assert records["tau of the top 3, corrected"].notna().all()


def test_a_method_beside_itself_may_have_the_first_texts_only():
    again = {"b": RNG.normal(size=(2, 8)), "a": RNG.normal(size=(2, 8)), "z": np.zeros((2, 8))}
    records = own_records(SCORES, again, MASK)
    assert list(records) == ["method", "instance", TAU]
    assert records["method"].tolist() == ["a", "a", "b", "b"]
    assert records["instance"].tolist() == [0, 1, 0, 1]
    taus = [
        kendalltau(*(np.abs(some[name][row][MASK[row]]) for some in (SCORES, again))).statistic
        for name in "ab"
        for row in (0, 1)
    ]
    assert records[TAU].to_numpy() == pytest.approx(taus)
    narrow = {"a": SCORES["a"][:1, :6]}
    assert own_records(SCORES, narrow, MASK)[TAU].to_numpy() == pytest.approx([1.0])
    nothing = own_records(SCORES, {"z": np.zeros((2, 8))}, MASK)
    assert (list(nothing), len(nothing)) == (["method", "instance", TAU], 0)


def test_one_call_labels_what_it_finds():
    result = agreement(
        SCORES,
        MASK,
        again={"a": RNG.normal(size=MASK.shape)},
        k=2,
        dataset="mine",
        model="net",
        target="the gold class",
        without_sign=["c"],
    )
    assert list(result.records)[:6] == ["pair", "instance", "first", "second", "length", TAU]
    assert result.records["pair"].tolist() == ["a and b"] * 3 + ["a and c"] * 3 + ["b and c"] * 3
    assert set(result.records["seed"]) == {0}
    assert (result.records[["dataset", "model", "variant"]] == ["mine", "net", "corrected"]).all(axis=None)
    assert {(one.dataset, one.model, one.target) for one in result.scores} == {("mine", "net", "the gold class")}
    assert result.scores[-1].method == "a and itself, other draws"
    assert any(one.quantity == "top 2 with sign, corrected" for one in result.scores)
    assert list(result.tables) == ["differences", "own"]
    assert (result.tables["own"][["against", "seed", "other"]] == ["other draws", 0, 0]).all(axis=None)
    assert (result.warnings[0].code, result.warnings[0].where) == ("agreement-is-not-validity", "all scores")
    assert result.warnings[0].message == (
        "methods that agree may both be wrong about the model, and one that disagrees may be right"
    )
    plain = agreement({name: SCORES[name] for name in "ab"}, MASK)
    assert {(one.dataset, one.model, one.target) for one in plain.scores} == {
        ("the texts", "the model", "the predicted class")
    }
    assert any(one.quantity == "top 5, corrected" for one in plain.scores)
    assert plain.tables == {}
    with pytest.raises(ValueError, match=r"^agreement needs two methods$"):
        agreement({"a": SCORES["a"]}, MASK)


def test_given_tables_are_kept_and_empty_ones_are_not():
    from tests.protocols.test_agreement_by_hand import cell, rows

    some = cell(rows("a", "b", [[0.9, 0.8]]))
    strips = pd.DataFrame({"words": ["x"]})
    assert list(summarise([some], {"strips": strips, "none": strips.iloc[:0]}).tables) == ["strips"]


def test_accuracies_with_learned_and_uniform_attention():
    table = pd.DataFrame(
        [("d", "m", False, 0.8), ("d", "m", False, 0.9), ("d", "m", True, 0.7), ("d", "m", True, 0.72)],
        columns=["dataset", "model", "uniform", "accuracy"],
    )
    learned, uniform = accuracies(table)
    assert (learned.method, uniform.method) == ("learned attention", "uniform attention")
    interval = t_interval([0.7, 0.72])
    assert (uniform.value, uniform.low, uniform.high) == pytest.approx((0.71, interval.low, interval.high))
    assert (learned.value, learned.n) == (pytest.approx(0.85), 2)
    for score in (learned, uniform):
        assert (score.quantity, score.dataset, score.model, score.target) == ("accuracy", "d", "m", "the gold class")


def test_methods_that_draw_are_asked_again_with_other_draws():
    network, split = build(), EncodedSplit(TEXTS, VOCABULARY)
    methods = {"attention": TEXT_EXPLAINERS["attention"], "random": Random(7), "lime": TEXT_EXPLAINERS["lime"]}
    usual = explain_all(network, split, methods)
    again = explain_all(network, split, methods, redraw=True)
    assert list(usual.scores) == ["attention", "random", "lime"]
    assert list(again.scores) == ["random", "lime"]
    assert again.scores["random"] == pytest.approx(explain_all(network, split, {"r": Random(8)}).scores["r"])
    assert not np.allclose(again.scores["lime"], usual.scores["lime"])
    assert (usual.refused, again.refused) == ({}, {})


def test_every_text_is_explained_in_its_row_and_for_the_class_asked():
    network, split = build(), EncodedSplit(TEXTS, VOCABULARY)
    methods = {name: TEXT_EXPLAINERS[name] for name in ("gradient", "leave-one-out", "attention")}
    for target in ("predicted", "gold"):
        found = explain_all(network, split, methods, target)
        assert found.mask.sum(axis=1).tolist() == [4, 9, 2]
        for row, example in enumerate(TEXTS):
            batch = EncodedSplit([example], VOCABULARY).batch([0])
            for name, method in methods.items():
                alone = method.attribute(network, batch, target)[0].detach().numpy()
                width = min(len(alone), found.mask.shape[1])
                assert found.scores[name][row, :width] == pytest.approx(alone[:width], abs=1e-6), (name, target)
                assert (found.scores[name][row][~found.mask[row]] == 0).all()
    default = explain_all(network, split, methods).scores["gradient"]
    assert default == pytest.approx(explain_all(network, split, methods, "predicted").scores["gradient"])


def test_the_shortest_text_shows_what_a_model_cannot_support():
    sizes, targets = [], []

    @explainer("never")
    def never(_, batch, target):
        """Refuses."""
        sizes.append(batch.mask.sum(dim=1).tolist())
        targets.append(target)
        raise Unsupported("never is never supported.")

    network, split = build(), EncodedSplit(TEXTS, VOCABULARY)
    methods = {"never": TEXT_EXPLAINERS["never"], "attention": TEXT_EXPLAINERS["attention"]}
    found = explain_all(network, split, methods, "gold", refuse=False)
    assert found.refused == {"never": "never is never supported."}
    assert (list(found.scores), sizes, targets) == (["attention"], [[2]], ["gold"])
    with pytest.raises(Unsupported):
        explain_all(network, split, methods)


def test_a_network_without_finite_outputs_is_refused():
    network = build()
    with torch.no_grad():
        network.output.bias.fill_(torch.nan)
    with pytest.raises(UserError, match="finite"):
        explain_all(network, EncodedSplit(TEXTS, VOCABULARY), {"attention": TEXT_EXPLAINERS["attention"]})
