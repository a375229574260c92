"""What every kind does alike: data are looked at under the model's classes, kept between tasks, and old models open."""

import json

import numpy as np
import pytest

import trueness as tn
from tests.inline import here
from tests.models.test_training import DATA, QUICK
from trueness.engine import Store, run, task
from trueness.errors import UserError
from trueness.kinds import KINDS, kind_of, kind_of_data, open_model
from trueness.kinds.image.data.images import from_arrays

RNG = np.random.default_rng(0)
PIXELS = {name: (RNG.integers(0, 255, (12, 8, 8, 3), dtype=np.uint8), np.arange(12) % 2) for name in ("train", "dev")}
ROWS = {name: (RNG.normal(size=(12, 3)), np.arange(12) % 2) for name in ("train", "dev")}


def data_of(kind):
    if kind == "text":
        return DATA
    return from_arrays(PIXELS, ("no", "yes")) if kind == "image" else tn.load_dataset(ROWS)


def trained(kind):
    family, recipe = {
        "text": ("average-additive", QUICK),
        "image": ("small-cnn", "image[epochs=1]"),
        "vector": ("mlp", "vector[epochs=2]"),
    }[kind]
    return tn.train(family, data_of(kind), recipe=recipe)


@pytest.fixture(scope="module", params=["text", "image", "vector"])
def model(request):
    return trained(request.param)


def logits(model, examples):
    return model.network(model.coded(examples).batch(range(4))).logits.tolist()


def test_a_kind_knows_its_data_and_models(model):
    kind = KINDS[model.kind]
    assert kind_of(model) is kind_of_data(data_of(model.kind)) is kind
    assert (kind.name, kind.words.example in kind.words.examples) == (model.kind, True)


def test_the_split_looked_at_comes_first_under_the_classes_of_the_model(model):
    kind, data = KINDS[model.kind], data_of(model.kind)
    seen = kind.data.look(data, model, split="dev")
    assert next(iter(seen.splits)) == "dev"
    assert set(seen.splits) == set(data.splits)
    assert seen["dev"].labels.tolist() == data["dev"].labels.tolist()
    bare = kind.data.look(data, model, split="dev", gold=False)
    assert set(bare.default_split("dev").labels.tolist()) == {-1}
    other = data["dev"].labelled(1 - data["dev"].labels)
    assert other.labels.tolist() == (1 - data["dev"].labels).tolist()
    assert other.pick([1, 0]).labels.tolist() == other.labels[[1, 0]].tolist()


@task("tests/kept", version=1)
def kept(inputs, *, kind):
    part, model = KINDS[kind], trained(kind)
    seen = part.data.look(data_of(kind), model, split="dev", gold=False)
    return {**part.models.pack({"0": model}), **part.data.pack(seen)}


@pytest.mark.parametrize("name", ["text", "image", "vector"])
def test_data_and_a_model_are_kept_together_by_a_task(name, tmp_path):
    store, made = Store.open(tmp_path / "store", create=True), kept({}, kind=name)
    assert run([made], store, here()).failures == []
    data, model = (
        KINDS[name].data.unpack(store.get(made.key)),
        KINDS[name].models.unpack(store.get(made.key), "0", "cpu"),
    )
    assert set(data.default_split("dev").labels.tolist()) == {-1}
    assert logits(model, data["dev"]) == logits(trained(name), data_of(name)["dev"])


def test_a_folder_says_its_kind_and_older_ones_open(model, tmp_path):
    folder = model.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    assert (config["kind"], config["format"]) == (model.kind, 1)
    assert logits(open_model(folder), data_of(model.kind)["dev"]) == logits(model, data_of(model.kind)["dev"])
    if model.kind != "vector":
        del config["kind"]
        config["format"] = {"text": 1, "image": "image-model 1"}[model.kind]
        (folder / "config.json").write_text(json.dumps(config))
        assert logits(open_model(folder), data_of(model.kind)["dev"]) == logits(model, data_of(model.kind)["dev"])
    (folder / "config.json").write_text(json.dumps({**config, "format": 7, "kind": model.kind}))
    with pytest.raises(UserError, match="has model format 7, this trueness reads 1"):
        open_model(folder)


def test_an_interrupted_training_of_images_continues(tmp_path):
    data = data_of("image")
    whole = tn.train("small-cnn", data, recipe="image[epochs=3, stop_at=2.0]")
    tn.train("small-cnn", data, recipe="image[epochs=3, stop_at=2.0]", state=tmp_path / "state")
    again = tn.train("small-cnn", data, recipe="image[epochs=3, stop_at=2.0]", state=tmp_path / "state")
    assert logits(again, data["dev"]) == logits(whole, data["dev"])
    assert again.history == whole.history
