"""Does a model see anything unusual? Its inner values on some texts, against those on texts like the trained ones.

After MaSF (Haroush et al. 2022): for every unit a two-sided p-value from its empirical distribution, Simes over the
units of a layer, Fisher over layers. The last step is calibrated on other texts, so that p-values of usual texts are
uniform.
"""

from __future__ import annotations

import numpy as np
import torch

from trueness.data.batches import EncodedSplit
from trueness.models.looking import looking
from trueness.models.network import TextNetwork
from trueness.stats.undefined import Floats


def inner_values(network: TextNetwork, split: EncodedSplit) -> list[Floats]:
    """For each layer (texts, units): states as means and as maxima over the tokens, and logits."""
    parts: list[list[torch.Tensor]] = [[], [], []]
    order = []
    with looking(network):
        for rows, batch in split.in_order():
            seen = network(batch)
            inside = batch.mask[:, :, None]
            states = seen.states[:, : inside.shape[1]]
            mean = (states * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1)
            most = states.masked_fill(~inside, -torch.inf).amax(dim=1).nan_to_num(neginf=0.0)
            for part, values in zip(parts, (mean, most, seen.logits), strict=True):
                part.append(values.double().cpu())
            order.append(rows)
    back = np.argsort(np.concatenate(order))
    return [torch.cat(part).numpy()[back] for part in parts]


class Usual:
    """What is usual, from the inner values on reference texts: half of them fit, the other half calibrate."""

    def __init__(self, layers: list[Floats]) -> None:
        order = np.random.default_rng(0).permutation(len(layers[0]))  # texts may lie sorted by their label
        fit, rest = order[::2], order[1::2]
        self._sorted = [np.sort(layer[fit], axis=0) for layer in layers]
        self._known = np.sort(self._statistic([layer[rest] for layer in layers]))

    def p_values(self, layers: list[Floats]) -> Floats:
        """(texts,): the chance that a usual text looks at least as unusual."""
        above = len(self._known) - np.searchsorted(self._known, self._statistic(layers), side="left")
        return np.asarray((1 + above) / (1 + len(self._known)))

    def _statistic(self, layers: list[Floats]) -> Floats:
        """Fisher's sum over layers of Simes' p-values."""
        total = np.zeros(len(layers[0]))
        for layer, reference in zip(layers, self._sorted, strict=True):
            n = len(reference)
            below = np.stack([np.searchsorted(reference[:, unit], layer[:, unit]) for unit in range(layer.shape[1])], 1)
            share = (below + 0.5) / (n + 1)
            p = np.sort(2 * np.minimum(share, 1 - share), axis=1)
            units = p.shape[1]
            total -= np.log((p * units / np.arange(1, units + 1)).min(axis=1).clip(max=1.0))
        return total
