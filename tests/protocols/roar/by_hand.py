"""Curves of a few methods, made by hand."""

from dataclasses import replace

import numpy as np

from trueness.kinds import KINDS
from trueness.protocols.roar.curves import RemovalCell
from trueness.protocols.roar.guards import warnings
from trueness.studies.retraining import retraining_of

AMOUNTS = np.array([0.0, 0.1, 0.2, 0.5, 0.9, 1.0])
RANDOM = [0.9, 0.88, 0.86, 0.8, 0.7, 0.3]
EARLY = [0.9, 0.6, 0.55, 0.5, 0.45, 0.3]
LATE = [0.9, 0.88, 0.86, 0.5, 0.45, 0.3]


def setting(methods, dataset="texts", model="net", unit="share", noise=0.005, seeds=4, random=RANDOM):
    rng = np.random.default_rng(0)

    def seen(curve):
        found = np.tile(curve, (seeds, 1)) + rng.normal(scale=noise, size=(seeds, len(curve)))
        found[:, [0, -1]] = np.array(curve)[[0, -1]]  # shared by all methods
        return found if unit == "share" else found[:, :-1]

    curves = {("plain", "random"): seen(random)}
    curves |= {("recursive", name): seen(curve) for name, curve in methods.items()}
    amounts = AMOUNTS if unit == "share" else AMOUNTS[:-1] * 10
    return RemovalCell(dataset, model, "accuracy", unit, amounts, tuple(range(seeds)), curves)


def found(code, curves):
    return [one for one in warnings([curves], "predicted") if one.code == code]


def retraining(train, data):
    """Of texts, by a function that trains."""
    known = retraining_of(KINDS["text"], data, "cpu")
    return replace(known, train=lambda seeds, views: train(data, seeds, views=views, device="cpu"))
