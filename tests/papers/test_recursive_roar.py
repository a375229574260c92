import functools
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

import trueness as tn
from tests.inline import here
from tests.papers.conftest import rows_of
from tests.protocols.roar.by_hand import retraining
from trueness.errors import UserError
from trueness.kinds.text.data.datasets import load_text
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import train_many
from trueness.protocols.roar.hiding import Amount
from trueness.protocols.roar.step import everything, hide_next, nothing, retrain
from trueness.report.page import read_result
from trueness.studies import KINDS
from trueness.studies.loading import load_study

TOOLS = Path(__file__).parents[2] / "tools"
SEEDS, STEPS = [0, 1, 2], [0.3, 0.6]
SETTINGS = {
    "seeds": SEEDS,
    "vectors": "none",
    "recipe": "dry-run",
    "shape": {"hidden": 8, "embedding": 8},
    "explainers": ["attention", "input-x-gradient", "blurred[attention]"],
    "orders": ["recursive", "plain"],
    "steps": STEPS,
    "bounded": 4,
}


@pytest.fixture(scope="session")
def roar_run(folder, tmp_path_factory):
    store = tmp_path_factory.mktemp("roar") / "store"
    return tn.run("recursive-roar", store=store, executor=here(), datasets=str(folder), **SETTINGS)


def test_the_study_is_train_explain_mask_again(roar_run, folder):
    data = load_text(str(folder))
    trainer = functools.partial(train_many, "bilstm-additive", recipe="dry-run", **SETTINGS["shape"])
    how, method = retraining(trainer, data), TEXT_EXPLAINERS["input-x-gradient"]
    (whole,) = retrain(how, [1], [nothing], leak=False)
    (empty,) = retrain(how, [1], [everything], leak=False)
    now, curve = whole, [whole.measured["macro-f1"]]
    for amount in STEPS:
        mask = hide_next(now, method, [Amount(amount)], target="gold", signed=False)[0]
        (now,) = retrain(how, [1], [lambda name, split, mask=mask: mask[name]], leak=True)
        curve.append(now.measured["macro-f1"])
    records = roar_run.to_pandas()
    mine = records[(records["method"] == "input-x-gradient") & (records["order"] == "recursive")]
    mine = mine[mine["seed"] == 1].sort_values("step")
    assert mine["performance"].tolist() == pytest.approx(curve[1:])
    assert mine["mask-only"].iloc[-1] == pytest.approx(now.measured["mask-only"])
    ends = records[records["seed"] == 1].set_index("method")["performance"]
    assert ends["nothing hidden"] == pytest.approx(curve[0])
    assert ends["all hidden"] == pytest.approx(empty.measured["macro-f1"])
    # Plain ROAR explains the first model only; its first step is Recursive ROAR's.
    masks = hide_next(whole, method, [Amount(each) for each in STEPS], target="gold", signed=False)
    (plain,) = retrain(how, [1], [lambda name, split: masks[1][name]], leak=False)
    other = records[(records["method"] == "input-x-gradient") & (records["order"] == "plain")]
    other = other[other["seed"] == 1].sort_values("step")["performance"].tolist()
    assert other == pytest.approx([curve[1], plain.measured["macro-f1"]])


def test_scores_warnings_and_claims(roar_run):
    quantities = {score.quantity for score in roar_run.scores}
    silent = {item.quantity for item in roar_run.result.abstentions if "random masks cost less" in item.reason}
    if "faithfulness (masked training)" in silent:  # so small a model may learn nothing under masks
        silent.add("agreement of rankings (Kendall tau)")
    assert quantities | silent == {
        "performance (macro-f1)",
        "faithfulness",
        "faithfulness, as published",
        "faithfulness (plain ROAR)",
        "faithfulness (masked training)",
        "mask-only accuracy above chance",
        "agreement of rankings (Kendall tau)",
        "unusual texts (masked training)",
        "comprehensiveness, normalised",
        "sufficiency, normalised",
    }
    assert {score.n for score in roar_run.scores if score.method == "the model"} == {3}
    assert not quantities & silent
    left_out = any(item.quantity == "faithfulness" for item in roar_run.result.abstentions)
    assert left_out == (min(score.n for score in roar_run.scores) < 3)
    codes = {warning.code for warning in roar_run.result.warnings}
    assert "gold-label" in codes
    claims = {claim.claim for claim in roar_run.claims}
    assert "Attention is more faithful than random" in claims
    assert "Attention is mostly the sparsest explanation" in claims


