"""Attention as a guide (Wiegreffe and Pinter 2019, section 3.4): does an encoder without context do better under it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor

from trueness.kinds.text.attention.twin_comparisons import performance
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.models.attention import uniform
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.families import train_many
from trueness.kinds.text.models.twins import Reference
from trueness.models.cuda_graphs import rounded_up
from trueness.models.evaluation import evaluate
from trueness.protocols.attefa.cell import BASE, LEARNED, TWIN_GUIDE, UNIFORM


def guided(
    data: TextDataset,
    base: Classifier,
    twin: Classifier,
    seeds: Sequence[int],
    *,
    recipe: str,
    vectors: npt.NDArray[np.float32] | None = None,
    device: str = "cpu",
    **shape: Any,
) -> pd.DataFrame:
    """Test performance of a model that sees each word on its own, under four kinds of attention, per seed.

    The attention of `base` and `twin` and uniform weights are frozen from outside; the fourth learns its own. `shape`
    changes the recipe's, such as hidden=32.
    """
    given: dict[str, Callable[[EncodedSplit], Tensor] | None] = {
        UNIFORM: _uniform,
        BASE: _of(base),
        TWIN_GUIDE: _of(twin),
        LEARNED: None,
    }
    test = EncodedSplit(data["test"], data.vocabulary, device)
    rows = []
    for name, guide in given.items():
        model = "average-additive" if guide is None else "average-frozen"
        trained = train_many(model, data, seeds, recipe=recipe, device=device, vectors=vectors, guide=guide, **shape)
        test.guide = None if guide is None else guide(test)
        for seed, each in zip(seeds, trained, strict=True):
            value = performance(evaluate(each.network, test, len(data.classes)))
            rows.append({"guide": name, "seed": seed, "value": value})
    return pd.DataFrame(rows)


def _of(model: Classifier) -> Callable[[EncodedSplit], Tensor]:
    return lambda split: Reference.of(model.network, split).attention


def _uniform(split: EncodedSplit) -> Tensor:
    width = rounded_up(int(split.sizes.max()))
    weights = torch.zeros(len(split), width, device=split.device)
    for rows, batch in split.in_order():
        weights[torch.from_numpy(rows).to(split.device), : batch.mask.shape[1]] = uniform(batch.mask)
    return weights
