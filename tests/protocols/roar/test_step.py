"""Oracles: data in which it is known which tokens decide."""

import functools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from tests.protocols.roar.by_hand import retraining
from tests.registries import put
from trueness.explainers.simple import Random
from trueness.kinds import KINDS
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import train_many
from trueness.kinds.text.models.text_model import TextModel
from trueness.models.recipes import Recipe
from trueness.protocols.roar.hiding import Amount
from trueness.protocols.roar.step import everything, hide_next, nothing, retrain
from trueness.protocols.roar.summary import summarise
from trueness.studies.retraining import Coded, method_of

LENGTH, SEEDS, AMOUNTS = 10, (0, 1, 2), (0.1, 0.2, 0.5)
RECIPE = Recipe(epochs=6, batch_size=32, learning_rate=0.02, select="accuracy")
TRAIN = functools.partial(train_many, "average-uniform", recipe=RECIPE, hidden=8, embedding=8)


def one_decides(*, twice, sizes=(320, 80, 400)):
    """Ten words, of which one tells the label; with `twice` a second one, another word, tells the same."""
    rng = np.random.default_rng(0)
    splits = {}
    for split, size in zip(("train", "dev", "test"), sizes, strict=True):
        splits[split] = []
        for row in range(size):
            words = rng.choice(["a", "b", "c", "d"], LENGTH).tolist()
            first, second = rng.choice(LENGTH, 2, replace=False)
            words[first] = ("no", "yes")[row % 2]
            if twice:
                words[second] = ("never", "always")[row % 2]
            splits[split].append(TextExample(tuple(words), row % 2))
    return TextDataset("oracle", ("0", "1"), splits, Vocabulary.of(splits["train"]), Preparation())


class Words:
    """1 at the first of these groups of words that a text still shows, 0 elsewhere."""

    def __init__(self, data, *groups):
        self.groups = [torch.tensor([data.vocabulary.numbers[word] for word in group]) for group in groups]

    def attribute(self, model, batch, target="gold"):
        scores = torch.zeros(batch.mask.shape)
        for group in reversed(self.groups):
            found = torch.isin(batch.tokens, group)
            scores = torch.where(found.any(dim=1, keepdim=True), found.float(), scores)
        return scores


class Inverted(Words):
    """The evidence last."""

    def attribute(self, model, batch, target="gold"):
        return (1 - super().attribute(model, batch)) * batch.mask


class Telltale:
    """Hides the beginning of one class's texts and the end of the other's."""

    def attribute(self, model, batch, target="gold"):
        place = torch.arange(batch.mask.shape[1]).float()
        return torch.where(batch.labels[:, None] == 1, 1 + place, 100 - place) * batch.mask


def test_texts_are_coded_once_for_models_that_read_alike():
    data = one_decides(twice=False, sizes=(8, 4, 4))

    class Reader(TextModel):
        device = "cpu"

    coded = Coded(data)
    first, again, other = (
        Reader(SimpleNamespace(), Vocabulary(words), data.classes)
        for words in (data.vocabulary.words, data.vocabulary.words, data.vocabulary.words[:-1])
    )
    splits = coded.by(first)
    assert [len(split) for split in splits.values()] == [8, 4, 4]
    assert coded.by(again) is splits, "read from a file"
    assert coded.by(other) is not splits
    assert coded.by(first) is not splits, "only of the last one"


def points_of(data, methods, orders=("recursive",), leak=False):
    """The whole study, literally: train, explain, mask, again."""
    points, how = [], retraining(TRAIN, data)

    def add(trained, method, order, step):
        for seed, one in zip(SEEDS, trained, strict=True):
            where = {"dataset": "oracle", "model": "average-uniform", "method": method, "order": order, "step": step}
            points.append({**where, "seed": seed, **one.measured})

    whole = retrain(how, SEEDS, [nothing] * len(SEEDS), leak=False)
    add(whole, "nothing hidden", "both", 0)
    add(retrain(how, SEEDS, [everything] * len(SEEDS), leak=False), "all hidden", "both", 4)
    for method in ("random", *methods):
        for order in ("plain",) if method == "random" else orders:
            now = whole
            for step, amount in enumerate(AMOUNTS, start=1):
                model = now if order == "recursive" else whole
                masks = [
                    hide_next(
                        one, method_of(KINDS["text"], method, seed), [Amount(amount)], target="gold", signed=False
                    )[0]
                    for seed, one in zip(SEEDS, model, strict=True)
                ]
                hidings = [lambda name, split, mask=mask: mask[name] for mask in masks]
                now = retrain(how, SEEDS, hidings, leak=leak)
                add(now, method, order, step)
    return pd.DataFrame(points)


