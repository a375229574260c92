"""The scores of many methods on the same texts, and once more where a method draws at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from trueness.data.batches import EncodedSplit
from trueness.errors import UserError
from trueness.explainers.catalogue import TEXT_EXPLAINERS, KernelShap, Lime, Occlusion, Target, TextExplainer
from trueness.explainers.masking import MaskingExplainer, explain_together
from trueness.models.network import TextNetwork
from trueness.stats.undefined import Bools, Floats

_TOKENS = 1 << 12  # of one batch on a CPU
_ON_GPU = 1 << 15


@dataclass(frozen=True)
class Explained:
    """What the methods say of some texts: (texts, tokens) each."""

    scores: dict[str, Floats]
    mask: Bools
    again: dict[str, Floats] = field(default_factory=dict)
    """Methods that draw at random, with other draws."""
    refused: dict[str, str] = field(default_factory=dict)
    """Methods that the model cannot support, and why."""


def explain_all(
    network: TextNetwork,
    split: EncodedSplit,
    explainers: Sequence[str],
    target: Target = "predicted",
    *,
    repeat: bool = False,
    refuse: bool = True,
) -> Explained:
    """The scores of every method; those that mask tokens share their copies.

    With `repeat` methods that draw at random are asked twice. Unless `refuse`, methods that the model cannot support
    are left out and named.
    """
    methods: dict[str, TextExplainer] = {name: TEXT_EXPLAINERS[name] for name in explainers}
    draws = {name: other for name, method in methods.items() if repeat and (other := _redrawn(method)) is not None}
    refused: dict[str, str] = {}
    if not refuse:
        for name, method in methods.items():
            try:
                method.attribute(network, split.batch([int(np.argmin(split.sizes))]), target)
            except UserError as error:
                refused[name] = str(error)
    width = int(split.sizes.max())
    asked = {(name, False): method for name, method in methods.items() if name not in refused}
    asked |= {(name, True): method for name, method in draws.items() if name not in refused}
    scores = {key: np.zeros((len(split), width)) for key in asked}
    mask = np.zeros((len(split), width), dtype=bool)
    for rows, batch in split.in_order(_ON_GPU if split.device.type == "cuda" else _TOKENS):
        inside = batch.mask.cpu().numpy()
        mask[rows, : inside.shape[1]] = inside
        for key, found in _attribute(asked, network, batch, target):
            scores[key][rows, : inside.shape[1]] = found.double().cpu().numpy()
    first = {name: values for (name, other), values in scores.items() if not other}
    again = {name: values for (name, other), values in scores.items() if other}
    return Explained(first, mask, again, refused)


def _attribute(
    asked: Mapping[tuple[str, bool], TextExplainer], network: TextNetwork, batch: Any, target: Target
) -> Any:
    masking: dict[tuple[str, bool], MaskingExplainer] = {
        key: method for key, method in asked.items() if isinstance(method, Lime | KernelShap | Occlusion)
    }
    if masking:
        yield from zip(masking, explain_together(list(masking.values()), network, batch, target), strict=True)
    for key, method in asked.items():
        if key not in masking:
            yield key, method.attribute(network, batch, target)


def _redrawn(method: TextExplainer) -> TextExplainer | None:
    """The same method with other draws; None where nothing is drawn."""
    if isinstance(method, Occlusion) or not is_dataclass(method) or not hasattr(method, "seed"):
        return None
    drawing: Any = method
    other: TextExplainer = replace(drawing, seed=drawing.seed + 1)
    return other
