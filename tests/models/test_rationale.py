"""Rationale models: gradients against enumeration and quadrature, selections, and a planted word that is found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from tests.data.test_planting import dataset
from tests.models.test_attentive import VOCABULARY, batch_of, examples
from tests.models.test_attentive import build as attentive
from trueness.data.dataset import with_splits
from trueness.errors import UserError
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.planting import plant
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models import stack
from trueness.kinds.text.models.rationale import (
    HIGH,
    LOW,
    RationaleClassifier,
    RationaleObjective,
    _measure,
    chance_of_zero,
    stretched_sample,
    train_rationales,
)
from trueness.models.recipes import RECIPES


def build(method, **more):
    torch.manual_seed(0)
    return RationaleClassifier(len(VOCABULARY), 3, method, embedding=6, hidden=4, **more).double()


def every_choice(batch):
    """All selections of a batch."""
    places = batch.mask.nonzero().tolist()
    for bits in itertools.product((0.0, 1.0), repeat=len(places)):
        chosen = torch.zeros(batch.mask.shape, dtype=torch.float64)
        for (row, place), bit in zip(places, bits, strict=True):
            chosen[row, place] = bit
        yield chosen


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("by_text", [False, True])
@pytest.mark.parametrize("lengths", [(3, 2), (4,)])
def test_reinforce_is_unbiased(dependent, by_text, lengths):
    """Summed over all draws of a batch with their chances, its gradient is that of the expected cost."""
    network, batch = build("reinforce", dependent=dependent), batch_of(examples(sizes=lengths, pairs=False))
    objective = RationaleObjective("reinforce", 0.3, 0.7, by_text=by_text)
    count, sizes = len(lengths), torch.tensor(lengths)
    index = torch.arange(count)
    estimate = [torch.zeros_like(parameter) for parameter in network.parameters()]
    expected, total = 0, 0
    for chosen in every_choice(batch):
        prediction = network(batch, attention=chosen)
        chance = prediction.more[1].sum().exp()
        total += float(chance.detach())
        cost = torch.nn.functional.cross_entropy(prediction.logits, batch.labels, reduction="sum")
        whole = count * (chosen.sum() / sum(lengths) - 0.3).abs()
        apart = (chosen.sum(-1) / sizes - 0.3).abs().sum() if by_text else whole
        expected = expected + chance * (cost + 0.7 * apart)
        loss = objective(network(batch, attention=chosen), batch, index).sum()
        gradients = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
        for place, gradient in enumerate(gradients):
            if gradient is not None:
                estimate[place] += chance.detach() * gradient
    assert total == pytest.approx(1.0)
    exact = torch.autograd.grad(expected, list(network.parameters()), allow_unused=True)
    for ours, theirs in zip(estimate, exact, strict=True):
        assert torch.allclose(ours, torch.zeros_like(ours) if theirs is None else theirs, atol=1e-10)


@pytest.mark.parametrize(("a", "b"), [(0.4, 0.7), (1.0, 1.0), (2.5, 1.3)])
def test_hardkuma_has_the_chances_and_the_gradient_of_its_density(a, b):
    def density(x):
        return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)

    zero = -LOW / (HIGH - LOW)
    at = [torch.tensor(value, dtype=torch.float64) for value in (a, b)]
    assert float(chance_of_zero(*at)) == pytest.approx(quad(density, 0, zero)[0], abs=1e-6)

    def mean_square(first, second):
        """E[z^2] by quadrature over the uniform variable."""

        def value(uniform):
            kuma = (1 - (1 - uniform) ** (1 / second)) ** (1 / first)
            return min(max(LOW + (HIGH - LOW) * kuma, 0), 1) ** 2

        return quad(value, 0, 1, limit=400)[0]

    step = 1e-4
    exact = [
        (mean_square(a + step, b) - mean_square(a - step, b)) / (2 * step),
        (mean_square(a, b + step) - mean_square(a, b - step)) / (2 * step),
    ]
    leaves = [value.clone().requires_grad_() for value in at]
    uniform = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    pathwise = torch.autograd.grad(stretched_sample(*leaves, uniform).square().mean(), leaves)
    assert [float(value) for value in pathwise] == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("method", ["reinforce", "hardkuma"])
@pytest.mark.parametrize("dependent", [False, True])
def test_the_classifier_sees_only_what_is_selected(method, dependent):
    network, some = build(method, dependent=dependent).eval(), examples(pairs=False)
    batch = batch_of(some)
    chosen = torch.zeros(batch.mask.shape, dtype=torch.float64)
    chosen[:, 1] = 1
    with torch.no_grad():
        before = network(batch, attention=chosen).logits
        other = batch.text.tokens.clone()
        other[:, 2:] = torch.where(batch.mask[:, 2:], 7, other[:, 2:])
        changed = replace(batch, text=replace(batch.text, tokens=other))
        assert torch.allclose(network(changed, attention=chosen).logits, before)
        own = network(batch)
    assert set(own.attention.unique().tolist()) <= {0.0, 1.0}, "in earnest a word is seen or not"
    assert (own.attention[~batch.mask] == 0).all()
    for row, example in enumerate(some):
        with torch.no_grad():
            alone = network(batch_of([example]))
        assert torch.allclose(alone.logits[0], own.logits[row], atol=1e-9), "company and padding change nothing"


@pytest.mark.parametrize("by_text", [False, True])
def test_the_penalty_is_the_distance_from_the_target(by_text):
    network, batch = build("hardkuma").train(), batch_of(examples(pairs=False))
    prediction = network(batch)
    found = RationaleObjective("hardkuma", 0.25, 2.0, by_text=by_text)(prediction, batch, torch.arange(len(batch)))
    error = torch.nn.functional.cross_entropy(prediction.logits, batch.labels, reduction="none")
    sizes, amounts = batch.mask.sum(-1), prediction.more[0].sum(-1)
    rate = (amounts / sizes).mean() if by_text else amounts.sum() / sizes.sum()
    assert torch.allclose(found - error, (2.0 * (rate - 0.25).abs()).expand_as(error))


@pytest.mark.parametrize(("method", "by_text"), [("reinforce", True), ("reinforce", False), ("hardkuma", False)])
def test_a_planted_word_is_selected(method, by_text):
    data = with_splits(plant(dataset(200), "token"))
    how = replace(RECIPES["rationale"], epochs=60, batch_size=32, learning_rate=0.01, stop_at=None)
    shape = {"hidden": 6, "embedding": 6}
    (model,) = train_rationales(method, data, [(0.1, 0)], by_text=by_text, recipe=how, **shape)
    batch = batch_from(model, data["test"])
    with torch.no_grad():
        found = model.network(batch)
    assert float((found.logits.argmax(-1) == batch.labels).double().mean()) > 0.97
    marks = torch.zeros_like(batch.mask)
    for row, example in enumerate(data["test"]):
        marks[row, 1 : 1 + len(example.tokens)] = torch.tensor(example.evidence)
    selected = found.attention > 0
    assert 0.02 < float(selected.sum() / batch.mask.sum()) < 0.3
    assert float((selected & marks).sum() / selected.sum()) > 0.5, "precision; by chance 0.09"
    (again,) = train_rationales(method, data, [(0.1, 0)], recipe=replace(how, epochs=2), **shape)
    (twice,) = train_rationales(method, data, [(0.1, 0)], recipe=replace(how, epochs=2), **shape)
    assert torch.equal(again.network.output.weight, twice.network.output.weight), "fixed by the seed"


@pytest.mark.parametrize("method", ["reinforce", "hardkuma"])
def test_training_ends_at_the_accuracy_and_the_rate(method):
    data = with_splits(plant(dataset(200), "token"))
    how = replace(RECIPES["rationale"], epochs=200, batch_size=32, learning_rate=0.02, stop_at=0.9)
    (model,) = train_rationales(method, data, [(0.12, 0)], recipe=how, hidden=6, embedding=6)
    found = _measure(model.network, EncodedSplit(data["dev"], model.coder), 0.12, 1.0)
    assert found["accuracy"] >= 0.9
    assert abs(found["selected"] - 0.12) <= 0.01


@pytest.mark.parametrize("method", ["reinforce", "hardkuma"])
def test_models_trained_as_one_find_it_at_their_own_rates(method, monkeypatch):
    monkeypatch.setattr(stack, "DEVICES", ("cpu",))
    data = with_splits(plant(dataset(200), "token"))
    how = replace(RECIPES["rationale"], epochs=60, batch_size=32, learning_rate=0.01, stop_at=None)
    jobs = [(0.1, 0), (0.4, 1)]
    models = train_rationales(method, data, jobs, by_text=True, recipe=how, hidden=6, embedding=6)
    rates = []
    for model in models:
        batch = batch_from(model, data["test"])
        with torch.no_grad():
            found = model.network(batch)
        assert float((found.logits.argmax(-1) == batch.labels).double().mean()) > 0.97
        rates.append(float((found.attention > 0).sum() / batch.mask.sum()))
    assert rates[0] < rates[1]
    assert not torch.equal(models[0].network.output.weight, models[1].network.output.weight)


def test_on_a_cpu_each_is_as_if_alone():
    data = with_splits(plant(dataset(60), "token"))
    how = {"recipe": replace(RECIPES["rationale"], epochs=1, batch_size=32), "hidden": 6, "embedding": 6}
    both = train_rationales("hardkuma", data, [(0.1, 3), (0.2, 4)], **how)
    (alone,) = train_rationales("hardkuma", data, [(0.2, 4)], **how)
    assert torch.equal(both[1].network.output.weight, alone.network.output.weight)


def batch_from(model, some):
    from trueness.kinds.text.data.batches import EncodedSplit

    return EncodedSplit(some, model.coder).batch(np.arange(len(some)))


def test_only_rationale_models_have_one():
    with pytest.raises(UserError, match="this one selects nothing"):
        TEXT_EXPLAINERS["rationale"].attribute(attentive(), batch_of(examples(pairs=False)))
    network, batch = build("hardkuma").eval(), batch_of(examples(pairs=False))
    with torch.no_grad():
        assert torch.equal(TEXT_EXPLAINERS["rationale"].attribute(network, batch), network(batch).attention)
    for name in ("gradient", "integrated-gradients"):
        first, again = (TEXT_EXPLAINERS[name].attribute(network, batch) for _ in range(2))
        assert torch.equal(first, again), "nothing is drawn while it is explained"
