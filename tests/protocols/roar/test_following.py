"""Recursive ROAR of families: the same loop for every kind of input."""

import numpy as np
import pytest

import trueness as tn
from tests.protocols.roar.test_step import one_decides
from trueness.kinds.image.data.datasets import photo_crops


def vectors():
    """Rows of noise whose class is the sign of one value."""
    rows = np.random.default_rng(0).normal(size=(800, 8))
    return rows, (rows[:, 2] > 0).astype(int)


@pytest.mark.parametrize(
    ("family", "data", "explainer", "recipe"),
    [
        ("logistic-regression", vectors, "input-x-gradient", None),
        ("average-uniform", lambda: one_decides(twice=False), "leave-one-out", "dry-run"),
    ],
)
def test_what_the_model_needs_is_hidden_first(family, data, explainer, recipe):
    found = tn.recursive_roar(family, data(), [explainer], seeds=1, steps=[0.125], leak=False, recipe=recipe)
    curves = found.tables["curves"].set_index(["method", "step"])["mean"]
    assert curves[explainer, 0] > 0.9
    assert curves[explainer, 1] < 0.75 < curves["random", 1]


def test_an_unknown_family_is_named_with_those_that_read_such_data():
    with pytest.raises(tn.UserError, match=r"no image model named 'small-cn'; did you mean small-cnn"):
        tn.recursive_roar("small-cn", photo_crops(16, train=8, dev=4, test=4), ["gradient"])
