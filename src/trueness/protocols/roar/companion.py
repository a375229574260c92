"""The cheap companion: one model per seed that was trained under all amounts of masking, and no retraining.

After Madsen et al. (2024): half of the training texts are seen whole, the others with a random share of tokens masked,
drawn anew in every epoch. To such a model a masked text is nothing new, so the same curves can be measured on it alone.

Whether it still sees anything unusual is tested as by MaSF (Haroush et al. 2022): for every unit a two-sided p-value
from its empirical distribution, Simes over the units of a layer, Fisher over layers. The last step is calibrated on
other texts, so that p-values of usual texts are uniform.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.data.inputs import Split
from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Target
from trueness.models.network import inspecting
from trueness.protocols.roar.bounds import Drops, attainable, normalised
from trueness.protocols.roar.hiding import Amount, hide
from trueness.protocols.roar.step import Retraining, View, nothing
from trueness.stats.undefined import Floats

UNUSUAL = 0.05
"""Texts of a smaller p-value count as unusual: of usual texts as many do."""
LONGEST = 60
"""Tokens of a text that the bounds of comprehensiveness are still searched for."""


def masked_training(seed: int) -> View:
    """A view for training under all amounts of masking."""
    return lambda name, split: split.hidden_at_random(seed + (name != "train"))


def measure(
    how: Retraining,
    seeds: Sequence[int],
    explainers: Mapping[str, Explainer | None],
    amounts: Sequence[Amount],
    *,
    target: Target,
    signed: bool,
    bounded: int,
    beam: int,
) -> Iterator[dict[str, Any]]:
    """For each seed and method: performance at 0, at every amount and with all hidden, and what is unusual there.

    Of `bounded` test examples also comprehensiveness and sufficiency, between the bounds. A method that is None hides
    at random.
    """
    models = how.train(seeds, [masked_training(seed) for seed in seeds])
    for seed, model in zip(seeds, models, strict=True):
        network, splits = model.network, how.splits(model)
        test, dev = splits["test"], splits["dev"]
        # What is usual differs with the amount: development texts under random masks of the same one.
        random = hide(network, how.random(seed + 1), dev, nothing("dev", dev), amounts, target=target)
        usual = [ReferenceValues(inner_values(network, dev.hidden(mask))) for mask in random]
        ends = [how.measure(model, test), how.measure(model, test.hidden(test.maskable))]
        ranges = _ranges(network, test, bounded, beam, target)
        for explainer, known in explainers.items():
            method = known or how.random(seed)
            try:
                masks = hide(network, method, test, nothing("test", test), amounts, target=target, signed=signed)
            except Unsupported as error:
                yield {"seed": seed, "method": explainer, "refused": str(error)}
                continue
            seen = [test.hidden(mask) for mask in masks]
            inside = []
            for row, drops, found in ranges:
                batch = test.batch([row])
                scores = method.attribute(network, batch, target)[0][batch.mask[0]].double().cpu().numpy()
                inside.append(normalised(drops, scores, found, signed=signed))
            yield {
                "seed": seed,
                "method": explainer,
                "test": [ends[0], *(how.measure(model, split) for split in seen), ends[1]],
                "unusual": [
                    float((known.p_values(inner_values(network, split)) < UNUSUAL).mean())
                    for known, split in zip(usual, seen, strict=True)
                ],
                "bounded": [[None if np.isnan(value) else value for value in pair] for pair in inside],
                "exact": [found.exact for _, _, found in ranges],
            }


def _ranges(network: Any, test: Split, bounded: int, beam: int, target: Target) -> list[Any]:
    """Some test texts with the bounds of what hiding their tokens can do; too long ones are passed over."""
    drawn = map(int, np.random.default_rng(0).permutation(len(test)))
    rows = [row for row in drawn if 2 <= int(test.batch([row]).mask.sum()) <= LONGEST][:bounded]
    found = [(row, Drops(network, test.batch([row]), target)) for row in rows]
    return [(row, drops, attainable(drops, beam=beam)) for row, drops in found if drops.size >= 2]


def inner_values(network: Any, split: Split) -> list[Tensor]:
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
