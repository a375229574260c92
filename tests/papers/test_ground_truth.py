import csv
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import trueness as tn
from tests.command import trueness
from tests.data.test_planting import dataset as texts
from trueness.data.dataset import with_splits
from trueness.errors import UserError
from trueness.kinds.text.data.planting import plant
from trueness.kinds.text.models.families import train
from trueness.models.recipes import RECIPES
from trueness.papers.ground_truth.figures import _best, figures
from trueness.protocols.ground_truth.summary import PLANTED
from trueness.report.figure import in_order
from trueness.studies import KINDS

WORDS = ["film", "good", "bad", "plot", "scene", "dull"]


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A file of texts whose labels cannot be guessed from them."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("dry") / "mine.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([" ".join(rng.choice(WORDS, rng.integers(4, 8))), row % 2] for row in range(300))
    return path


SETTINGS = {
    "plantings": ["token-with-decoy", "suppressor"],
    "models": "average-additive",
    "seeds": 3,
    "shape": {"hidden": 8, "embedding": 8},
    "explainers": ["attention", "integrated-gradients", "deep-lift", "random"],
    "instances": 30,
    "rationales": ["hardkuma"],
    "selections": {"token-with-decoy": [0.2]},
    "rationale_recipe": "dry-run",
    "together": 2,
}


@pytest.fixture(scope="session")
def dry_run(table, tmp_path_factory):
    return tn.dry_run(table, store=tmp_path_factory.mktemp("dry") / "store", workers=2, **SETTINGS)


def test_explainers_are_ranked_by_what_they_find(dry_run):
    ranking = dry_run.result.tables["ranking"]
    here = ranking[(ranking["dataset"] == "mine.csv with token-with-decoy") & (ranking["model"] == "average-additive")]
    assert here["method"].iloc[0] in ("integrated-gradients", "deep-lift")
    assert abs(here.set_index("method").loc["random", "AUROC"] - 0.5) < 0.25, "30 short texts"
    assert here["rank"].is_monotonic_increasing
    assert here["rank"].iloc[0] == 1
    for rank, group in here.groupby("rank"):
        assert group["AUROC"].is_monotonic_decreasing
        assert group["tie"].all() == (len(group) > 1)
        assert rank == 1 + (here["rank"] < rank).sum()
    assert here["AUROC"].iloc[0] > 0.65
    records = dry_run.to_pandas()
    some = records[(records["method"] == "attention") & (records["dataset"] == "mine.csv with token-with-decoy")]
    by_seed = some.groupby("seed")["attribution share"].mean()
    (score,) = [
        score
        for score in dry_run.scores
        if (score.quantity, score.method, score.dataset)
        == ("attribution share", "attention", "mine.csv with token-with-decoy")
    ]
    assert score.value == pytest.approx(by_seed.mean(), abs=1e-6)
    assert score.null == pytest.approx(some["evidence size"].mean(), abs=0.01)
    assert (score.n, score.best) == (3, 1.0)


def test_usage_is_verified_and_a_blind_model_is_left_out(dry_run):
    used = dry_run.result.tables["usage"]
    used = used[used["model"] == "average-additive"]
    seen = used[used["dataset"] == "mine.csv with token-with-decoy"]
    assert seen["proven"].all()
    assert (seen["n"] == 45).all(), "the whole test split"
    # An average hardly tells which of two words turns the other: where it stays near chance, it is not explained.
    turned = used[used["dataset"] == "mine.csv with suppressor"]
    blind = turned[~turned["proven"]]
    assert len(blind) >= 2
    assert (blind["accuracy"] < seen["accuracy"].min()).all()
    (item,) = [
        item for item in dry_run.result.abstentions if item.where == "mine.csv with suppressor, average-additive"
    ]
    assert f"{len(blind)} of 3 models need not have used the evidence" in item.reason
    records = dry_run.to_pandas()
    explained = records[(records["dataset"] == "mine.csv with suppressor") & (records["model"] == "average-additive")]
    assert set(explained["seed"]) == set(turned["seed"]) - set(blind["seed"])


@pytest.mark.parametrize("name", ["articles", "articles-cn", "articles-nc"])
def test_the_attention_model_of_the_paper_learns_it(name):
    data = with_splits(plant(texts(1500), name))
    how = replace(RECIPES["zhou2022"], batch_size=32, learning_rate=0.005, stop_at=0.99, frozen=())
    model = train("bilstm-additive", data, recipe=how, hidden=8, embedding=8)
    assert tn.evaluate(model, data, "test")["accuracy"] > 0.97


def test_evidence_that_no_model_could_see_is_refused(table, tmp_path):
    """Word vectors that are not trained must have the planted words, or all of them look alike."""
    vectors = tmp_path / "mine.npz"
    np.savez(vectors, words="\n".join([*WORDS, "zeroa"]), vectors=np.ones((7, 4), dtype=np.float32))
    how = {"plantings": "token", "models": "average-additive", "vectors": str(vectors), "workers": 1}
    with pytest.raises(tn.UserError, match=r"mine\.npz have none for the planted word 'onea'"):
        tn.dry_run(table, store=tmp_path / "store", recipe="zhou2022", **how)


