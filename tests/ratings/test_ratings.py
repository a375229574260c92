"""Ratings: balanced and blind questions, answers that are never lost, and raters of known taste recovered."""

import json
import math
import random
from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from tests.browser.stores import METHODS, strips
from tests.browser.test_instances import result
from trueness.errors import UserError
from trueness.ratings.analysis import CAVEAT, _share, analyse, overlap
from trueness.ratings.design import FOILS, NONE, RANDOM, STRENGTHS, make_design
from trueness.ratings.page import plausibility_page
from trueness.ratings.session import Answer, AnswerError, Session, new_rater, open_session, read_answers
from trueness.report.instances import Instance, Instances, instances_of


@pytest.fixture(scope="module")
def instances():
    return instances_of(result(strips(120)))


def design_of(instances, mode="pairwise", items=60, seed=0, methods=()):
    return make_design(instances, mode=mode, result="0" * 40, items=items, seed=seed, secret="s", methods=methods)


def told(session, rater, choose):
    """Answer everything; `choose` sees a question and gives the answer."""
    asked = []
    while (now := session.next(rater))["item"] is not None:
        asked.append(now["item"])
        session.answer(rater, now["item"]["id"], choose(now["item"]))
    return asked


def test_all_pairs_and_sides_are_balanced(instances):
    pairs = math.comb(len(METHODS) + 2, 2)
    design = design_of(instances, items=2 * pairs)
    first = [item for item in design.items if not item.repeated]
    assert set(Counter(tuple(sorted(item.shown)) for item in first).values()) == {2}
    left = Counter(item.shown[0] for item in first)
    assert set(left.values()) == {len(METHODS) + 1}, "each stands on the left as often as on the right"
    assert sum(item.repeated for item in design.items) == round(0.15 * 2 * pairs)
    assert {item.shown[0] for item in design_of(instances, "simulation", 120).items} == {*METHODS, *FOILS, NONE}


def test_every_explanation_of_a_text_looks_alike(instances):
    for item in design_of(instances, items=200).items:
        assert [len(marks) for marks in item.marks] == [len(item.words)] * 2
        assert len({tuple(sorted(marks)) for marks in item.marks}) == 1
        assert set("".join(item.marks)) <= set(STRENGTHS)


def test_a_classifier_of_pages_cannot_tell_the_method(instances, tmp_path):
    """From size, names, sides, strengths and where marks stand: is the left one of a pair `attention`?"""
    session = Session(tmp_path, design_of(instances, items=1200))
    features, truth = [], []
    rater = new_rater()
    names = {session._name(rater, number): number for number in range(len(session.design.items))}
    while (now := session.next(rater))["item"] is not None:
        item = now["item"]
        text = json.dumps(now)
        shown = session.design.items[names[item["id"]]].shown
        swapped = session._swapped(rater, names[item["id"]])
        left = shown[1] if swapped else shown[0]
        if "attention" in shown:
            levels = [Counter(marks) for marks in item["marks"]]
            places = [[place for place, mark in enumerate(marks) if mark != "0"] for marks in item["marks"]]
            features.append(
                [
                    *(len(text), len(item["marks"][0]) - len(item["marks"][1]), int(item["id"][:4], 16) / 2**16),
                    *(levels[0][letter] - levels[1][letter] for letter in STRENGTHS),
                    *(np.mean(some) / len(item["words"]) for some in places),
                ]
            )
            truth.append(left == "attention")
            assert "attention" not in text
            assert not any(name in text for name in (*METHODS, *FOILS) if name != "random")
        session._answers.append(Answer(rater, names[item["id"]], None))
    features, truth = np.array(features), np.array(truth)
    half = len(truth) // 2
    scale = features.std(axis=0) + 1e-9
    model = LogisticRegression(C=0.1).fit(features[:half] / scale, truth[:half])
    area = roc_auc_score(truth[half:], model.predict_proba(features[half:] / scale)[:, 1])
    assert half > 150
    assert abs(area - 0.5) < 0.12, "two and a half standard errors"


