"""The ladder of known models: what is right and wrong on it, and the tables of what it tells."""

import numpy as np
import pandas as pd
import pytest
import torch

import trueness as tn
from trueness.audits.bench.corruptions import Effects, InvertedFor, Noise, OtherClass, TopLast
from trueness.audits.bench.metrics import METRICS
from trueness.audits.bench.summary import areas, exact, rates
from trueness.errors import UserError
from trueness.kinds import KINDS
from trueness.protocols.randomisation import explained

MODELS = [(kind, name) for kind in KINDS for name in KINDS[kind].known]


def asked(kind, name, *methods, examples=40):
    """A known model, its examples under its own classes, and (examples, units) what each method says of them."""
    known = KINDS[kind].known[name](np.random.default_rng(0), examples)
    split = known.model.coded(known.examples)
    labels = np.zeros(examples, dtype=np.int64)
    for rows, batch in split.in_order():
        labels[rows] = known.model.network(batch).logits.argmax(dim=1).numpy()
    split = known.model.coded(known.examples.labelled(labels))
    draws = known.draws or (lambda batch, seed: batch.generators(seed))
    made = [method(draws) for method in methods]
    return known, split, labels, [explained(known.model.network, split, one) for one in made]


@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_what_hiding_each_unit_does_adds_up_to_what_hiding_all_does(kind, name):
    """So the right explanation is known; "not" turns a word, whose effect then counts twice."""
    known, split, labels, ((scores, mask),) = asked(kind, name, lambda _: Effects())
    if "not" in name:
        return
    logits = torch.zeros(2, len(split), len(known.model.classes), dtype=torch.float64)
    for rows, batch in split.in_order():
        for place, some in enumerate((batch, batch.hide(batch.mask))):
            logits[place, rows] = known.model.network.logits(some).double().detach()
    if len(known.model.classes) == 2:
        odds = (logits - logits.flip(-1))[:, np.arange(len(labels)), labels].numpy()
        assert scores.sum(axis=1) == pytest.approx(odds[0] - odds[1], abs=1e-3)
    assert mask.any(axis=1).all()


def test_corruptions_change_what_their_names_say():
    right, wrong = Effects(), [0.3, 1.0]
    methods = [lambda draws, share=share: Noise(right, share, draws) for share in wrong]
    methods += [lambda _: right, lambda _: InvertedFor(right, 1), lambda _: TopLast(right), lambda _: OtherClass(right)]
    _, _, labels, found = asked("vector", "features add up", *methods, examples=400)
    some, every, kept, inverted, last, other = (scores for scores, _ in found)
    assert 0.2 < (some != kept).any(axis=1).mean() < 0.4
    assert (every != kept).any(axis=1).all()
    assert (inverted[labels == 1] == -kept[labels == 1]).all()
    assert (inverted[labels == 0] == kept[labels == 0]).all()
    assert (last.argmin(axis=1) == kept.argmax(axis=1)).all()
    assert other == pytest.approx(-kept, abs=1e-5)


def test_noise_is_the_same_in_other_company_and_after_the_harmless_edit():
    known, split, _, ((scores, _),) = asked("text", "words add up", lambda draws: Noise(Effects(), 1.0, draws))
    again, _ = explained(known.model.network, split.only([3, 7]), Noise(Effects(), 1.0, known.draws))
    assert again == pytest.approx(scores[[3, 7], : again.shape[1]])
    edited = known.model.coded(KINDS["text"].edit(known.examples)[0])
    after, _ = explained(known.model.network, edited, Noise(Effects(), 1.0, known.draws))
    assert after[:, 1:8] == pytest.approx(scores[:, 1:8])


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    (folder / "mine.py").write_text("def size(model, examples, scores):\n    return float(len(examples))\n")
    names = ["insertion (RISE)", "infidelity, scaled (Yeh et al.)", f"{folder / 'mine.py'}:size"]
    how = {"kinds": ["image"], "examples": 60, "audits": 20, "workers": 1}
    return folder, tn.bench_audit(names, out=folder / "out", **how)


def test_the_ladder_tells_right_from_wrong(bench):
    folder, found = bench
    rows = pd.read_csv(folder / "out" / "rows.csv")
    assert set(rows["model"]) == {"squares add up"}
    assert rows["seed"].nunique() == 2  # none is lost
    verdicts = rows.groupby("explanation")["verdict"].unique()
    assert set(verdicts["of another class"]) == set(verdicts["random"]) == {"must not be shown"}
    assert "must not be shown" not in verdicts["right"]
    assert not (rows[rows["truth"] == "wrong"]["verdict"] == "may be shown").any()
    every = found["areas"].query("against == 'all'").set_index("what")
    assert every.loc["on this model", "paired area"] > 0.95
    assert every.loc["insertion (RISE)", "paired area"] > 0.95
    assert every.loc[f"{folder / 'mine.py'}:size", "paired area"] == 0.5  # it says the same of all


def test_rates_have_exact_intervals():
    rows = pd.DataFrame(
        {"explanation": "right", "truth": "right", "decided by": "", "verdict": ["may be shown"] * 9 + ["cannot tell"]}
    )
    (row,) = rates(rows, ["explanation"]).to_dict("records")
    assert (row["may be shown"], row["cannot tell"], row["audits"]) == (0.9, 0.1, 10)
    assert (row["may be shown, low"], row["may be shown, high"]) == pytest.approx((0.55498, 0.99747), abs=1e-5)
    assert exact(0, 10)[1] == pytest.approx(1 - 0.025**0.1)


def test_an_area_is_the_share_of_pairs_that_are_ranked_rightly():
    cells = [("right", "right", [0.9, 0.5]), ("bad", "wrong", [0.2, 0.7]), ("worse", "wrong", [0.1, 0.5])]
    rows = [
        {"kind": "k", "model": "m", "seed": seed, "explanation": name, "truth": truth, "verdict": "cannot tell"}
        | {"on this model": value}
        for name, truth, values in cells
        for seed, value in enumerate(values)
    ]
    found = areas(pd.DataFrame(rows)).set_index(["what", "against"])
    assert found.loc[("on this model", "bad"), "paired area"] == 0.5
    assert found.loc[("on this model", "worse"), "paired area"] == 0.75  # a tie counts half
    assert found.loc[("on this model", "all"), "paired area"] == pytest.approx(0.625)
    assert found.loc[("on this model", "all"), "ROC area"] == pytest.approx(6.5 / 8)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_rank_the_right_explanation_above_its_opposite(name):
    if "Captum" in name:
        pytest.importorskip("captum")
    known, split, _, ((scores, mask),) = asked("vector", "features add up", lambda _: Effects())
    shown = np.where(mask, scores, np.nan)
    right, opposite = (METRICS[name](known.model, split, sign * shown) for sign in (1, -1))
    assert right > opposite


def test_a_metric_that_does_not_exist_is_refused_before_work(tmp_path):
    with pytest.raises(UserError, match="There is no metric 'insertoin"):
        tn.bench_audit("insertoin (RISE)", out=tmp_path / "out", audits=1)
    with pytest.raises(UserError, match="no kind of input named 'sound'"):
        tn.bench_audit([], out=tmp_path / "out", audits=1, kinds=["sound"])
    assert not (tmp_path / "out").exists()
