"""Models whose contributions are known, and slow literal versions: paths of gradients, LIME, Kernel SHAP."""

import numpy as np
import pytest
import torch
from captum import attr

from tests.models.test_attentive import batch_of, build, examples
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.masking import explain_together
from trueness.explainers.noisy_copies import GradientShap, SmoothGradient
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.text.data.coding import MASK
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.papers.recursive_roar.explainers import IntegratedGradientsMadsen2022


def additive(**shape):
    """The logit is a sum over tokens: projections without activation, uniform weights, a mask token of zeros."""
    model = build("average", "uniform", "linear", activation="identity", **shape)
    with torch.no_grad():
        model.embedding.weight[MASK] = 0
        model.encoder.projection.bias.zero_()
    return model


def contributions(model, batch, target):
    with torch.no_grad():
        states = model.encode(model.embed(batch), batch)
        logits = torch.einsum("bth,bh->bt", states, model.output.weight[target])
    return logits / batch.mask.sum(-1, keepdim=True) * batch.mask


def test_an_additive_model_has_known_contributions():
    model, batch = additive(), batch_of(examples(pairs=False))
    known = contributions(model, batch, model(batch).logits.argmax(-1))
    methods = {
        "integrated": (IntegratedGradients(n_steps=2), 1e-9),
        "from the mask token": (IntegratedGradients(n_steps=2, baselines="mask"), 1e-9),
        "expected": (GradientShap(n_samples=3), 1e-9),
        "input x gradient": (TEXT_EXPLAINERS["input-x-gradient"], 1e-9),
        "Shapley": (KernelShap(output="logit"), 1e-7),
        "Shapley, drawn": (KernelShap(n_samples=40, output="logit"), 1e-7),
        "LIME": (Lime(output="logit", ridge=1e-9), 1e-6),
    }
    for name, (method, error) in methods.items():
        assert torch.allclose(method.attribute(model, batch).double(), known.double(), atol=error), name
    slope = SmoothGradient(n_samples=3).attribute(model, batch)
    assert torch.allclose(slope, TEXT_EXPLAINERS["gradient"].attribute(model, batch), atol=1e-9), (
        "it is the same everywhere"
    )


def test_leaving_out_gives_what_the_sigmoid_of_the_known_sum_loses():
    model, batch = additive(classes=2, one_logit=True), batch_of(examples(pairs=False))
    whole = model(batch).logits.detach()
    weight = model.output.weight[0].detach()
    with torch.no_grad():
        states = model.encode(model.embed(batch), batch)
    part = torch.einsum("bth,h->bt", states, weight) / batch.mask.sum(-1, keepdim=True)
    margin = (whole[:, 1] - whole[:, 0])[:, None]
    expected = (torch.sigmoid(margin) - torch.sigmoid(margin - part)) * batch.mask
    assert torch.allclose(LeaveOneOut("mask").attribute(model, batch, 1), expected, atol=1e-9)


@pytest.mark.parametrize(
    "kind", [("bilstm", "additive", "linear"), ("cnn", "dot", "linear"), ("bilstm", "additive", "query")]
)
def test_integrated_gradients_equal_captum_and_are_complete(kind):
    model, batch = build(*kind), batch_of(examples(pairs=kind[2] == "query"))
    target = model(batch).logits.argmax(-1)
    embeddings = model.embed(batch).detach()
    empty = torch.where(batch.mask[..., None], 0.0, embeddings)
    captum = attr.IntegratedGradients(lambda e, rows: model(batch.rows(rows), embeddings=e).logits)
    expected = captum.attribute(
        embeddings, empty, target=target, additional_forward_args=torch.arange(len(batch)), n_steps=20
    ).sum(-1)
    for max_bytes in (1, 100_000, 1 << 28):
        ours = IntegratedGradients(n_steps=20, max_bytes=max_bytes).attribute(model, batch)
        assert torch.allclose(ours, expected * batch.mask, atol=1e-8)
    # The way of a model with rectifiers has corners, where the sum over points is less exact.
    error = 5e-3 if kind[0] == "cnn" else 1e-6
    assert IntegratedGradients(n_steps=50).completeness_error(model, batch).max() < error


def test_the_variant_of_madsen_carries_an_extra_factor():
    model, batch = build(), batch_of(examples(pairs=False))
    target = model(batch).logits.argmax(-1)
    total = 0
    for step in range(1, 11):
        embeddings = model.embed(batch).detach().requires_grad_()
        logits = model(batch, embeddings=embeddings * (step / 10)).logits  # scaled after it requires a gradient
        (gradient,) = torch.autograd.grad(logits.gather(1, target[:, None]).sum(), embeddings)
        total = total + gradient / 10
    expected = (total * model.embed(batch).detach()).sum(-1).abs() * batch.mask
    assert torch.allclose(IntegratedGradientsMadsen2022(n_steps=10).attribute(model, batch), expected, atol=1e-9)


