"""Does a model see anything unusual? Its inner values on some texts, against those on texts like the trained ones.

After MaSF (Haroush et al. 2022): for every unit a two-sided p-value from its empirical distribution, Simes over the
units of a layer, Fisher over layers. The last step is calibrated on other texts, so that p-values of usual texts are
uniform.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trueness.data.batches import EncodedSplit
from trueness.models.network import TextNetwork, inspecting
from trueness.stats.undefined import Floats


def inner_values(network: TextNetwork, split: EncodedSplit) -> list[Tensor]:
    """For each layer (texts, units): states as means and as maxima over the tokens, and logits."""
    parts: list[list[Tensor]] = [[], [], []]
    order = []
    with inspecting(network):
        for rows, batch in split.in_order():
            seen = network(batch)
            inside = batch.mask[:, :, None]
            states = seen.states[:, : inside.shape[1]]
            mean = (states * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1)
            most = states.masked_fill(~inside, -torch.inf).amax(dim=1).nan_to_num(neginf=0.0)
            for part, values in zip(parts, (mean, most, seen.logits), strict=True):
                part.append(values)
            order.append(rows)
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(split.device)
    return [torch.cat(part)[back] for part in parts]


class ReferenceValues:
    """Inner values on usual texts, against which others are held: half of them fit, the other half calibrate."""

    def __init__(self, layers: list[Tensor]) -> None:
        order = np.random.default_rng(0).permutation(len(layers[0]))  # texts may lie sorted by their label
        fit, rest = (torch.from_numpy(half.copy()).to(layers[0].device) for half in (order[::2], order[1::2]))
        self._sorted = [layer[fit].T.contiguous().sort(dim=1).values for layer in layers]
        self._known = self._statistic([layer[rest] for layer in layers]).sort().values

    def p_values(self, layers: list[Tensor]) -> Floats:
        """(texts,): the chance that a usual text looks at least as unusual."""
        above = len(self._known) - torch.searchsorted(self._known, self._statistic(layers))
        found: Floats = ((1 + above).double() / (1 + len(self._known))).cpu().numpy()
        return found

    def _statistic(self, layers: list[Tensor]) -> Tensor:
        """Fisher's sum over layers of Simes' p-values."""
        total = torch.zeros(len(layers[0]), dtype=torch.double, device=layers[0].device)
        for layer, reference in zip(layers, self._sorted, strict=True):
            units, n = reference.shape
            below = torch.searchsorted(reference, layer.T.contiguous())
            share = (below.double() + 0.5) / (n + 1)
            p = (2 * torch.minimum(share, 1 - share)).sort(dim=0).values
            rank = torch.arange(1, units + 1, device=p.device)[:, None]
            total -= (p * units / rank).amin(dim=0).clamp(max=1.0).log()
        return total.round(decimals=9)  # equal sums are equal, whatever the logarithms were rounded to