def test_the_first_step_of_both_orders_is_one_training(roar_run):
    store = roar_run.stored.store
    tasks = [store.get(key).meta["task"] for key in store.keys()]  # noqa: SIM118  # a store is no mapping
    # Two recursive steps of 3 methods; one more plain step of each, and two of random, are 15 models: one task.
    assert tasks.count("roar/retrained") == 2 + 1
    assert tasks.count("roar/hidden") == 4
    assert tasks.count("roar/all-hidden") == 1


def test_sparsity_and_costs_are_kept(roar_run):
    sparsity = roar_run.result.tables["sparsity"]
    whole = sparsity[(sparsity["unit"] == "tokens") & (sparsity["amount"] == 10)]
    assert whole["mean"].to_numpy() == pytest.approx(1), "no text has more than ten words"
    growing = sparsity[(sparsity["unit"] == "share") & (sparsity["method"] == "attention")]["mean"]
    assert growing.is_monotonic_increasing
    costs = roar_run.result.tables["costs"]
    assert (costs["seconds"] >= 0).all()
    store, first = roar_run.stored.store, costs[(costs["order"] == "recursive") & (costs["step"] == 1)]
    together = [store.get(key).meta for key in store.keys()]  # noqa: SIM118  # a store is no mapping
    (meta,) = [meta for meta in together if meta["parameters"].get("at") == [0, 0, 0]]
    assert first["seconds"].sum() == pytest.approx(meta["seconds"]), "methods that were one task share its seconds"
    more = first["seconds"].to_numpy() - [meta["parts"][str(int(part))] for part in first["part"]]
    assert np.ptp(more) == pytest.approx(0, abs=1e-9), "beside its own each has an equal share"
    assert np.ptp(first["seconds"]) > 0
    assert set(costs["method"]) == {
        *SETTINGS["explainers"],
        *("random", "nothing hidden", "all hidden", "all methods"),
    }


def test_results_of_before_tasks_had_parts_are_read(roar_run, monkeypatch):
    meta = roar_run.stored.meta
    for place in meta["parameters"]["at"]:
        del place["part"]
    monkeypatch.setattr(type(roar_run.stored), "meta", meta)
    assert len(read_result(roar_run.study, roar_run.stored).tables["costs"]) == len(meta["parameters"]["at"])


def test_what_was_measured_can_be_kept_without_masks_and_models(roar_run, folder, tmp_path):
    tool, archive, store = TOOLS / "keep_facts.py", tmp_path / "facts.tar.xz", tmp_path / "store"
    subprocess.run([sys.executable, tool, archive, roar_run.stored.store.path], check=True, capture_output=True)
    with tarfile.open(archive) as tar:
        tar.extractall(store, filter="data")
    again = tn.run("recursive-roar", store=store, workers=1, datasets=str(folder), **SETTINGS)
    assert again.summary.computed == 1, "the summary"
    assert again.scores == roar_run.scores
    assert not list(store.rglob("*.npz")) + list(store.rglob("*.safetensors"))


def test_a_plan_is_replayed_in_the_middle_of_a_run(roar_run, folder):
    shape = {f"shape.{name}": value for name, value in SETTINGS["shape"].items()}
    given = {**SETTINGS, **shape, "datasets": str(folder)}
    settings = [f"{name}={json.dumps(value)}" for name, value in given.items() if name != "shape"]
    command = [sys.executable, TOOLS / "replay_plan.py", roar_run.stored.store.path, "1", "recursive-roar", *settings]
    rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[2:]
    tasks = len(list(roar_run.stored.store.keys()))
    assert rows[0].startswith(f"| {tasks // 2 + 1} of {tasks} |")
    left = [float(row.split("|")[3]) for row in rows]
    assert left == sorted(left, reverse=True)


def test_the_report_has_the_papers_figures_and_tables(roar_run, tmp_path):
    page, *figures = roar_run.report(tmp_path / "roar.html")
    assert len(figures) == 2 * 4
    html = page.read_text()
    for text in ("Figure 4", "Figure 5", "Figure 6", "Figures 8 and 9", "Table 2", "Table 7", "cheap companion"):
        assert text in html
    compared = roar_run.compare()
    assert compared["agreement"]["compared"] == 0, "nothing was published of this dataset"


