"""Families: their facts, and one of somebody else's that is trained, kept, loaded and explained as ours are."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

import trueness as tn
from tests.models.test_training import DATA, QUICK, corpus
from tests.registries import put
from trueness.engine import Store, Stored, run
from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.models.families import TEXT_MODELS, Family, as_family, train, train_many
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.kinds.text.models.opening import load_model, recognise
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.tasks import dataset_task, read_model
from trueness.kinds.text.tasks import train as train_task
from trueness.models.evaluation import predict

SMALL = {"embedding": 8, "hidden": 8}


class Bag(TextNetwork):
    """The largest of each feature over the words: all that somebody else has to write."""

    def __init__(self, vocabulary, classes, *, embedding=8, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.layer, self.output = nn.Linear(embedding, hidden), nn.Linear(hidden, classes)

    def forward(self, batch, *, embeddings=None, attention=None):
        states = self.layer(self.embed(batch) if embeddings is None else embeddings).tanh()
        weights = batch.mask / batch.mask.sum(dim=-1, keepdim=True)
        best = states.masked_fill(~batch.mask[..., None], -2).amax(dim=1)
        return Prediction(self.output(best), weights, states)


@pytest.fixture
def bag(monkeypatch):
    put(monkeypatch, TEXT_MODELS, "bag", as_family(Bag, "bag"))


def logits(model):
    return predict(model.network, EncodedSplit(DATA["test"], model.coder))[0]


def test_facts_are_declared():
    facts = {name: (TEXT_MODELS[name].attends, TEXT_MODELS[name].pretrained) for name in TEXT_MODELS}
    assert facts["bilstm-additive"] == facts["cnn-dot"] == ("one", False)
    assert facts["average-uniform"] == ("uniform", False)
    assert facts["average-frozen"] == ("frozen", False)
    assert facts["transformer"] == ("layers", True)
    for name in TEXT_MODELS:
        if ":" in name:  # somebody else's, which another test of this process named
            continue
        family = TEXT_MODELS[name]
        assert (family.name, family.built_in) == (name, True)
        assert family.uniform is None or TEXT_MODELS[family.uniform].attends == "uniform"


@pytest.mark.usefixtures("bag")
def test_an_outside_network_is_trained_evaluated_explained_saved_and_loaded(tmp_path):
    first, second = train_many("bag", DATA, [3, 4], recipe=QUICK, **SMALL)
    assert isinstance(first, TextModel)
    assert not np.array_equal(logits(first), logits(second))
    assert tn.evaluate(first, DATA)["accuracy"] > 0.95
    assert np.array_equal(logits(tn.train("bag", DATA, recipe=QUICK, seed=4, **SMALL)), logits(second))
    folder = first.save(tmp_path / "model")
    assert json.loads((folder / "config.json").read_text())["family"] == "bag"
    loaded = tn.load_model(folder)
    assert np.array_equal(logits(loaded), logits(first))
    assert (loaded.network.family, loaded.history) == ("bag", first.history)
    for name in ("integrated-gradients", "leave-one-out", "lime"):
        (found,) = tn.explain(loaded, ["x good y z"], name)
        assert int(np.argmax(np.abs(found.scores))) == 1
    agreed = tn.agreement(loaded, DATA, ["gradient", "leave-one-out"], instances=5)
    assert len(agreed.records) == 5


def test_its_family_is_registered_or_given_and_never_taken_from_the_folder(bag, tmp_path, monkeypatch):
    folder = train("bag", DATA, recipe=replace(QUICK, epochs=1), **SMALL).save(tmp_path / "model")
    monkeypatch.delitem(TEXT_MODELS._entries, "bag")
    with pytest.raises(UserError, match=r"names the family .bag., which is not registered"):
        load_model(folder)
    assert tn.load_model(folder, family=Bag).network.family == "bag"
    config = json.loads((folder / "config.json").read_text())
    (folder / "bad.py").write_text("raise SystemExit('run')")
    (folder / "config.json").write_text(json.dumps({**config, "family": f"{folder / 'bad.py'}:Bag"}))
    with pytest.raises(UserError, match="run only if you give it yourself"):
        load_model(folder)
    with pytest.raises(UserError, match="run only if you give it yourself"):
        load_model(folder, family="bilstm-additive")


@pytest.mark.usefixtures("bag")
def test_word_vectors_start_its_embedding():
    table = np.random.default_rng(0).normal(size=(len(DATA.vocabulary), 5)).astype(np.float32)
    model = train("bag", DATA, recipe=replace(QUICK, epochs=1, frozen=("embedding",)), vectors=table)
    assert torch.equal(model.network.embedding.weight, torch.from_numpy(table))
    assert model.network.shape["embedding"] == 5


@pytest.mark.usefixtures("bag")
def test_what_does_not_fit_an_outside_network_is_refused():
    for data, how, message in (
        (corpus(20, pairs=True), {}, "has pairs of texts, and bag reads one"),
        (DATA, {"width": 3}, "bag takes other arguments.*unexpected keyword argument 'width'"),
        (DATA, {"pretrained": "folder"}, "trained from scratch"),
    ):
        with pytest.raises(UserError, match=message):
            train("bag", data, recipe=QUICK, **how)
    with pytest.raises(UserError, match="has no embedding"):
        as_family(type("Empty", (Bag,), {"__init__": lambda self, **_: TextNetwork.__init__(self)}), "empty").build()


@pytest.mark.usefixtures("bag")
@pytest.mark.parametrize("name", ["bag", "average-additive"])
def test_a_task_trains_and_keeps_any_family(name, folder, tmp_path):
    """Seeds of one task, read back from a store; of the built-in families nothing more is kept than before."""
    store = Store.open(tmp_path / "store", create=True)
    data = dataset_task(str(folder), "none")
    task = train_task({"dataset": data}, model=name, recipe="dry-run", seeds=[0, 1], shape=SMALL)
    with ThreadPoolExecutor(1) as executor:
        assert run([task], store, executor).failures == []
    stored = Stored(store, task.key)
    assert stored.holds("family") == (name == "bag")
    models = [read_model(stored, seed) for seed in (0, 1)]
    assert [model.network.family for model in models] == [name, name]
    assert not np.array_equal(*(model.network.output.weight.detach() for model in models))
    assert set(stored.read("test")) == {"0", "1"}


def test_an_object_with_the_verbs_is_a_family(tmp_path):
    @dataclass
    class Delegating(Family):
        """Trains one of ours, and keeps it as ours is kept."""

        attends = "one"

        def train(self, data, seeds, **how):
            return train_many("average-additive", data, seeds, **how)

        def load(self, folder, config, device):
            return TEXT_MODELS["average-additive"].load(folder, config, device)

    mine = Delegating()
    family = as_family(mine, "mine")
    assert (family.name, family.attends, family.built_in) == ("mine", "one", False)
    assert not hasattr(mine, "name"), "it is not changed"
    (model,) = family.train(DATA, [0], recipe=replace(QUICK, epochs=1), **SMALL)
    folder = model.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    assert np.array_equal(logits(family.load(folder, config, "cpu")), logits(model))
    assert recognise(folder)[0].name == "average-additive"


@pytest.mark.parametrize("thing", [Bag(9, 2), TextNetwork, nn.Linear, "bag", len])
def test_anything_else_is_no_family(thing):
    with pytest.raises(UserError, match="mine is no family of models: give a subclass of"):
        as_family(thing, "mine")