def test_selections_have_precision_and_recall(dry_run):
    records = dry_run.to_pandas()
    chosen = records[records["method"] == "rationale"]
    assert set(chosen["model"]) == {"rationale-hardkuma, 0.2"}
    scores = {score.quantity: score for score in dry_run.scores if score.method == "rationale"}
    found = []
    for _, some in chosen.groupby("seed"):
        words, share = some["words"], some["evidence size"]
        both = (some["recall"] * share * words).sum()
        found.append((both / (some["selected"] * words).sum(), both / (share * words).sum()))
        assert (some["attribution share"] * some["selected"] * words).sum() == pytest.approx(both, abs=1e-3)
    assert scores["precision of the selection"].value == pytest.approx(np.mean([one for one, _ in found]), abs=1e-5)
    assert scores["recall of the selection"].value == pytest.approx(np.mean([one for _, one in found]), abs=1e-5)
    assert scores["recall of the selection"].null == pytest.approx(scores["selected words"].value, abs=1e-6)
    assert scores["precision of the selection"].value <= scores["precision of the selection"].best + 1e-6
    assert records.loc[records["method"] != "rationale", "recall"].isna().all()
    possible = scores["selected evidence, of the possible"]
    size, rate = scores["precision of the selection"].null, scores["selected words"].value
    assert (possible.null, possible.best) == (pytest.approx(max(size, rate), abs=1e-6), 1.0)


def test_rationale_models_need_no_others(table, dry_run, tmp_path):
    settings = {**SETTINGS, "models": [], "plantings": "token-with-decoy"}
    alone = tn.dry_run(table, store=dry_run.stored.store.path, workers=1, **settings)
    assert {score.method for score in alone.scores} == {"the model", "rationale"}
    page, *_ = alone.report(tmp_path / "alone.html")
    assert "precision of the selection" in page.read_text().lower()
    with pytest.raises(UserError, match="neither models nor rationale models"):
        tn.dry_run(table, store=tmp_path / "store", **{**settings, "plantings": "suppressor"})


def test_best_selections_by_hand():
    records = pd.DataFrame(
        {"method": "rationale", "instance": [0, 1], "words": [10, 20], "evidence size": [0.4, 0.05], "seed": 0}
    )
    best = {(row["held"], row["measure"], row["selected"]): row["best"] for row in _best("d", records)}
    # 5 pieces of evidence in 30 words. A tenth of them: 3 words, of which each can be evidence; text by text 1 of the
    # first and 2 of the second, where there is only 1.
    assert best["for the split", "precision", 0.1] == pytest.approx(1)
    assert best["for the split", "recall", 0.1] == pytest.approx(3 / 5)
    assert best["text by text", "precision", 0.1] == pytest.approx(2 / 3)
    assert best["text by text", "recall", 0.1] == pytest.approx(2 / 5)
    assert best["for the split", "precision", 0.2] == pytest.approx(5 / 6)
    assert best["text by text", "recall", 0.25] == pytest.approx(3.5 / 5)


def test_every_word_of_a_text_has_its_bar(dry_run):
    (figure,) = [figure for figure in figures(dry_run.result) if figure.name == "words"]
    table = pd.DataFrame(figure.spec["data"]["values"])
    some = table[table["explainer"] == "attention"]
    assert some.groupby("text")["share"].sum().to_numpy() == pytest.approx(1)
    assert set(some["word is"]) == {"planted evidence", "a decoy", "another word"}
    strips = dry_run.result.tables["strips"]
    first = strips[strips["method"] == "attention"].iloc[0]
    here = some[some["text"] == in_order(some, "text")[0]]
    assert list(here["word"]) == list(first["words"])
    assert not table["text"].str.contains("rationale").any()


def test_it_concludes_and_reports(dry_run, tmp_path):
    assert {claim.claim.split(",")[0] for claim in dry_run.claims} >= {
        "Attention gives the evidence less than half of its weight"
    }
    page, *figures = dry_run.report(tmp_path / "dry.html")
    html = page.read_text()
    strips = dry_run.result.tables["strips"]
    one = strips[(strips["method"] == PLANTED) & (strips["model"] == "average-additive")].iloc[0]
    assert len(one["words"]) == len(one["scores"])
    shown = {word: score for word, score in zip(one["words"], one["scores"], strict=True) if score}
    assert {word[-1]: score for word, score in shown.items()} == {"a": 1.0, "b": -1.0}, "marker and decoy"
    assert "onea" in html or "zeroa" in html
    for text in (
        "Which explainers find the evidence",
        "Table 1",
        "Did the models have to use it?",
        "leave",
        "mine.csv",
    ):
        assert text in html
    assert len(figures) == 2 * 3
    assert PLANTED in json.loads(re.search('id="instances-data">(.*?)</script>', html)[1])["methods"]
    assert "Rationales select decoys" in html


def test_one_command_ranks_and_reports(table, dry_run, tmp_path):
    given = {"plantings": "token-with-decoy,suppressor", "models": "average-additive", "seeds": 3, "shape.hidden": 8}
    given |= {"shape.embedding": 8, "explainers": "attention,integrated-gradients,deep-lift,random", "instances": 30}
    given |= {"rationales": '["hardkuma"]', "selections.token-with-decoy": "[0.2]", "rationale_recipe": "dry-run"}
    settings = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
    out = tmp_path / "dry.html"
    done = trueness("dry-run", table, "--store", dry_run.stored.store.path, "--out", out, *settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Report: {out}"
    assert "integrated-gradients" in done.stdout
    assert out.is_file()
    refused = trueness("dry-run", tmp_path / "none.csv", "--store", tmp_path / "s")
    assert refused.returncode == 2
    assert "none.csv" in refused.stderr


def test_published_values_name_scores_that_the_study_makes(dry_run):
    """A misspelt quantity or method in the published table would silently compare nothing."""
    made = {(score.quantity, score.method) for score in dry_run.scores}
    study = tn.load_study("ground-truth-text")
    places = {f"{name} with {planting}" for name in study.datasets for planting in study.plantings}
    for quantity, dataset, model, method in KINDS["ground-truth"].published():
        assert (quantity, method) in made
        assert dataset in places
        assert model in study.models