def test_answers_are_kept_and_a_rating_goes_on(instances, tmp_path):
    how = {"result": "0" * 40, "mode": "pairwise", "items": 10, "seed": 0}
    session = open_session(tmp_path, instances, **how)
    rater = new_rater()
    for _ in range(4):
        session.answer(rater, session.next(rater)["item"]["id"], "left")
    before = session.next(rater)
    again = open_session(tmp_path, instances, **{**how, "items": 99})
    assert again.next(rater) == before
    assert (again.next(new_rater())["total"], before["done"]) == (before["total"], 4)
    with (session.folder / "answers.jsonl").open("ab") as file:
        file.write(b'\n{"rater": "' + rater.encode()[:7])  # cut short
    after = open_session(tmp_path, instances, **how)
    after.answer(rater, after.next(rater)["item"]["id"], "neither")
    assert len(read_answers(session.folder, session.design)) == 5
    lines = (session.folder / "answers.jsonl").read_text()
    assert not {"name", "host", "address"} & set(json.loads(lines.split("\n")[1]))


@pytest.mark.parametrize("given", ["both", None, 3, [], {"a": 1}, "LEFT"])
def test_only_answers_are_taken(instances, tmp_path, given):
    session = Session(tmp_path, design_of(instances, items=5))
    rater = new_rater()
    item = session.next(rater)["item"]
    for name in (item["id"], "0" * 24, None):
        with pytest.raises(AnswerError):
            session.answer(rater, name, given)
    session.answer(rater, item["id"], "right")
    with pytest.raises(AnswerError, match="before"):
        session.answer(rater, item["id"], "right")
    with pytest.raises(AnswerError, match="no such question"):
        session.answer(new_rater(), item["id"], "right")


def test_sides_are_exchanged_and_answers_mean_the_same(instances, tmp_path):
    session = Session(tmp_path, design_of(instances, items=60))
    for rater in (new_rater(), new_rater()):
        told(session, rater, lambda item: "left" if item["marks"][0] > item["marks"][1] else "right")
    said = {}
    for one in session.answers:
        item = session.design.items[one.item]
        right = item.shown[item.marks[1] >= item.marks[0]]
        assert item.marks[0] == item.marks[1] or one.answer == right
        said.setdefault(one.rater, []).append(one.answer == item.shown[0])
    assert said


def test_simulated_raters_are_recovered_within_the_interval(instances):
    """Raters of known taste: how often does the interval hold the truth?"""
    truth = {"attention": 1.2, "lime": 0.6, "integrated-gradients": 0.0, "leave-one-out": -0.4, "random": 0.3}
    truth |= {RANDOM: -0.8, FOILS[1]: -0.6}
    design = design_of(instances, items=84)
    held = []
    for repeat in range(40):
        draw = random.Random(repeat)
        answers = []
        for rater in range(4):
            for number, item in enumerate(design.items):
                left, right = item.shown
                chance = 1 / (1 + math.exp(truth[right] - truth[left]))
                answers.append(Answer(f"{rater:016x}", number, left if draw.random() < chance else right))
        found = analyse(design, answers, instances)
        for one in found.methods:
            if one.method != RANDOM:
                real = truth[one.method] - truth[RANDOM]
                held.append(one.plausibility.low <= real <= one.plausibility.high)
    assert found.methods[0].method == "attention"
    assert 0.91 <= np.mean(held) <= 0.99
    assert found.discrimination.low > 0.5
    # Two raters of this taste agree by p² + (1 - p)², two who toss a coin by one half.
    pairs = [(1 / (1 + math.exp(truth[b] - truth[a]))) for a, b in (item.shown for item in design.items)]
    expected = np.mean([p * p + (1 - p) ** 2 for p in pairs])
    assert found.agreement.value == pytest.approx((expected - 0.5) / 0.5, abs=0.15)
    assert found.consistency.n == 4 * sum(item.repeated for item in design.items)


