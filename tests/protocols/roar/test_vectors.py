import itertools

import numpy as np
import pytest

from trueness.kinds.vector.vectors import VectorDataset, Vectors
from trueness.papers.roar_synthetic.trial import ORDERS, LinearModel, removal_curve

RATIOS = [0.0, 0.25, 0.5, 0.75, 1.0]


class Lookup:
    """A hand-made learner: it uses the first of its preferred features that is left, and knows only that one.

    Every example's informative features all equal the label, so they are mutually redundant by construction.
    """

    def __init__(self):
        self.trained = []

    def train(self, examples):
        self.trained.append(examples.features.shape[1])
        width = examples.features.shape[1]
        weights = np.zeros(width)
        signs = 2.0 * examples.labels - 1
        right = [column for column in range(width) if np.array_equal(examples.features[:, column], signs)]
        if right:
            weights[right[0]] = 1.0
        return LinearModel(weights, -1e-9)


def redundant(copies=2, width=4):
    labels = np.array([0, 1, 0, 1, 1, 0])
    features = np.zeros((6, width))
    features[:, :copies] = (2.0 * labels - 1)[:, None]
    part = Vectors(features, labels)
    return VectorDataset("redundant", ("0", "1"), {"train": part, "test": part}, evidence=np.arange(width) < copies)


def accuracies(order, dataset=None, ratios=RATIOS, learner=None):
    learner = learner or Lookup()
    points = removal_curve(
        dataset or redundant(), learner.train, lambda model: model.coefficients, order=order, ratios=ratios, seed=0
    )
    return [point.accuracy for point in points]


def test_recursive_roar_sees_through_redundancy_and_plain_roar_does_not():
    """With a planted duplicate plain ROAR cannot tell; Recursive ROAR finds the copy at the next step."""
    assert accuracies("ground-truth") == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert accuracies("recursive-roar") == [1.0, 1.0, 0.5, 0.5, 0.5]
    # Plain ROAR removes feature 0, then ties by position: 1, 2, 3; with the copy last it would come last.
    swapped = redundant()
    order = [0, 2, 3, 1]
    moved = VectorDataset(
        "moved",
        swapped.classes,
        {name: some.keep(np.array(order)) for name, some in swapped.splits.items()},
        evidence=swapped.evidence[order],
    )
    assert accuracies("roar", moved) == [1.0, 1.0, 1.0, 1.0, 0.5]
    assert accuracies("recursive-roar", moved) == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert accuracies("ground-truth", moved) == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert accuracies("worst-case", moved) == [1.0, 1.0, 1.0, 1.0, 0.5]


@pytest.mark.parametrize("order", ORDERS)
def test_removals_are_nested_and_complete(order):
    points = removal_curve(
        redundant(3, 8), Lookup().train, lambda model: model.coefficients, order=order, ratios=RATIOS, seed=3
    )
    for before, after in itertools.pairwise(points):
        assert after.removed[: len(before.removed)] == before.removed
    assert [len(point.removed) for point in points] == [0, 2, 4, 6, 8]
    assert sorted(points[-1].removed) == list(range(8))


def test_the_number_removed_is_the_floor_of_the_ratio():
    ratios = [0.0, 0.3, 0.49, 0.5, 0.99]
    points = removal_curve(redundant(), Lookup().train, lambda m: m.coefficients, order="random", ratios=ratios, seed=0)
    assert [len(point.removed) for point in points] == [0, 1, 1, 2, 3]
    sixteenths = [k / 16 for k in range(17)]
    points = removal_curve(
        redundant(2, 16), Lookup().train, lambda m: m.coefficients, order="random", ratios=sixteenths, seed=0
    )
    assert [len(point.removed) for point in points] == list(range(17))


def test_a_step_that_removes_nothing_trains_nothing():
    learner = Lookup()
    accuracies("recursive-roar", ratios=[0.0, 0.1, 0.2, 0.25], learner=learner)
    assert learner.trained == [4, 3]


def test_random_orders_differ_by_seed_and_not_by_run():
    removed = [
        removal_curve(
            redundant(2, 16), Lookup().train, lambda m: m.coefficients, order="random", ratios=[0, 1], seed=seed
        )[-1].removed
        for seed in (1, 1, 2)
    ]
    assert removed[0] == removed[1] != removed[2]


def test_recursive_roar_ranks_what_is_left_by_the_current_model():
    """The literal procedure: train, remove the largest |score|, repeat."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 6))
    part = Vectors(x, (x[:, 3] > 0).astype(np.int64))
    dataset = VectorDataset("random", ("0", "1"), {"train": part, "test": part}, evidence=np.arange(6) == 3)

    def train(examples):
        weights = examples.features.T @ (2.0 * examples.labels - 1)
        return LinearModel(weights * (1 + np.arange(len(weights)) % 3), 0.0)

    left, removed, expected = list(range(6)), [], []
    for _ in range(6):
        model = train(part.keep(np.array(left)))
        expected.append((tuple(removed), model.accuracy(part.keep(np.array(left)))))
        removed.append(left.pop(int(np.abs(model.coefficients).argmax())))
    points = removal_curve(
        dataset, train, lambda m: m.coefficients, order="recursive-roar", ratios=[k / 6 for k in range(6)], seed=0
    )
    assert [(point.removed, point.accuracy) for point in points] == expected