def result_of(points, target="gold"):
    nothing_refused = pd.DataFrame(columns=["dataset", "model", "method", "order", "step", "reason"])
    how = {"amounts": AMOUNTS, "unit": "share", "target": target, "metrics": {"oracle": "accuracy"}}
    return summarise(points, pd.DataFrame(), nothing_refused, pd.DataFrame(), **how)


@pytest.fixture
def named(monkeypatch):
    """Put explainers into the catalogue for one test."""

    def put_all(**methods):
        for name, method in methods.items():
            put(monkeypatch, TEXT_EXPLAINERS, name, method)

    return put_all


def values(result, quantity="faithfulness"):
    return {score.method: score for score in result.scores if score.quantity == quantity}


def test_a_perfect_explainer_falls_to_the_bound_at_once_and_an_inverted_one_is_negative(named):
    data = one_decides(twice=False)
    named(perfect=Words(data, ("no", "yes")), inverted=Inverted(data, ("no", "yes")), chance=Random(99))
    points = points_of(data, ["perfect", "inverted", "chance"])
    result = result_of(points)
    first = points[(points["method"] == "perfect") & (points["step"] == 1)]["accuracy"]
    floor = points[points["method"] == "all hidden"]["accuracy"]
    assert abs(first.mean() - floor.mean()) < 0.1, "one word of ten is gone, and with it all that tells"
    found = values(result)
    assert found["perfect"].value == pytest.approx(found["perfect"].best, abs=0.1)
    assert found["perfect"].low > 0
    assert found["inverted"].high < 0
    assert abs(found["chance"].value) < 0.25, "knows nothing of the model"
    assert found["perfect"].null == 0
    by_seed = []
    for seed in SEEDS:  # equation 3, literally
        curve, random = (
            [
                points[(points["method"] == each) & (points["step"] == step) & (points["seed"] == seed)][
                    "accuracy"
                ].item()
                for step, each in enumerate(["nothing hidden", method, method, method, "all hidden"])
            ]
            for method in ("perfect", "random")
        )
        x = [0, *AMOUNTS, 1]
        above = sum(
            0.5 * (x[i + 1] - x[i]) * ((random[i] - curve[i]) + (random[i + 1] - curve[i + 1])) for i in range(4)
        )
        below = sum(
            0.5 * (x[i + 1] - x[i]) * ((random[i] - random[-1]) + (random[i + 1] - random[-1])) for i in range(4)
        )
        by_seed.append(above / below)
    assert found["perfect"].value == pytest.approx(np.mean(by_seed))
    published = values(result, "faithfulness, as published")["perfect"]
    assert published.value == pytest.approx(np.mean(np.clip(by_seed, -1, 1)))
    assert published.variant == "as-published"
    assert {warning.code for warning in result.warnings} >= {"gold-label"}
    assert "gold-label" not in {warning.code for warning in result_of(points, "predicted").warnings}


def test_a_duplicate_fools_plain_roar_and_not_recursive_roar(named):
    data = one_decides(twice=True)
    named(visible=Words(data, ("no", "yes"), ("never", "always")))
    points = points_of(data, ["visible"], orders=("recursive", "plain"))
    here = points[points["method"] == "visible"].groupby(["order", "step"])["accuracy"].mean()
    assert here["recursive", 1] > 0.95, "the duplicate tells as much"
    assert here["recursive", 2] < 0.65
    assert here["plain", 2] > 0.85, "nothing pointed at the duplicate while the first word was there"
    result = result_of(points)
    recursive, plain = (values(result, name)["visible"] for name in ("faithfulness", "faithfulness (plain ROAR)"))
    assert recursive.low > 0
    assert recursive.low > plain.value


def test_a_mask_that_tells_the_label_is_noticed(named):
    data = one_decides(twice=False, sizes=(160, 60, 120))
    named(telltale=Telltale(), perfect=Words(data, ("no", "yes")))
    result = result_of(points_of(data, ["telltale", "perfect"], leak=True))
    leaks = [warning.where for warning in result.warnings if warning.code == "mask-leak"]
    assert leaks == ["oracle, average-uniform, telltale, recursive"]
    found = values(result, "mask-only accuracy above chance")
    assert found["telltale"].value == pytest.approx(0.5, abs=0.05)
    assert abs(found["perfect"].value) < 0.15
    assert {"random", "telltale", "perfect"} <= set(found)
