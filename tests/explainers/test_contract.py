"""Every explainer on every kind of input: one contract, then each method against a slow literal version."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from tests.explainers.exceptions import check_restored
from tests.explainers.subjects import SUBJECTS, subject
from trueness.errors import UserError
from trueness.explainers.gradients import ends
from trueness.explainers.noisy_copies import noise_at

FEW = {"n_samples": 30, "n_steps": 6}  # the contract asks for no accuracy
SLOW_ON_PIXELS = {"leave-one-out", "occlusion", "kernel-shap", "lime@zhou2022", "smooth-gradient@zhou2022"}
KINDS = ("bilstm additive linear", "cnn dot linear", "images", "rows", "vectors")
OWN = sorted({name for one in SUBJECTS for name in subject(one).registry})
DRAWING = [name for name in OWN if name != "kernel-shap"]  # which is exact where groups are few


def supported(name, on):
    """Whether a method is meant for that subject; what it says where it is not is told in its own tests."""
    registry = subject(on).registry
    if name not in registry or (on == "pixels" and name in SLOW_ON_PIXELS):
        return False
    lstm = name in ("deep-lift", "deep-shap") and on.startswith("bilstm")
    nonlinear = name == "coefficient" and on == "rows"
    return not lstm and not nonlinear and not {"layers", "selection"} & set(registry[name].facts.needs)


def method(on, name, **settings):
    """The registered one with few samples, or others."""
    found = subject(on).registry[name]
    few = {key: value for key, value in (FEW | settings).items() if hasattr(found, key)}
    return replace(found, **few) if few else found


def pairs(names, on=KINDS):
    return [(name, one) for name, one in itertools.product(names, on) if supported(name, one)]


@pytest.mark.filterwarnings("ignore:Too few masked copies")
@pytest.mark.parametrize(("name", "on"), pairs(OWN, SUBJECTS))
def test_the_contract(name, on):
    model, batch, explainer = subject(on).model, subject(on).batch, method(on, name)
    signed = []
    for target in ("predicted", "gold", 1):
        scores = explainer.attribute(model, batch, target)
        assert scores.shape == batch.mask.shape
        assert not scores.requires_grad
        assert torch.isfinite(scores).all()
        assert (scores[~batch.mask] == 0).all()
        assert torch.equal(scores, explainer.attribute(model, batch, target)), "the same again"
        signed.append(bool((scores < 0).any()))
        for row, one in enumerate(batch.alone()):  # padding and company change nothing
            alone = explainer.attribute(model, one, target)
            width, size = alone.shape[1], float(scores.abs().max())
            assert torch.allclose(
                alone[0], scores[row, :width], atol=1e-8 if scores.dtype.itemsize == 8 else 1e-5 * size
            )
    assert any(signed) is explainer.facts.signed, "as declared"
    for training in (True, False):
        model.train(training)
        explainer.attribute(model, batch)
        assert model.training is training
    check_restored(model, subject(on).part, lambda: explainer.attribute(model, batch))


@pytest.mark.parametrize("on", KINDS)
def test_an_unknown_target_or_setting_is_refused(on):
    one = subject(on)
    for target in (7, -1, "positive"):
        with pytest.raises(UserError, match="The target must be"):
            one.registry["gradient"].attribute(one.model, one.batch, target)
    for name in ("integrated-gradients[baselines=sofa]", "lime[hiding=sofa]"):
        with pytest.raises(UserError, match=r"should be .* not 'sofa'"):
            one.registry[name].attribute(one.model, one.batch)


@pytest.mark.parametrize(("name", "on"), pairs(DRAWING, ("images", "rows", "vectors")))
def test_another_seed_draws_anew(name, on):
    one = subject(on)
    if one.registry[name].facts.random:
        first, other = (method(on, name, seed=seed).attribute(one.model, one.batch) for seed in (-1, -2))
        assert not torch.allclose(first, other)


def gradient_at(one, row, values, output="logit"):
    """Of one example at some values (units, size), by hand."""
    given = values.detach()[None].requires_grad_()
    logits = one.model.logits(_alone(one, row), values=given)
    said = logits if output == "logit" else logits.softmax(dim=-1)
    return torch.autograd.grad(said[0, one.chosen[row]], given)[0][0]


def _alone(one, row):
    return list(one.batch.alone())[row]


def check(one, name, literal, settings=None, error=1e-7):
    """The scores of every example are those of `literal(row, example, values, blank)`."""
    explainer = replace(one.registry[name], **(settings or {}))
    found = explainer.attribute(one.model, one.batch)
    for row, example in enumerate(one.batch.alone()):
        values, blank = (part[0] for part in ends(one.model, example, "zero"))
        wanted = one.to_units(literal(row, example, values, blank)).to(found)
        wanted = wanted * example.mask[0]
        assert wanted.abs().max() > 0
        tight = error if found.dtype == torch.float64 else 1e-5 * float(wanted.abs().max())
        assert torch.allclose(found[row, : len(wanted)], wanted, atol=tight, rtol=0), (row, found[row], wanted)


@pytest.mark.parametrize("on", KINDS)
def test_gradients(on):
    one = subject(on)
    check(one, "gradient", lambda row, _, values, __: one.size(gradient_at(one, row, values)))
    check(
        one,
        "input-x-gradient",
        lambda row, _, values, blank: (gradient_at(one, row, values) * (values - blank)).sum(dim=-1),
    )


@pytest.mark.parametrize("on", KINDS)
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_integrated_gradients_sum_along_the_way_and_are_complete(on, output):
    one = subject(on)
    nodes, weights = np.polynomial.legendre.leggauss(7)

    def literal(row, _, values, blank):
        share = (nodes + 1) / 2
        every = [
            weight / 2 * gradient_at(one, row, blank + at * (values - blank), output)
            for at, weight in zip(share.tolist(), weights.tolist(), strict=True)
        ]
        return (sum(every) * (values - blank)).sum(dim=-1)

    check(one, "integrated-gradients", literal, {"n_steps": 7, "output": output})
    if on in ("bilstm additive linear", "rows", "vectors"):  # the others have corners
        found = replace(one.registry["integrated-gradients"], output=output)
        assert float(found.completeness_error(one.model, one.batch).max()) < 1e-6
        told = replace(found, n_steps="auto", tolerance=1e-3)
        assert float(told.checks(one.model, one.batch)["relative error"].max()) <= 1e-3
        assert torch.allclose(told.attribute(one.model, one.batch), found.attribute(one.model, one.batch), atol=1e-3)


@pytest.mark.parametrize("on", KINDS)
def test_expected_gradients_are_means_over_drawn_points(on):
    one, number = subject(on), 5
    explainer = one.registry["gradient-shap"]

    def literal(row, example, values, blank):
        others = explainer.baselines == "others"
        (generator,) = example.generators(0)
        drawn = torch.rand(2 if others else 1, number, generator=generator).to(values)
        total = torch.zeros(len(values)).to(values)
        for sample in range(number):
            start = blank
            if others:
                images = one.model.others(example)
                start = images[int(drawn[0, sample] * len(images))]
            slope = gradient_at(one, row, start + drawn[-1, sample] * (values - start))
            total += (slope * (values - start)).sum(dim=-1) / number
        return total

    check(one, "gradient-shap", literal, {"n_samples": number}, 1e-6)


@pytest.mark.parametrize("on", KINDS)
def test_smoothed_gradients_are_means_over_noisy_copies(on):
    one, number = subject(on), 3
    assert one.registry["smooth-gradient"].n_samples == one.noise

    def noisy(row, example, values, read=lambda slope: slope):
        noise = noise_at(one.model, example, values[None], 0.2, seed=0)
        drawn = noise(torch.zeros(100, dtype=torch.long), torch.arange(100), len(values))
        mask = example.finest().mask[0]
        spread = float(one.spread(values[mask])) if mask.sum() * values.shape[1] > 4 else None
        assert spread is None or float(drawn[:, mask].std()) == pytest.approx(0.2 * spread, rel=0.25)
        assert not drawn[:, ~mask].any()
        return sum(read(gradient_at(one, row, values + drawn[copy])) for copy in range(number)) / number

    settings = {"n_samples": number, "noise": 0.2}
    check(one, "smooth-gradient", lambda row, some, values, _: one.size(noisy(row, some, values)), settings)
    if on == "images":  # there noise adds up
        check(
            one,
            "smooth-gradient@zhou2022",
            lambda row, some, values, _: one.size(noisy(row, some, values, torch.abs)),
            settings,
        )


def said(one, row, example, hidden, hiding="usual", groups=None):
    """The probability of the target with some units (of the finest) hidden."""
    shown = one.model.shown(example.finest(), hiding, groups)
    with torch.no_grad():
        return float(one.model.logits(shown.hide(hidden[None]))[0].double().softmax(dim=-1)[one.chosen[row]])


def spread_over(groups, of_groups):
    """Each unit with the score of its group."""
    return torch.tensor([of_groups[group] if group >= 0 else 0.0 for group in groups[0].tolist()])


@pytest.mark.parametrize("on", KINDS)
def test_lime_is_a_weighted_ridge_regression(on):
    one = subject(on)

    def literal(row, example, *_, hiding=one.registry["lime"].hiding, read=lambda scores: scores):
        groups = example.finest().groups()
        (generator,) = example.generators(0)
        keep = (torch.rand(80, int(groups.max()) + 1, generator=generator) < 0.5).numpy()
        values = []
        for mask in keep:
            hidden = torch.tensor([group >= 0 and not mask[group] for group in groups[0].tolist()])
            values.append(said(one, row, example, hidden, hiding, groups))
        weights = np.exp(-((1 - np.sqrt(keep.mean(axis=1))) ** 2) / (2 * 0.25**2))
        fitted = Ridge(alpha=1.0).fit(keep.astype(float), values, sample_weight=weights)
        return spread_over(groups, read(fitted.coef_))

    check(one, "lime", literal, {"n_samples": 80}, 1e-6)
    if on == "images":
        black = {"hiding": "black", "read": np.abs}
        check(one, "lime@zhou2022", lambda *given: literal(*given, **black), {"n_samples": 80})


@pytest.mark.parametrize("on", ["bilstm additive linear", "vectors"])
def test_kernel_shap_is_shapley_s_sum_over_orders(on):
    one = subject(on)

    def literal(row, example, *_):
        groups = example.groups()
        count = int(groups.max()) + 1
        values = np.zeros(count)

        def worth(kept):
            return said(one, row, example, torch.tensor([g >= 0 and g not in kept for g in groups[0].tolist()]))

        for subset in itertools.chain.from_iterable(itertools.combinations(range(count), k) for k in range(count)):
            share = 1 / (count * math.comb(count - 1, len(subset)))
            before = worth(subset)
            for group in set(range(count)) - set(subset):
                values[group] += share * (worth((*subset, group)) - before)
        return spread_over(groups, values)

    check(one, "kernel-shap", literal, error=1e-6)


@pytest.mark.filterwarnings("ignore:Too few masked copies")
@pytest.mark.parametrize("on", KINDS)
def test_shapley_values_sum_to_what_hiding_everything_costs(on):
    one = subject(on)
    for number in (1000, 40):
        explainer = replace(one.registry["kernel-shap"], n_samples=number)
        found = explainer.attribute(one.model, one.batch).sum(dim=1)
        for row, example in enumerate(one.batch.alone()):
            groups = example.finest().groups()
            mask = example.finest().mask[0]
            whole, empty = (
                said(one, row, example, hidden, explainer.hiding, groups) for hidden in (torch.zeros_like(mask), mask)
            )
            assert float(found[row]) == pytest.approx(whole - empty, abs=1e-5)


@pytest.mark.parametrize("on", KINDS)
def test_occlusion_is_the_mean_over_the_windows_that_hold_a_unit(on):
    one = subject(on)
    size = {"vectors": 2, "rows": 1}.get(on, 3)
    settings = {"sliding_window_shapes": 0.25} if on == "images" else {}

    def windows(example):
        if on == "images":
            begins = range(0, 13, 2)
            for top, left in itertools.product(begins, begins):
                hidden = torch.zeros(16, 16, dtype=torch.bool)
                hidden[top : top + 4, left : left + 4] = True
                yield hidden.flatten()
            return
        units = example.mask[0].nonzero()[:, 0]
        for begin in range(max(len(units) - size, 0) + 1):
            yield torch.isin(torch.arange(example.width), units[begin : begin + size])

    def literal(row, example, *_):
        total, times = torch.zeros(example.width, dtype=torch.float64), torch.zeros(example.width)
        whole = said(one, row, example, torch.zeros(example.width, dtype=torch.bool))
        for hidden in windows(example):
            total[hidden] += whole - said(one, row, example, hidden)
            times += hidden
        return total / times.clamp(min=1)

    check(one, "occlusion", literal, settings, 1e-6)


@pytest.mark.parametrize("on", KINDS)
def test_leaving_out_hides_one_unit_at_a_time(on):
    one = subject(on)
    name = "leave-one-out-mask" if "leave-one-out-mask" in one.registry else "leave-one-out"
    found = one.registry[name].attribute(one.model, one.batch)
    for row, example in enumerate(one.batch.alone()):
        with torch.no_grad():
            whole = one.model.logits(example).softmax(dim=-1)[0, one.chosen[row]]
            for unit in range(example.mask.shape[1]):
                where = torch.zeros_like(example.mask)
                where[0, unit] = True
                after = one.model.logits(example.hide(where)).softmax(dim=-1)[0, one.chosen[row]]
                wanted = float(whole - after) if example.mask[0, unit] else 0.0
                assert float(found[row, unit]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("name", "on"), pairs(["lime", "kernel-shap", "gradient-shap", "smooth-gradient"], KINDS))
def test_as_many_samples_as_an_error_asks_for(name, on):
    one = subject(on)
    explainer = replace(one.registry[name], n_samples="auto", tolerance=0.3)
    found = explainer.attribute(one.model, one.batch)
    often = replace(explainer, n_samples=1000).attribute(one.model, one.batch)
    assert float((found - often).norm() / often.norm()) < 0.6
    assert explainer.checks(one.model, one.batch)["relative error"].shape == (4,)


def test_blurred_is_a_weighted_mean_over_neighbours_in_a_row_or_in_rows_and_columns():
    kernel = np.array([1.0, 4.0, 6.0, 4.0, 1.0])
    for on in ("bilstm additive linear", "images"):
        one = subject(on)
        sharp = one.registry["input-x-gradient"].attribute(one.model, one.batch).abs()
        soft = one.registry["blurred[input-x-gradient]"].attribute(one.model, one.batch)
        grid = one.batch.grid
        for row, inside in enumerate(one.batch.mask):
            for here in inside.nonzero()[:, 0].tolist():
                total = weights = 0.0
                for there in inside.nonzero()[:, 0].tolist():
                    apart = np.abs(np.subtract(np.unravel_index(here, grid), np.unravel_index(there, grid)))
                    if apart.max() <= 2:
                        weight = float(np.prod(kernel[apart + 2]))
                        total, weights = total + weight * float(sharp[row, there]), weights + weight
                assert float(soft[row, here]) == pytest.approx(total / weights, rel=1e-5)
    one = subject("vectors")
    with pytest.raises(UserError, match="neighbours"):
        one.registry["blurred[gradient]"].attribute(one.model, one.batch)