def test_forward_simulation_counts_what_was_foretold(instances, tmp_path):
    session = Session(tmp_path, design_of(instances, "simulation", 64))
    design = session.design
    right = {json.dumps(item.words): design.classes.index(item.predicted) for item in design.items}
    for rater in (new_rater(), new_rater()):
        asked = told(
            session, rater, lambda item: right[json.dumps(item["words"])] if set(item["marks"][0]) != {"0"} else 0
        )
        assert all(item["predicted"] == "" for item in asked)
    found = {one.method: one for one in analyse(design, session.answers, instances).methods}
    assert found["lime"].plausibility.value == 1
    assert found[NONE].plausibility.value < 1
    assert found[NONE].foil


def test_highlights_overlap_with_the_method_that_finds_them():
    draw = random.Random(0)
    texts = []
    for number in range(30):
        words = [f"w{place}" for place in range(20)]
        human = set(draw.sample(range(20), 4))
        scores = {
            "right": [float(place in human) for place in range(20)],
            "opposite": [float(place not in human) for place in range(20)],
            "blind": [draw.random() for _ in range(20)],
        }
        texts.append((Instance({}, number, words, scores, "yes"), human))
    instances = Instances([one for one, _ in texts])
    found = overlap([(place, human) for place, (_, human) in enumerate(texts)], instances)
    assert found["right"].value == pytest.approx(0.8)
    assert found["opposite"].value == pytest.approx(-0.2)
    assert found["blind"].low < 0 < found["blind"].high
    assert overlap([(0, [])], instances)["right"].value is None


def test_the_outcome_is_called_plausibility_and_stands_beside_faithfulness(instances):
    from tests.audit.fixtures import example_audit

    design = design_of(instances, items=84, methods=["attention", "lime"])
    answers = [
        Answer(f"{rater:016x}", number, min(item.shown, key=lambda name: ["attention", "lime", *FOILS].index(name)))
        for rater in range(3)
        for number, item in enumerate(design.items)
    ]
    found = analyse(design, answers, instances, [example_audit()])
    by_name = {one.method: one for one in found.methods}
    assert by_name["attention"].verdict == "must not be shown"
    assert by_name["attention"].note == "people like it, and it must not be shown"
    page = plausibility_page(found, result="0" * 40, title="<b>mine</b>")
    assert CAVEAT in page
    assert "<h1>Plausibility: &lt;b&gt;mine" in page
    assert "faithfulness: the audit says" in page
    assert "people like it, and it must not be shown" in page
    assert json.loads(json.dumps(found.to_json()))["title"] == "Plausibility"
    nobody = analyse(design, [], instances)
    assert all(one.plausibility.value is None for one in nobody.methods)
    assert "could not be told" in plausibility_page(nobody, result="0" * 40, title="none")


def test_ratings_that_cannot_be_are_refused(instances, tmp_path):
    with pytest.raises(UserError, match="explains none of the texts"):
        design_of(instances, methods=["nobody"])
    with pytest.raises(UserError, match="needs two texts"):
        design_of(Instances([]))
    (tmp_path / "ratings" / "pairwise-000000000000-0").mkdir(parents=True)
    (tmp_path / "ratings" / "pairwise-000000000000-0" / "design.json").write_text("{}")
    with pytest.raises(UserError, match="not the design"):
        open_session(tmp_path, instances, result="0" * 40, mode="pairwise", items=3, seed=0)


def test_a_share_has_wilsons_interval():
    from scipy.stats import binomtest

    for chosen, number in ((0, 7), (3, 10), (40, 40)):
        found, known = _share(chosen, number), binomtest(chosen, number).proportion_ci(method="wilson")
        assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-12)
    assert _share(2.5, 5).value == 0.5
    assert _share(0, 0).reason == "nobody was asked"
