"""The audit of a classifier of rows of numbers: the plan of all kinds, on features."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import trueness as tn
from trueness.audits.trials import ON_COMPANION, PLANTED, REMOVAL
from trueness.kinds.vector.audit import PLANTER, edit
from trueness.kinds.vector.vectors import VectorDataset, Vectors

SIZES = {
    **{"examples": 60, "repeat_examples": 40, "edit_examples": 40, "alone_examples": 16, "shuffled_examples": 40},
    **{"shuffles": 4, "layerwise_examples": 4, "noise_draws": 0, "hidden_shares": [0.2, 0.5], "searched_examples": 2},
    **{"training_examples": 600, "planted_models": 3, "planted_examples": 40, "companion_examples": 40},
    **{"relative_examples": 40, "shown_examples": 2, "epochs": 20},
}
NAMES = ["input-x-gradient", "leave-one-out"]


def table(number, seed=0):
    """Eight columns, of which two decide."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(number, 8))
    data = pd.DataFrame(rows, columns=[f"column {letter}" for letter in "abcdefgh"])
    return data.assign(outcome=np.where(2 * rows[:, 0] - rows[:, 3] > 0, "good", "bad"))


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    table(600).to_csv(folder / "rows.csv", index=False)
    tn.train("mlp", str(folder / "rows.csv"), columns={"label_column": "outcome"}).save(folder / "model")
    how = {"columns": {"label_column": "outcome"}, "explainers": NAMES, "store": folder / "store", **SIZES}
    with ThreadPoolExecutor(1) as pool:
        return folder, how, tn.audit(folder / "model", folder / "rows.csv", executor=pool, **how)


def test_rows_are_audited_as_texts_and_images_are(audited):
    _, _, found = audited
    assert (found.kind, found.size, found.words.units) == ("vector", 60, "features")
    assert found.accuracy > 0.9
    assert {one.explainer for one in found.explainers if one.foil} == {"random"}
    assert all(one.decision != "may be shown" for one in found.explainers if one.foil)
    own = found["leave-one-out"]
    assert own.trial(PLANTED).checks[0].name == "planted features"
    assert own.trial(PLANTED).checks[0].value > 0.9
    assert ON_COMPANION in [one.name for one in own.trial(REMOVAL).checks]
    assert min(one.value for one in own.trial("repeats itself").checks) > 0.95
    assert "column a = " in found.examples[0].units[0]


def test_its_page_has_no_word_of_texts(audited, tmp_path):
    _, _, found = audited
    page = found.report(tmp_path / "audit.html").read_text()
    seen = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert not re.search(r"\b(texts?|words?|images?|squares?)\b", seen)
    assert "60 rows" in seen


def test_rows_in_memory_and_a_budget(audited, tmp_path):
    folder, how, _ = audited
    heard = []
    small = {"columns": how["columns"], "explainers": NAMES, "store": tmp_path / "store", "train_models": False}
    with ThreadPoolExecutor(1) as pool:
        found = tn.audit(
            folder / "model",
            table(80, 1),
            budget="2m",
            planned=heard.append,
            executor=pool,
            **small,
            hidden_shares=[0.2],
        )
    assert found.size == 80
    assert heard[0].words.examples == "rows"
    assert heard[0].seconds < 120


def test_planted_evidence_is_in_one_feature_and_does_not_stand_out():
    rng = np.random.default_rng(0)
    rows = Vectors(rng.normal(size=(400, 5)), np.zeros(400, dtype=np.int64))
    made = PLANTER.plant(None, VectorDataset("rows", ("a", "b"), {"all": rows}), 1)
    every = Vectors.joined(list(made.dataset.splits.values()))
    evidence, decoys = PLANTER.where(None, every, made.about)
    (column,) = np.flatnonzero(evidence.all(axis=0))
    (other,) = np.flatnonzero(decoys.all(axis=0))
    middle = np.median(rows.features[:, column])
    assert ((every.features[:, column] > middle) == (every.labels == 1)).mean() > 0.99
    assert abs(np.corrcoef(every.features[:, other], every.labels)[0, 1]) < 0.15
    assert np.isin(every.features[:, column], rows.features[:, column]).all()


def test_the_edit_is_small_and_changes_every_number():
    rows = Vectors(np.array([[1.0, -2.0], [3.0, 4.0]]), np.zeros(2, dtype=np.int64))
    changed, kept = edit(rows)
    assert np.allclose(changed.features, rows.features, rtol=1e-5)
    assert (changed.features != rows.features).all()
    assert min(kept) >= 2


def test_a_dry_run_plants_a_feature(tmp_path):
    table(300).to_csv(tmp_path / "rows.csv", index=False)
    how = {"columns": {"label_column": "outcome"}, "models": "logistic-regression", "seeds": 2}
    with ThreadPoolExecutor(1) as pool:
        found = tn.dry_run(
            tmp_path / "rows.csv", explainers=[*NAMES, "random"], store=tmp_path / "runs", executor=pool, **how
        )
    measured = {score.method: score.value for score in found.scores if score.quantity == "AUROC"}
    assert measured["leave-one-out"] > 0.8 > 0.7 > measured["random"]
    assert tn.open_run("dry-run", store=tmp_path / "runs").scores == found.scores
