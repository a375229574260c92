"""The study of planted artefacts in images: the plan, one run, the summary by hand, and claims."""

import io
import tarfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import trueness as tn
from trueness.errors import UserError
from trueness.kinds.image.tasks import images_task
from trueness.papers.ground_truth_images.claims import claims
from trueness.papers.ground_truth_images.summary import cells_of, lowest
from trueness.papers.ground_truth_images.summary import summarise as summarise_cells
from trueness.studies import load_study


def test_the_plan_has_the_runs_of_the_four_questions():
    study = load_study("birds-images", {"datasets": "photo-crops"})
    plan = tn.plan("birds-images", store="none", datasets="photo-crops").to_json()
    scratch = 5 * len(study.seeds) + 5 * 5 * study.groups + 5 * 6 * (study.correlated + len(study.distinct))
    assert plan["total"] == scratch + 5 * study.pretrained_seeds + 2
    with pytest.raises(UserError, match="ask both"):
        load_study("birds-images", {"questions": ["accuracy"], "datasets": "photo-crops"})
    with pytest.raises(UserError, match="photo-crops"):
        load_study("ground-truth-images", {"datasets": "photo-crop"})


def summarise(records, runs):
    cells = list(cells_of(records, runs))
    return replace(summarise_cells(cells, records, runs, {}), claims=tuple(claims(cells)))


def made(shares, *, accuracy=0.99, question="region", artefact="watermark", **more):
    """Records and runs of one artefact: by method a list of shares (with the artefact, without it) of each run."""
    records, runs = [], []
    number = len(next(iter(shares.values())))
    for seed in range(number):
        about = {"question": question, "artefact": artefact, "seed": seed, "level": None, "kept": 0.5, "similar": True}
        about |= {name: values[seed] for name, values in more.items()}
        where = {"dataset": "birds", "model": "resnet-34", "pair": "a or b", **about}
        runs.append({**where, "accuracy": accuracy, "bound": 0.5, "proven": True, "epochs": 3, "region": 0.4})
        for method, values in shares.items():
            for label, share in zip((1, 0), values[seed], strict=True):
                records.append(
                    {
                        **where,
                        "method": method,
                        "label": label,
                        "attribution share": share,
                        "AUROC": 0.7,
                        "region": 0.4,
                        "test accuracy": accuracy,
                        "epoch": 3,
                        "last": True,
                    }
                )
    return pd.DataFrame(records), pd.DataFrame(runs)


def test_scores_are_means_over_near_perfect_runs():
    shares = {"gradient-shap": [(0.8, 0.6), (0.9, 0.7), (0.7, 0.5)], "gradient": [(0.5, 0.3), (0.6, 0.4), (0.4, 0.2)]}
    result = summarise(*made(shares))
    found = {(score.quantity, score.method): score for score in result.scores}
    assert found["attribution share", "gradient-shap"].value == pytest.approx(0.7)
    assert found["attribution share", "gradient-shap"].null == pytest.approx(0.4)
    assert found["attribution share, with the artefact", "gradient"].value == pytest.approx(0.5)
    assert found["runs above 95 % accuracy", "the model"].value == 1
    verdicts = {one.claim: one.verdict for one in result.claims}
    assert verdicts["SHAP has the largest attribution share of all saliency maps"] == "supported"
    assert verdicts["The presence of a watermark is better found than its absence"] == "supported"
    weak = summarise(*made(shares, accuracy=0.9))
    assert not [score for score in weak.scores if score.quantity == "attribution share"]
    assert "do not reach 95 %" in weak.abstentions[0].reason


def test_trends_are_rank_correlations_within_a_group():
    parts = []
    for level in range(1, 6):
        records, runs = made({"gradient-shap": [(0.1 * level,) * 2] * 3}, question="visibility", level=[level] * 3)
        parts.append((records, runs))
    result = summarise(*(pd.concat(some, ignore_index=True) for some in zip(*parts, strict=True)))
    (score,) = [one for one in result.scores if "visibility" in one.quantity]
    assert score.value == pytest.approx(1)
    assert score.n == 3
    verdicts = {one.claim: one.verdict for one in result.claims}
    assert verdicts["The attribution share of SHAP on the watermark rises with visibility"] == "supported"


