"""Scores, tables and sentences about agreement, of records made by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trueness.protocols.agreement.cell import DRAW, SEED, AgreementCell, _largest, apart
from trueness.protocols.agreement.measures import TAU
from trueness.protocols.agreement.summary import abstentions, cell_scores, summarise, warnings
from trueness.stats import crossed_interval, holm, of_pairs

SIGNS = "top 5 with sign, corrected"


def rows(first, second, taus, length=10, **more):
    """One row per seed and instance, of a table (seeds, instances)."""
    return [
        {"seed": seed, "instance": instance, "first": first, "second": second, "length": length, TAU: tau, **more}
        for seed, row in enumerate(taus)
        for instance, tau in enumerate(row)
    ]


def own(method, against, taus, pairs=None):
    """A method against itself: `taus` by pair of seeds; with other draws both seeds are one."""
    pairs = [(seed, seed) for seed in range(len(taus))] if pairs is None else pairs
    return [
        {"method": method, "against": against, "seed": one, "other": other, "instance": instance, TAU: tau}
        for (one, other), row in zip(pairs, taus, strict=True)
        for instance, tau in enumerate(row)
    ]


NOTHING = pd.DataFrame(columns=["method", "against", "seed", "other", "instance", TAU])


def cell(records, selves=(), **more):
    kept = pd.DataFrame(selves) if selves else NOTHING
    return AgreementCell("texts", "net", more.pop("variant", "corrected"), pd.DataFrame(records), kept, **more)


A_B = [[0.5, 0.6, 0.7], [0.6, 0.8, 0.7]]
A_C = [[0.1, 0.0, 0.2], [0.2, 0.1, 0.0]]
B_C = [[0.3, 0.2, 0.4], [0.1, 0.2, np.nan]]
RECORDS = [*rows("a", "b", A_B), *rows("a", "c", A_C), *rows("b", "c", B_C)]


def test_pairs_are_found_in_either_order():
    some = cell(RECORDS)
    assert (some.methods, some.seeds) == (["a", "b", "c"], 2)
    assert some.pair("b", "a")[TAU].tolist() == some.pair("a", "b")[TAU].tolist() == [0.5, 0.6, 0.7, 0.6, 0.8, 0.7]
    table = some.table(some.pair("c", "b"))
    assert table.to_numpy() == pytest.approx(np.array(B_C), nan_ok=True)
    assert (list(table.index), list(table.columns)) == ([0, 1], [0, 1, 2])
    assert some.where == "texts, net"
    assert replace(some, variant="as-published").where == "texts, net, as published"


def test_the_mean_over_pairs_is_taken_where_it_is_known():
    found = cell(RECORDS).attribution(["a", "b", "c"]).to_numpy()
    assert found == pytest.approx(np.nanmean([A_B, A_C, B_C], axis=0))
    assert cell(RECORDS).attribution(["a", "c"]).to_numpy() == pytest.approx(np.array(A_C))


def test_a_method_against_itself_over_all_pairs_of_seeds():
    taus = [[0.5, 0.6], [0.7, 0.8], [0.3, 0.4]]
    selves = own("a", SEED, [taus[2], taus[0], taus[1]], [(1, 2), (0, 1), (0, 2)])
    some = cell(RECORDS, selves)
    against, table = some.ceiling("a")
    assert against == SEED
    # In the order 1, 0, 2 in which the seeds are met: pairs (1, 0), (1, 2), (0, 2).
    assert table.to_numpy() == pytest.approx(of_pairs(np.array([taus[0], taus[2], taus[1]]), 3))
    assert list(table.columns) == [0, 1]
    lost = cell(RECORDS, own("a", SEED, taus[:2], [(0, 1), (0, 2)]))
    assert lost.ceiling("a")[1].to_numpy() == pytest.approx(np.array([[0.6, 0.7]])), "the mean of the pairs known"
    assert some.ceiling("b") is None
    both = cell(RECORDS, [*own("a", DRAW, [[0.9, 0.8]]), *selves])
    assert both.ceiling("a")[0] == SEED, "seeds come first"
    draws = cell(RECORDS, own("a", DRAW, [[0.9, 0.8], [0.7, 0.6]])).ceiling("a")
    assert draws[0] == DRAW
    assert draws[1].to_numpy() == pytest.approx(np.array([[0.9, 0.8], [0.7, 0.6]]))


def test_differences_of_tables_are_paired():
    one = pd.DataFrame([[0.5, 0.6, np.nan], [0.7, 0.8, np.nan]], index=[5, 6])
    other = pd.DataFrame([[0.1, 0.3, 0.1], [0.2, 0.2, 0.1], [9.0, 9.0, 9.0]])
    change = apart(one, other)
    assert change.to_numpy() == pytest.approx(np.array([[0.4, 0.3], [0.5, 0.6]])), "as many seeds as both have"
    assert list(change.columns) == [0, 1], "what is never known is left out"
    single = apart(one.iloc[:1], other.iloc[:2])
    assert single.to_numpy() == pytest.approx(np.array([[0.35, 0.35]])), "of one model both are means"
    assert apart(one.iloc[:1], other.iloc[:1]).to_numpy() == pytest.approx(np.array([[0.4, 0.3]]))


def test_differences_are_told_for_every_method_and_two_others():
    table = cell(RECORDS).differences()
    assert list(table) == ["method", "more", "less", "n", "difference", "low", "high", "p", "p, Holm"]
    assert table[["method", "more", "less"]].to_numpy().tolist() == [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]
    change = np.array(A_B) - np.array(A_C)
    interval = crossed_interval(change)
    assert table.loc[0, ["difference", "low", "high"]].tolist() == pytest.approx(
        [change.mean(), interval.low, interval.high]
    )
    assert table.loc[0, "n"] == 2
    assert table["p, Holm"].tolist() == pytest.approx(holm(table["p"].to_numpy()).tolist())
    assert len(cell(rows("a", "b", A_B)).differences()) == 0, "there is no other to compare with"
    alone = cell([row for row in RECORDS if row["instance"] == 0]).differences()
    assert alone[["low", "high"]].isna().all(axis=None)
    assert alone["difference"].iloc[0] == pytest.approx((0.5 + 0.6 - 0.1 - 0.2) / 2)


def test_the_largest_sets_of_which_every_two_are_alike():
    alike = {frozenset(pair) for pair in ("ab", "ac", "bc", "cd", "ef")}
    assert list(_largest("abcdef", alike)) == [("a", "b", "c"), ("c", "d"), ("e", "f")]
    assert list(_largest("abc", set())) == []


def same(value, size=6, seeds=3, spread=0.02):
    """Taus near a value: (seeds, size)."""
    steps = spread * (np.arange(size) - (size - 1) / 2)
    return [(value + steps + seed / 1000).tolist() for seed in range(seeds)]


def test_methods_are_told_apart_only_if_they_agree_less_than_they_repeat_themselves():
    pairs = [(0, 1), (0, 2), (1, 2)]

    def groups(agree, of_a, of_b=0.2):
        selves = [*own("a", SEED, same(of_a, spread=0.015), pairs), *own("b", SEED, same(of_b), pairs)]
        return cell(rows("a", "b", same(agree)), selves).groups()

    assert groups(0.7, 0.7) == [("a", "b")]
    assert groups(0.8, 0.7) == [("a", "b")], "more than themselves is no difference"
    assert groups(0.5, 0.7) == [], "the more stable of both counts"
    assert groups(0.0, 0.0, 0.0) == [], "they do not agree at all"
    assert cell(rows("a", "b", same(0.7)), own("a", SEED, same(0.7), pairs)).groups() == [], "of b nothing is known"


def test_of_many_pairs_one_may_agree_less_by_chance():
    """What tells two methods apart when nothing else is asked does not beside two other pairs."""
    selves = {m: own(m, SEED, same(0.7, spread=0.03), [(0, 1), (0, 2), (1, 2)]) for m in "abc"}
    apart_alone = cell(rows("a", "b", same(0.68)), [*selves["a"], *selves["b"]])
    others = [*rows("a", "c", same(0.69)), *rows("b", "c", same(0.69))]
    among_three = cell([*rows("a", "b", same(0.68)), *others], [row for some in selves.values() for row in some])
    assert (apart_alone.groups(), among_three.groups()) == ([], [("a", "b", "c")])


def test_scores_of_pairs_and_of_methods_with_themselves():
    signed = [row | {SIGNS: 0.5 + row["instance"] / 10} for row in RECORDS]
    selves = [*own("b", SEED, [[0.9, 0.7, 0.8]], [(0, 1)]), *own("a", DRAW, [[0.6, 0.4], [0.6, 0.8]])]
    some = cell(signed, selves, without_sign=("c",), variant="as-published")
    found = list(cell_scores(some))
    assert [(score.quantity, score.method) for score in found] == [
        (TAU, "a and b"),
        (SIGNS, "a and b"),
        (TAU, "a and c"),
        (TAU, "b and c"),
        (TAU, "a and itself, other draws"),
        (TAU, "b and itself, another seed"),
    ]
    for score in found:
        assert (score.null, score.best, score.direction, score.variant) == (0.0, 1.0, "neither", "as-published")
    first, _, _, partly, draws, seeds = found
    interval = crossed_interval(np.array(A_B))
    assert (first.value, first.low, first.high) == pytest.approx((interval.value, interval.low, interval.high))
    assert (first.n, first.note) == (2, "3 texts, 2 seeds")
    assert partly.note == "undefined for 1 of 6 instances, which are left out; 3 texts, 2 seeds"
    assert (draws.value, draws.note) == (pytest.approx(0.6), "2 texts, 2 seeds")
    assert seeds.value == pytest.approx(0.8)
    single = next(cell_scores(cell(rows("a", "b", [[0.5, np.nan, 0.7]]))))
    assert single.note == "undefined for 1 of 3 instances, which are left out"


def test_shared_machinery_is_told():
    machinery = {"a": ("gradient", "x"), "b": ("gradient",), "c": ("masks",)}
    (found,) = [one for one in warnings(cell(RECORDS, machinery=machinery)) if one.code == "shared-machinery"]
    assert found.message == "that these agree is partly by construction: a and b"
    assert found.where == "texts, net"
    assert "shared-machinery" not in {one.code for one in warnings(cell(RECORDS, machinery={"a": ("gradient",)}))}


def test_taus_that_unrelated_rankings_give_are_told():
    band = 1.96 * math.sqrt(2 * 25 / (9 * 10 * 9))
    inside, outside = band - 1e-6, band + 1e-6
    records = [
        *rows("a", "b", [[inside] * 10 + [-inside] * 9 + [outside]]),
        *rows("a", "c", [[inside] * 18 + [outside] * 2]),
        *rows("b", "c", [[np.nan] * 20]),
        *rows("c", "d", [[np.nan] * 19 + [-inside]]),
    ]
    (found,) = [one for one in warnings(cell(records)) if one.code == "within-null-band"]
    assert found.message == (
        "more than 90% of the taus are what unrelated rankings of that length give: a and b, c and d"
    )
    far = [one.code for one in warnings(cell(rows("a", "b", [[0.9, 0.8]])))]
    assert far == []
    short = cell([*rows("a", "b", [[0.5] * 3], length=4), *rows("a", "c", [[0.5] * 3], length=40)])
    (found,) = warnings(short)
    assert found.message.endswith(": a and b"), "each text has its own band"


def test_flow_that_is_the_first_layer_again_is_told():
    (found,) = warnings(cell(rows("a", "b", [[0.9]]), saturation=(0.2, 0.51)))
    assert (found.code, found.where) == ("flow-saturated", "texts, net")
    assert found.message == (
        "attention flow is all that the first layer lets through for 20%, 51% of the tokens (by seed): for those it "
        "is the first layer's attention again"
    )
    assert list(warnings(cell(rows("a", "b", [[0.9]]), saturation=(0.5, 0.2)))) == []


@pytest.mark.parametrize("against", [SEED, DRAW])
def test_methods_that_cannot_be_told_apart_are_named(against):
    pairs = [(0, 1), (0, 2), (1, 2)] if against == SEED else None
    selves = [one for name in "ab" for one in own(name, against, same(0.7), pairs)]
    (found,) = warnings(cell(rows("a", "b", same(0.7)), selves))
    assert found.code == "cannot-be-told-apart"
    assert found.message == (
        f"a, b agree with one another no less than the more stable of any two agrees with itself under {against}"
    )
    result = summarise([cell(rows("a", "b", same(0.7)), selves)])
    assert result.tables["groups"].to_dict(orient="records") == [
        {"methods": "a, b", "dataset": "texts", "model": "net", "variant": "corrected"}
    ]


def test_what_has_no_answer():
    empty = [*rows("a", "b", [[np.nan] * 2], **{SIGNS: 0.1}), *rows("b", "c", [[0.9, 0.8]], **{SIGNS: 0.1})]
    some = cell(empty, refused={"deep-lift": "It needs other layers."}, without_sign=("c", "b", "z"))
    assert [(one.quantity, one.where, one.reason) for one in abstentions(some)] == [
        ("deep-lift", "texts, net", "It needs other layers"),
        ("agreement of signs", "texts, net", "b, c have no sign"),
        (TAU, "texts, net, a and b", "it is undefined for every instance"),
        (TAU, "texts, net, a and c", "it is undefined for every instance"),
        (SIGNS, "texts, net, a and c", "it is undefined for every instance"),
    ]
