"""The scores of many methods on the same examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueness.data.inputs import Split
from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Target
from trueness.explainers.masking import MaskingExplainer, explain_together
from trueness.models.network import Network, check_outputs, inspecting
from trueness.stats.undefined import Bools, Floats


@dataclass(frozen=True)
class Explained:
    """What the methods say of some examples: (examples, units) each."""

    scores: dict[str, Floats]
    mask: Bools
    refused: dict[str, str] = field(default_factory=dict)
    """Methods that the model cannot support, and why."""


def explain_all(
    network: Network,
    split: Split,
    explainers: Mapping[str, Explainer],
    target: Target = "predicted",
    *,
    refuse: bool = True,
    redraw: bool = False,
) -> Explained:
    """The scores of every method; those that mask units share their copies.

    Unless `refuse`, methods that the model cannot support are left out and named. With `redraw` only methods that draw
    at random are asked, with other draws than usual.
    """
    methods: dict[str, Any] = dict(explainers)
    if redraw:
        drawing = {name: method for name, method in methods.items() if method.facts.random}
        methods = {name: replace(method, seed=method.seed + 1) for name, method in drawing.items()}
    refused: dict[str, str] = {}
    if not refuse:
        for name, method in methods.items():
            try:
                method.attribute(network, split.batch([int(np.argmin(split.sizes))]), target)
            except Unsupported as error:
                refused[name] = str(error)
    asked = {name: method for name, method in methods.items() if name not in refused}
    width = int(split.sizes.max())
    scores = {name: np.zeros((len(split), width)) for name in asked}
    mask = np.zeros((len(split), width), dtype=bool)
    for rows, batch in split.to_explain():
        with inspecting(network):
            check_outputs(network, network(batch).logits)  # attention alone would not show that they are not finite
        inside = batch.mask.cpu().numpy()
        mask[rows, : inside.shape[1]] = inside
        masking = {name: method for name, method in asked.items() if isinstance(method, MaskingExplainer)}
        shared = explain_together(list(masking.values()), network, batch, target) if masking else []
        together = dict(zip(masking, shared, strict=True))
        for name, method in list(asked.items()):
            try:
                found = together[name] if name in together else method.attribute(network, batch, target)
            except Unsupported as error:  # some refuse an example, not the model
                if refuse:
                    raise
                refused[name] = str(error)
                del asked[name], scores[name]
                continue
            scores[name][rows, : inside.shape[1]] = found.double().cpu().numpy()
    return Explained(scores, mask, refused)