@pytest.mark.parametrize(
    ("groups", "slope", "verdict"), [(3, 0.1, "not supported"), (3, -0.1, "supported"), (2, 0.1, "cannot tell")]
)
def test_that_others_follow_no_trend_needs_an_interval(groups, slope, verdict):
    """Too few groups do not tell that there is no trend."""
    parts = [
        made({"gradient": [(0.5 + slope * level,) * 2] * groups}, question="visibility", level=[level] * groups)
        for level in range(1, 6)
    ]
    result = summarise(*(pd.concat(some, ignore_index=True) for some in zip(*parts, strict=True)))
    (found,) = [one for one in result.claims if one.claim.startswith("No attribution share but")]
    assert found.verdict == verdict


def test_the_band_of_shapley_values_is_equation_three():
    """By the four accuracies of equations 1 and 2."""
    for p, r in ((1.0, 0.5), (1.0, 0.8), (0.97, 0.7)):
        region = 0.5 * (p - 0.5 + p - r)
        rest = 0.5 * (r - 0.5 + p - p)
        expected = region / (region + rest)
        assert lowest(pd.Series([r]), pd.Series([p])).iloc[0] == pytest.approx(expected)


@pytest.mark.parametrize("dataset", ["table.csv", "data", "data.tar"])
def test_other_pictures_make_another_task(tmp_path, dataset):
    picture = tmp_path / "data" / "a" / "0.png"
    keys = []
    for colour in (10, 10, 20):
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 20), (colour, 0, 0)).save(picture)
        (tmp_path / "table.csv").write_text("path,label\ndata/a/0.png,a\n")
        with tarfile.open(tmp_path / "data.tar", "w") as archive:
            member = tarfile.TarInfo("a/0.png")
            member.size = picture.stat().st_size
            archive.addfile(member, io.BytesIO(picture.read_bytes()))
        keys.append(images_task(str(tmp_path / dataset), 16).key)
    assert keys[0] == keys[1] != keys[2]


def test_a_run_plants_trains_and_explains(tmp_path):
    from trueness.engine import Store
    from trueness.kinds.image.data.manipulations import CentralBrightness, settings_of
    from trueness.papers.ground_truth_images import tasks

    store = Store.open(tmp_path / "store", create=True)
    rng = np.random.default_rng(0)
    splits = {}
    for name, size in (("train", 128), ("dev", 64), ("test", 64)):
        splits[f"{name}.pixels"] = rng.integers(190, 230, (size, 16, 16, 3), dtype=np.uint8)
        splits[f"{name}.labels"] = rng.integers(0, 2, size)
    about = {"name": "made", "classes": ["a", "b"], "notes": []}
    key = "0" * 40
    store.commit(key, {"pixels": splits, "about": about}, {"task": "images/dataset"})
    found = tasks.run.function(
        {"images": store.get(key)},
        model="small-cnn",
        manipulation=settings_of(CentralBrightness(112, -0.5)),
        pair=None,
        kept=0.5,
        seed=0,
        recipe={"epochs": 12, "batch_size": 16, "learning_rate": 0.01, "stop": 0.97, "gain": 0.05},
        explainers=["gradient", "edges", "random"],
        watched=["gradient"],
        instances=8,
        examples=2,
        always=True,
    )
    assert found["facts"]["accuracy"] > 0.9
    assert found["facts"]["proven"]
    records = found["records"]
    assert set(records[records["last"]]["method"]) == {"gradient", "edges", "random"}
    assert len(records[~records["last"]]) > 0
    size = found["facts"]["region"]
    last = records[records["last"]].groupby("method")["attribution share"].mean()
    assert last["random"] == pytest.approx(size, abs=0.03)
    assert set(found["panels"]["picture"]) == {"image", "effective region", "gradient", "edges", "random"}
    assert found["panels"]["png"].str.startswith("data:image/png;base64,").all()
