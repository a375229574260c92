"""The audit of an image classifier: the plan of all kinds, on squares of images."""

import json
import re
import shutil

import numpy as np
import pytest
from PIL import Image

import trueness as tn
from tests.command import trueness
from tests.inline import here
from trueness.audits.trials import ON_COMPANION, REMOVAL
from trueness.browser.site import Site
from trueness.engine import Listener, LocalExecutor, Store
from trueness.errors import UserError
from trueness.kinds.image.data.images import ImageDataset, Images
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.models.model import ImageModel

SIZES = {
    **{"examples": 36, "repeat_examples": 30, "edit_examples": 30, "alone_examples": 16, "shuffled_examples": 30},
    **{"shuffles": 8, "layerwise_examples": 4, "noise_draws": 0, "hidden_shares": [0.2, 0.5], "searched_examples": 0},
    **{"training_examples": 220, "planted_models": 2, "planted_examples": 30, "epochs": 6, "shown_examples": 2},
    **{"companion_examples": 30, "relative_examples": 0},
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Noise, and in class 1 a bright square somewhere."""
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    splits = {}
    for name, size in (("train", 160), ("dev", 40), ("test", 40)):
        pixels, labels = rng.integers(60, 140, (size, 16, 16, 3), dtype=np.uint8), np.arange(size) % 2
        for row in np.flatnonzero(labels):
            top, left = rng.integers(0, 12, 2)
            pixels[row, top : top + 4, left : left + 4] = 230
        splits[name] = Images(pixels, labels.astype(np.int64))
        for row, image in enumerate(pixels):
            place = folder / "data" / name / ("plain", "square")[labels[row]]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(place / f"{row}.png")
    for row in range(8):
        place = folder / "few" / "test" / ("plain", "square")[row % 2]
        place.mkdir(parents=True, exist_ok=True)
        if row < 4:
            Image.fromarray(splits["test"].pixels[row]).save(place / f"{row}.png")
    data = ImageDataset("squares", ("plain", "square"), splits)
    model = tn.train("small-cnn", data, recipe="image[epochs=10, batch_size=32, learning_rate=0.01]")
    model.save(folder / "model")
    names = ["gradient", "occlusion"]
    how = {**SIZES, "explainers": names, "store": folder / "store", "executor": here()}
    heard = []
    found = tn.audit(folder / "model", folder / "data", planned=heard.append, **how)
    (plan,) = heard
    assert (plan.explainers, plan.foils) == (("gradient", "occlusion"), ("random", "edges"))
    assert plan.settings["examples"] == 36
    assert plan.seconds > 0
    return folder, how, found


def test_foils_must_not_be_shown_and_all_trials_are_held(audited):
    _, _, found = audited
    assert (found.kind, found.size) == ("image", 36)
    assert found.accuracy > 0.9
    assert {one.explainer for one in found.explainers} == {"gradient", "occlusion", "random", "edges"}
    assert all(one.decision != "may be shown" for one in found.explainers if one.foil)
    assert found["edges"].trial("depends on the model").answer == "fail"
    notes = found["gradient"].trial("depends on the model").notes
    assert [one for one in notes if one.startswith("Layers randomised top-down")]
    assert found["gradient"].trial("finds planted evidence").checks[0].name == "planted squares"
    companion = [one for one in found["gradient"].trial(REMOVAL).notes if "a model trained with squares hidden" in one]
    assert companion
    learned = not [one for one in found.left_out if "companion" in one]
    assert (ON_COMPANION in [one.name for one in found["gradient"].trial(REMOVAL).checks]) is learned


def test_no_page_and_no_export_of_images_has_a_word_of_texts(audited, tmp_path):
    """What people named stays as it is: a class called like a unit of texts, and a method."""
    _, _, found = audited
    first = found.explainers[0].model_copy(update={"explainer": "mine.py:word"})
    named = found.model_copy(update={"classes": ("plain", "texts"), "explainers": (first, *found.explainers[1:])})
    page = named.report(tmp_path / "audit.html").read_text()
    seen = re.sub(r"<style.*?</style>|<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL)
    forms = ("markdown", "model_card", "latex", "junit", "csv")
    told = " ".join([seen, *(named.export(form) for form in forms)])
    assert "mine.py:word" in told
    assert "(plain, texts)" in seen
    ours = re.sub(r"mine\.py:word\b|plain, texts", " ", told)
    assert not re.search(r"\b(texts?|words?|full stop)\b", ours)
    assert "36 images" in told
    assert "important squares first" in seen
    assert page.count("<image ") == 2
    kept = json.loads((tmp_path / "audit.json").read_text())
    assert (kept["kind"], kept["words"]["units"]) == ("image", "squares")


def test_what_cannot_be_audited_is_refused(audited, tmp_path):
    folder, how, _ = audited
    with pytest.raises(UserError, match="size examples of an audit is not 'abc'"):
        tn.audit(folder / "model", folder / "data", examples="abc", store=tmp_path / "none")
    with pytest.raises(UserError, match="has 4 images: an audit needs 30"):
        tn.audit(folder / "model", folder / "few", **{**how, "store": tmp_path / "few"})


def test_running_again_goes_on_from_the_store(audited):
    folder, how, found = audited
    heard = []

    class Heard(Listener):
        def planned(self, total, cached):
            heard.append((total, cached))

    again = tn.audit(folder / "model", folder / "data", listener=Heard(), **how)
    assert again.model_dump(exclude={"seconds"}) == found.model_dump(exclude={"seconds"})
    assert heard[-1][0] == heard[-1][1]
    more = tn.audit(folder / "model", folder / "data", **{**how, "planted_models": 3})
    assert {one.work: one.tasks for one in more.cost}["training models"] == 3
    store = Store.open(how["store"])
    record = store.runs("audit")[0]
    site = Site({"s": store})
    assert b"images" in site.page(f"s/{record['result']}/audit-1.html").content
    assert b"may be shown" in site.page("index.html").content


def test_what_a_kill_leaves_is_not_computed_again(audited, tmp_path):
    """Explanations, shuffles and removal are tasks of their own: only what is gone is computed."""
    folder, how, found = audited
    shutil.copytree(how["store"], tmp_path / "store")
    store = Store.open(tmp_path / "store")
    gone = {"audit/randomised", "audit/verdict", "audit/summary"}
    for key in list(store.keys()):
        meta = store.meta(key)
        if meta["task"] in gone and meta["parameters"].get("explainer", "gradient") == "gradient":
            shutil.rmtree(next(path for path in (tmp_path / "store" / "objects").rglob(key)))
    before = set(store.keys())
    again = tn.audit(folder / "model", folder / "data", **{**how, "store": tmp_path / "store"})
    made = sorted(store.meta(key)["task"] for key in set(store.keys()) - before)
    assert made == [*["audit/randomised"] * SIZES["shuffles"], "audit/summary", "audit/verdict"]
    assert [one.trials for one in again.explainers] == [one.trials for one in found.explainers]


HALVES = '''
import torch
from torch import nn


class Halves(nn.Module):
    """Two weights, one for each half of an image: in half of all random orders they stay where they are."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([4.0, 0.0]))

    def forward(self, pixels):
        bright = torch.stack([half.mean(dim=(1, 2, 3)) for half in pixels.chunk(2, dim=3)], dim=1) @ self.weight
        return torch.stack([-bright, bright], dim=1)


def network(classes):
    return Halves()
'''


NO_TRAINING = {"train_models": False, "layerwise_examples": 0}


def test_random_orders_of_the_weights_that_disagree_decide_nothing(audited, tmp_path, monkeypatch):
    folder, how, _ = audited
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halves.py").write_text(HALVES)
    network = IMAGE_MODELS["halves.py:network"].build(2, (16, 16), 0)
    ImageModel(network, ("plain", "square")).save(tmp_path / "model")
    asked = {**how, **NO_TRAINING, "explainers": ["gradient"], "store": tmp_path / "store"}
    found = tn.audit(tmp_path / "model", folder / "data", **asked)
    trial = found["gradient"].trial("depends on the model")
    assert trial.answer == "cannot tell"
    (check,) = trial.checks
    assert check.value == pytest.approx(0.375), "falls of 0, 2, 0, 0, 0, 2, 0 and 2, of which 2 counts as 1"
    assert check.low < check.threshold < check.high
    assert check.unit == "images, and 8 random orders of the weights"
    assert "with more random orders of the weights and more images" in found["gradient"].settle
    assert "--set shuffles=" in found["gradient"].settle
    assert found["edges"].trial("depends on the model").answer == "fail", "it never looks at the weights"


def test_images_that_are_not_there_are_told_of_and_not_advised(audited, tmp_path):
    folder, how, _ = audited
    heard = []
    asked = {**how, **NO_TRAINING, "examples": 300, "store": tmp_path / "store", "planned": heard.append}
    asked["explainers"] = ["gradient-shap[n_samples=2]"]
    found = tn.audit(folder / "model", folder / "data", **asked)
    told = "260 of 300 images were not explained: there are only 40"
    assert told in found.left_out
    assert told in heard[0].left_out
    assert found.size == 40
    checks = found["gradient-shap[n_samples=2]"].trial("repeats itself").checks
    (edit,) = [one for one in checks if one.name == "after a harmless edit"]
    assert edit.value == pytest.approx(1, abs=0.05), "the edit is asked of another draw, as the ceiling is"


def test_folders_of_splits_are_pictures_too(audited):
    folder, _, _ = audited
    assert tn.load_dataset(folder / "data").classes == ("plain", "square")


def test_the_command_trains_what_it_audits(audited, tmp_path):
    folder, _, _ = audited
    given = ("train", "small-cnn", "--data", folder / "data", "--out", tmp_path / "model")
    told = json.loads(trueness(*given, "--json").stdout)
    assert set(told["scores"]) == {"dev", "test"}
    assert told["epochs"] == len(tn.load_model(tmp_path / "model").history)
    misspelt = trueness("train", "smal-cnn", *given[2:])
    assert misspelt.stderr == "trueness: There is no model named 'smal-cnn'; did you mean small-cnn?\n"
    (tmp_path / "mynet.py").write_text(NETWORK)
    own = (
        "train",
        f"{tmp_path}/mynet.py:network",
        *given[2:4],
        "--set",
        "size=16",
        "--out",
        tmp_path / "own",
        "--json",
    )
    assert trueness(*own).returncode == 0
    sized = trueness("train", "small-cnn", *own[2:6], "--out", tmp_path / "sized")
    assert sized.returncode == 0
    for place in ("own", "sized"):
        assert json.loads((tmp_path / place / "config.json").read_text())["size"] == [16, 16]
    assert tn.train("small-cnn", folder / "data", size=8, recipe="image[epochs=1]").network.size == (8, 8)
    for setting, said in (
        ("hidden=3", "leave out hidden"),
        ("size=x", "a whole number of pixels, 8 or more"),
    ):
        wrong = trueness("train", "small-cnn", *given[2:4], "--set", setting, "--out", tmp_path / "none")
        assert wrong.returncode == 2
        assert said in wrong.stderr
    for more, said in (({"hidden": 3}, "leave out hidden"), ({"size": 4}, "not 4")):
        with pytest.raises(UserError, match=said):
            tn.train("small-cnn", folder / "data", **more)


NETWORK = """
from torch import nn

def network(classes):
    parts = nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, classes)
    return nn.Sequential(*parts)
"""


def test_a_network_of_ones_own_and_what_is_in_memory_reach_the_workers(audited, tmp_path, monkeypatch):
    """A model at hand and a dataset at hand; a folder whose family is given, and one whose family is not."""
    folder, _, _ = audited
    (tmp_path / "mynet.py").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    data = tn.load_dataset(folder / "data", size=16)
    model = tn.train("mynet.py:network", data, recipe="image[epochs=1, batch_size=32]")
    place = model.save(tmp_path / "model")
    how = {**SIZES, "explainers": ["gradient"], "planted_models": 1, "companion_examples": 0, "epochs": 1}
    how |= {"examples": 30, "store": tmp_path / "store"}
    with LocalExecutor(["cpu"]) as workers:  # who never heard of the network
        at_hand = tn.audit(model, data, executor=workers, **how)
        given = tn.audit("model", folder / "data", family="mynet.py:network", executor=workers, **how)
    assert [one.trials for one in at_hand.explainers] == [one.trials for one in given.explainers]
    monkeypatch.delitem(IMAGE_MODELS._entries, "mynet.py:network")
    refused = trueness("audit", place, folder / "data")
    assert refused.returncode == 2
    assert f"{place}/config.json names the family 'mynet.py:network'" in refused.stderr
    assert "--family mynet.py:network" in refused.stderr
    (tmp_path / "gate.toml").write_text('[verdict]\nno-such-map = "may be shown"\n')
    gate = trueness("audit", place, folder / "data", "--family", "mynet.py:network", "--gate", tmp_path / "gate.toml")
    assert gate.returncode == 2
    assert "no-such-map" in gate.stderr
