"""Which guides are given to which models, with training replaced by networks of random weights."""

import numpy as np
import pytest
import torch

from tests.models.test_attentive import VOCABULARY, build, examples
from tests.protocols.attefa.test_comparisons import model
from trueness.kinds.text.attention import guided_training
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.models.text_model import TextModel
from trueness.kinds.text.models.twins import Reference
from trueness.models.evaluation import evaluate
from trueness.protocols.attefa.cell import BASE, LEARNED, TWIN_GUIDE, UNIFORM

TEXTS = [type(one)(one.tokens, number % 2) for number, one in enumerate(examples((4, 9, 2, 6, 3, 5), pairs=False))]
DATA = TextDataset("toy", ("no", "yes"), {"test": TEXTS}, VOCABULARY, Preparation())


def network(attention, seed):
    found = build("average", attention, classes=2, hidden=4, embedding=4)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.copy_(2 * torch.randn(parameter.shape, generator=generator))
    return TextModel(found.float(), VOCABULARY, DATA.classes)


@pytest.fixture
def calls(monkeypatch):
    asked = []

    def train_many(name, data, seeds, **how):
        asked.append((name, data, list(seeds), how))
        return [network("frozen" if name == "average-frozen" else "additive", seed) for seed in seeds]

    monkeypatch.setattr(guided_training, "train_many", train_many)
    return asked


def test_three_guides_are_frozen_and_the_fourth_is_learned(calls):
    base, twin = model(17), model(20)
    vectors = np.zeros((len(VOCABULARY), 4), dtype=np.float32)
    table = guided_training.guided(DATA, base, twin, [3, 4], recipe="demo", vectors=vectors, hidden=4)
    assert [(name, seeds) for name, _, seeds, _ in calls] == [
        *[("average-frozen", [3, 4])] * 3,
        ("average-additive", [3, 4]),
    ]
    assert list(table) == ["guide", "seed", "value"]
    assert list(zip(table["guide"], table["seed"], strict=True)) == [
        (name, seed) for name in (UNIFORM, BASE, TWIN_GUIDE, LEARNED) for seed in (3, 4)
    ]
    split = EncodedSplit(TEXTS, VOCABULARY)
    even = torch.zeros(6, Reference.of(base.network, split).attention.shape[1])
    for row, example in enumerate(TEXTS):
        even[row, 1 : len(example.tokens) + 1] = 1 / len(example.tokens)
    expected = [even, *(Reference.of(some.network, split).attention for some in (base, twin)), None]
    for (_, data, _, how), weights in zip(calls, expected, strict=True):
        assert data is DATA
        assert (how["recipe"], how["device"], how["hidden"]) == ("demo", "cpu", 4)
        assert how["vectors"] is vectors
        if weights is None:
            assert how["guide"] is None
        else:
            assert torch.allclose(how["guide"](split), weights)
    values = []
    for weights, kind in zip(expected, ["frozen"] * 3 + ["additive"], strict=True):
        split.guide = weights
        values += [evaluate(network(kind, seed).network, split, 2)["f1"] for seed in (3, 4)]
    assert table["value"].tolist() == pytest.approx(values)
    assert len(set(values)) > 1


def test_the_seeds_and_models_must_be_as_many(calls, monkeypatch):
    monkeypatch.setattr(guided_training, "train_many", lambda *_, **__: [network("frozen", 0)])
    with pytest.raises(ValueError, match="zip"):
        guided_training.guided(DATA, model(17), model(20), [3, 4], recipe="demo")
