"""Explainers that look as often as an error asks for, against ones that look very often."""

import numpy as np
import pytest
import torch

from tests.models.test_attentive import batch_of, build, examples
from trueness.errors import UserError
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.noisy_copies import GradientShap, SmoothGradient
from trueness.explainers.paths import IntegratedGradients
from trueness.explainers.tolerance import clenshaw_curtis, until_accurate, until_integrated
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

METHODS = {
    "integrated-gradients": (IntegratedGradients("auto", tolerance=1e-3), IntegratedGradients(300), 1e-3),
    "gradient-shap": (GradientShap("auto", tolerance=0.1), IntegratedGradients(300), 0.2),
    "smooth-gradient": (SmoothGradient("auto", tolerance=0.05), SmoothGradient(2000), 0.1),
    "lime": (Lime("auto", tolerance=0.1), Lime(20_000, ridge=1e-6, seed=5), 0.2),
    "kernel-shap": (KernelShap("auto", tolerance=0.1), KernelShap(5000), 0.2),
}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_error_is_what_was_asked_for_and_what_is_said(name):
    method, often, margin = METHODS[name]
    model = build()
    some = examples(sizes=(12, 5), pairs=False)
    batch = batch_of(some)
    scores, reference = method.attribute(model, batch), often.attribute(model, batch)
    told = method.checks(model, batch)["relative error"]
    for row, example in enumerate(some):
        apart = (scores[row] - reference[row]).norm() / reference[row].norm()
        assert float(apart) <= margin, "two or three times the tolerance where it is one standard error"
        assert float(told[row]) <= method.tolerance
        alone = method.attribute(model, batch_of([example]), int(model(batch).logits.argmax(-1)[row]))
        assert torch.allclose(alone[0], scores[row, : alone.shape[1]], atol=1e-8), "company changes nothing"
    assert often.checks(model, batch).keys() <= {"completeness error"}


def test_few_coalitions_are_all_taken():
    model, batch = build(), batch_of(examples(sizes=(5, 8), pairs=False))
    method = KernelShap("auto")
    assert torch.allclose(method.attribute(model, batch), KernelShap(1000).attribute(model, batch))
    assert method.checks(model, batch)["relative error"].tolist() == [0, 0]


def test_clenshaw_curtis_is_exact_for_polynomials():
    for intervals in (2, 4, 8, 16):
        points, weights = clenshaw_curtis(intervals)
        for power in range(intervals + 1):
            assert weights @ points**power == pytest.approx(1 / (power + 1), abs=1e-14)
        finer = clenshaw_curtis(2 * intervals)[0]
        assert np.allclose(finer[::2], points, atol=1e-15)


@pytest.mark.parametrize("place", [0.31, 0.33, 0.38, 0.62, 0.67])
def test_a_turn_between_few_points_is_found(place):
    """Two tokens whose scores turn at a place, in opposite ways: neither five points nor completeness see it."""
    asked = []

    def values(points):
        asked.extend(points.tolist())
        turn = torch.exp(-(((points - place) / 0.03) ** 2))
        return torch.stack([1 + 20 * turn, 1 - 20 * turn], dim=1), 2 * points

    found = until_integrated(values, torch.zeros((), dtype=torch.float64), 0.01)
    hump = 20 * 0.03 * np.pi**0.5
    assert found.scores[0].tolist() == pytest.approx([1 + hump, 1 - hump], rel=0.01)
    assert float(found.error) <= 0.01
    assert len(asked) == len(set(asked)), "each point is looked at once"


def test_the_jackknife_of_means_is_the_standard_error():
    values = torch.randn(2000, generator=torch.Generator().manual_seed(0)).double()
    found = until_accurate(lambda number: values[number][None, None] + 3, lambda some: torch.stack(some).mean(0), 1e-9)
    groups = values[:128].view(-1, 8).mean(dim=0)
    expected = groups.std() / 8**0.5 / found.scores.norm()
    assert float(found.error) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("count", ["many", 0, True, 2.5])
def test_a_count_that_is_none_is_refused(count):
    for method in (Lime(count), KernelShap(count), IntegratedGradients(count), SmoothGradient(count)):
        with pytest.raises(UserError, match='at least 1, or "auto"'):
            method.attribute(build(), batch_of(examples(sizes=(6,), pairs=False)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernel-shap[filled=maybe]", "filled should be a valid boolean, not 'maybe'"),
        ("lime[n_samples=2.5]", "n_samples should be a valid integer or 'auto', not 2.5"),
        ("leave-one-out[replace=foo]", "replace should be 'delete' or 'mask', not 'foo'"),
    ],
)
def test_a_setting_of_another_type_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        TEXT_EXPLAINERS[name]


@pytest.mark.parametrize(
    "name", ["lime", "kernel-shap", "occlusion", "lime[n_samples=auto]", "kernel-shap[n_samples=auto]"]
)
def test_a_text_without_tokens_to_explain_scores_nothing(name):
    """Alone, and in company, which it does not change."""
    model, batch = build(), batch_of(examples(sizes=(6, 12), pairs=False))
    method = TEXT_EXPLAINERS[name]
    before = method.attribute(model, batch, 0)
    batch.text.mask[0] = False
    beside = method.attribute(model, batch, 0)
    assert not beside[0].any()
    assert torch.equal(beside[1], before[1])
    batch.text.mask[1] = False
    assert not method.attribute(model, batch, 0).any()
    assert not any(error.any() for error in method.checks(model, batch, 0).values())
