"""The cheap companion: one model per seed that was trained under all amounts of masking, and no retraining.

After Madsen et al. (2024): half of the training texts are seen whole, the others with a random share of tokens masked,
drawn anew in every epoch. To such a model a masked text is nothing new, so the same curves can be measured on it alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trueness.data.batches import EncodedSplit
from trueness.data.dataset import TextDataset
from trueness.errors import Unsupported
from trueness.explainers import Random, Target
from trueness.models.evaluation import evaluate
from trueness.models.network import TextNetwork
from trueness.models.training import SplitView
from trueness.protocols.roar.bounds import Drops, attainable, normalised
from trueness.protocols.roar.hiding import Amount, hide
from trueness.protocols.roar.out_of_distribution import ReferenceValues, inner_values
from trueness.protocols.roar.step import Coded, Trainer, method_of, nothing

UNUSUAL = 0.05
"""Texts of a smaller p-value count as unusual: of usual texts as many do."""
LONGEST = 60
"""Tokens of a text that the bounds of comprehensiveness are still searched for."""


def masked_training(seed: int) -> SplitView:
    """A view for training under all amounts of masking."""
    return lambda name, split: split.hidden_at_random(seed + (name != "train"))


def measure(
    train: Trainer,
    data: TextDataset,
    seeds: Sequence[int],
    explainers: Sequence[str],
    amounts: Sequence[Amount],
    device: str,
    *,
    target: Target,
    signed: bool,
    bounded: int,
    beam: int,
) -> Iterator[dict[str, Any]]:
    """For each seed and method: performance at 0, at every amount and with all hidden, and what is unusual there.

    Of `bounded` test texts also comprehensiveness and sufficiency, between the bounds.
    """
    classes, coded = len(data.classes), Coded(data, device)
    models = train(data, seeds, views=[masked_training(seed) for seed in seeds], device=device)
    for seed, model in zip(seeds, models, strict=True):
        network = model.network
        test, dev = (coded.by(model.coder, name) for name in ("test", "dev"))
        # What is usual differs with the amount: development texts under random masks of the same one.
        random = hide(network, Random(seed + 1), dev, nothing("dev", dev), amounts, target=target)
        usual = [ReferenceValues(inner_values(network, dev.hidden(mask))) for mask in random]
        ends = [evaluate(network, test, classes), evaluate(network, test.hidden(test.maskable), classes)]
        ranges = _ranges(network, test, bounded, beam, target)
        for explainer in explainers:
            method = method_of(explainer, seed)
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
                "test": [ends[0], *(evaluate(network, split, classes) for split in seen), ends[1]],
                "unusual": [
                    float((known.p_values(inner_values(network, split)) < UNUSUAL).mean())
                    for known, split in zip(usual, seen, strict=True)
                ],
                "bounded": [[None if np.isnan(value) else value for value in pair] for pair in inside],
                "exact": [found.exact for _, _, found in ranges],
            }


def _ranges(network: TextNetwork, test: EncodedSplit, bounded: int, beam: int, target: Target) -> list[Any]:
    """Some test texts with the bounds of what hiding their tokens can do; too long ones are passed over."""
    rows = [int(row) for row in np.random.default_rng(0).permutation(len(test)) if 2 <= test.sizes[row] - 2 <= LONGEST][
        :bounded
    ]
    found = []
    for row in rows:
        drops = Drops(network, test.batch([row]), target)
        if drops.size >= 2:
            found.append((row, drops, attainable(drops, beam=beam)))
    return found