@pytest.mark.parametrize(("together", "seeds", "trained"), [(1, [1], 3 * 2 + 2), (4, [1, 2], 2 * 2 + 1)])
def test_what_is_trained_together_changes_nothing(together, seeds, trained, roar_run, folder, tmp_path):
    settings = {**SETTINGS, "seeds": seeds, "explainers": ["attention", "input-x-gradient", "gradient"]}
    settings |= {"datasets": str(folder), "together": together, "orders": ["recursive"], "companion": False}
    other = tn.run("recursive-roar", store=tmp_path / "store", workers=2, **settings)
    store = other.stored.store
    tasks = [store.get(key).meta["task"] for key in store.keys()]  # noqa: SIM118  # a store is no mapping
    assert tasks.count("roar/retrained") == trained
    for method, order in (("attention", "recursive"), ("input-x-gradient", "recursive"), ("random", "plain")):
        here, there = (
            some[(some["seed"] == 1) & (some["order"] == order) & (some["method"] == method)].set_index("step")
            for some in (other.to_pandas(), roar_run.to_pandas())
        )
        assert here[["performance", "mask-only"]].to_dict() == there[["performance", "mask-only"]].to_dict()


def test_transformers_pairs_refusals_and_tokens(pretrained, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "pair"
    path.mkdir()
    for split, size in (("train", 32), ("dev", 12), ("test", 12)):
        (path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows_of(rng, size, pairs=True))))
    settings = {**SETTINGS, "seeds": 2, "unit": "tokens", "steps": [1, 2], "orders": "recursive"}
    settings |= {"explainers": ["attention-rollout", "gradient"], "recipe": "madsen2022-pair"}
    run = tn.run(
        "recursive-roar",
        store=tmp_path / "store",
        workers=2,
        datasets=str(path),
        models=["transformer", "average-additive"],
        pretrained=str(pretrained),
        **settings,
    )
    records = run.to_pandas()
    assert set(records["model"]) == {"transformer", "average-additive"}
    refused = {(item.quantity, item.where) for item in run.result.abstentions}
    assert refused == {("attention-rollout", "pair, average-additive"), ("faithfulness", "all datasets")}
    hidden = records[(records["model"] == "transformer") & (records["method"] == "gradient")]
    hidden = hidden[hidden["order"] == "recursive"]
    assert hidden.groupby("step")["hidden"].mean().is_monotonic_increasing
    assert {"accuracy"} == set(run.result.tables["curves"]["metric"])
    (before,) = [item for item in run.result.warnings if item.code == "trained-before"]  # it was saved with a head
    assert before.where == "transformer"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": [0.5, 0.2]}, "the steps must be above 0 and increase"),
        ({"steps": [0.5, 1.0]}, "shares must be below 1"),
        ({"unit": "tokens", "steps": [0.5, 1.5]}, "the steps are whole numbers"),
        ({"signed": True, "explainers": ["blurred[attention]"]}, "has no sign"),
        ({"explainers": ["random"]}, "random is always there as the baseline"),
        ({"explainers": ["blurred[nonsense]"]}, "There is no explainer named 'nonsense'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message, folder, tmp_path):
    with pytest.raises(UserError, match=message.replace("[", r"\[")):
        tn.run("recursive-roar", store=tmp_path, datasets=str(folder), **{**SETTINGS, **settings})


def test_folders_of_one_name_are_refused(folder, tmp_path):
    (tmp_path / "more").mkdir()
    shutil.copytree(folder, tmp_path / "more" / folder.name)
    both = [str(folder), str(tmp_path / "more" / folder.name)]
    with pytest.raises(UserError, match="two datasets are called one-word"):
        tn.run("recursive-roar", store=tmp_path / "store", **{**SETTINGS, "datasets": both})


def test_published_values_name_scores_that_the_study_makes():
    known = KINDS["recursive-roar"].published()
    methods = {key[3] for key in known if key[0] == "faithfulness, as published"}
    study = load_study("recursive-roar")
    assert methods <= set(study.explainers)
    assert {key[1] for key in known} >= set(study.datasets)
    assert {key[0] for key in known if key[3] == "the model"} == {
        "performance (macro-f1)",
        "performance (accuracy)",
    }