def test_expected_gradients_approach_integrated_ones():
    model, batch = build(), batch_of(examples(pairs=False))
    exact = IntegratedGradients().attribute(model, batch)
    near = GradientShap(n_samples=400).attribute(model, batch)
    assert torch.allclose(near, exact, atol=0.1 * float(exact.abs().max()))
    other = GradientShap(n_samples=400, seed=1).attribute(model, batch)
    assert not torch.equal(near, other)
    noisy = GradientShap(n_samples=50, noise=0.1).attribute(model, batch)
    assert torch.equal(noisy, GradientShap(n_samples=50, noise=0.1).attribute(model, batch))


def said(model, batch, row, keep, target):
    """The probability of a text whose tokens outside `keep` are masked."""
    one = batch.rows(torch.tensor([row]))
    positions = one.mask[0].nonzero()[:, 0]
    hidden = torch.zeros_like(one.mask)
    hidden[0, positions[~torch.as_tensor(keep)]] = True
    with torch.no_grad():
        return float(torch.softmax(model(one.hide(hidden)).logits, -1)[0, target])


def test_drawn_coalitions_approach_the_exact_values_and_always_sum_up():
    model, batch = build(), batch_of(examples(sizes=(9, 5), pairs=False))
    exact = KernelShap(n_samples=1000).attribute(model, batch)
    drawn = KernelShap(n_samples=200).attribute(model, batch)
    assert torch.allclose(drawn.sum(-1), exact.sum(-1), atol=1e-6)
    assert torch.allclose(drawn, exact, atol=0.3 * float(exact.abs().max()))


def test_drawn_coalitions_are_a_weighted_regression_under_a_constraint():
    count, samples = 7, 40
    model, batch = build(), batch_of(examples(sizes=(count,), pairs=False))
    method = KernelShap(samples)
    (generator,) = batch.generators(0)
    keep = method.draw(count, generator).numpy()
    assert (keep[::2] == ~keep[1::2]).all()
    target = int(model(batch).logits[0].argmax())
    whole, empty = (said(model, batch, 0, np.full(count, shown), target) for shown in (True, False))
    gram, right = np.zeros((count, count)), np.zeros(count)
    for mask in keep.astype(float):
        weight = 1 / (mask.sum() * (count - mask.sum()))
        gram += weight * np.outer(mask, mask)
        right += weight * mask * (said(model, batch, 0, mask.astype(bool), target) - empty)
    # Lagrange: the values sum to the difference.
    system = np.block([[gram, np.ones((count, 1))], [np.ones((1, count)), np.zeros((1, 1))]])
    wanted = np.linalg.solve(system, np.append(right, whole - empty))[:count]
    assert method.attribute(model, batch)[0][batch.mask[0]].numpy() == pytest.approx(wanted, abs=1e-6)


def test_coalitions_of_every_size_are_drawn_as_often():
    drawn = KernelShap(20_000).draw(20, torch.Generator().manual_seed(0))
    number = torch.bincount(drawn.sum(dim=1), minlength=21)[1:20].double()
    assert (number / number.sum() - 1 / 19).abs().max() < 0.006  # four standard errors


def test_one_coalition_comes_with_its_complement():
    model, batch = build(), batch_of(examples(sizes=(5,), pairs=False))
    with pytest.warns(UserWarning, match="Too few masked copies"):
        assert torch.isfinite(KernelShap(1).attribute(model, batch)).all()


def test_no_warning_where_copies_suffice():
    model, batch = build(), batch_of(examples(sizes=(5, 1), pairs=False))
    for method in (KernelShap(10), Lime(6)):
        assert torch.isfinite(method.attribute(model, batch)).all(), "and any warning is an error"


@pytest.mark.parametrize(("method", "enough"), [(KernelShap(9), "twice as many copies"), (Lime(5), "more copies than")])
def test_too_few_copies_are_told(method, enough):
    model, batch = build(), batch_of(examples(sizes=(5,), pairs=False))
    with pytest.warns(UserWarning, match=f"Too few masked copies.*{enough}"):
        method.attribute(model, batch)


def test_lime_asks_about_its_copies_alone(monkeypatch):
    model, batch = build(), batch_of(examples(sizes=(12,), pairs=False))
    seen = []
    forward = type(model).forward
    monkeypatch.setattr(type(model), "forward", lambda self, b, **k: seen.append(len(b)) or forward(self, b, **k))
    Lime(14).attribute(model, batch, 0)
    assert sum(seen) == 14
    seen.clear()
    KernelShap(24).attribute(model, batch, 0)
    assert sum(seen) == 24 + 2, "and the whole and the empty text"


def test_methods_that_mask_share_their_copies(monkeypatch):
    model, batch = build(), batch_of(examples(sizes=(5, 4), pairs=False))
    seen = []
    forward = type(model).forward
    monkeypatch.setattr(type(model), "forward", lambda self, b, **k: seen.append(len(b)) or forward(self, b, **k))
    alone = [method.attribute(model, batch) for method in (Lime(), KernelShap())]
    apart = sum(seen)
    seen.clear()
    together = explain_together([Lime(), KernelShap()], model, batch)
    assert sum(seen) < apart
    assert sum(seen) <= 2**5 + 2**4 + len(batch), "every distinct mask once"
    for first, second in zip(alone, together, strict=True):
        assert torch.equal(first, second)
