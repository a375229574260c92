"""Metrics of explanations, as functions of a model, examples and scores that give one number: more is better.

`model` is a classifier, `examples` are labelled with the classes that are explained, and `scores` (examples, units) are
not numbers where there is no unit. Whose they are stands with each; all hide units as audits do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from trueness.models.network import inspecting
from trueness.models.packing import logits_of
from trueness.plugins import find
from trueness.protocols.faithfulness import Removal, removal
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    from trueness.audits.bench.simulated import Audited

Metric = Callable[[Any, Any, Floats], float]
SUBSETS = 25
"""Random subsets of the units of each example."""
_EXAMPLES = 60
"""That metrics of random subsets look at."""


def comprehensiveness(model: Any, examples: Any, scores: Floats) -> float:
    """DeYoung et al. 2020, as ferret's AOPC: how far the probability falls when the first units are hidden."""
    found = _removal(model, examples, scores)
    return float((found.whole[:, None] - found.important).mean())


def sufficiency(model: Any, examples: Any, scores: Floats) -> float:
    """DeYoung et al. 2020: how little it falls when only they are left; the sign is turned so that more is better."""
    found = _removal(model, examples, scores)
    return float((found.unimportant - found.whole[:, None]).mean())


def deletion(model: Any, examples: Any, scores: Floats) -> float:
    """Petsiuk et al. 2018: the area under the probability while the first units are hidden, with the sign turned."""
    return -float(_removal(model, examples, scores).important.mean())


def insertion(model: Any, examples: Any, scores: Floats) -> float:
    """Petsiuk et al. 2018: the area under the probability while the first units are shown."""
    return float(_removal(model, examples, scores).unimportant.mean())


def faithfulness_correlation(model: Any, examples: Any, scores: Floats) -> float:
    """Bhatt et al. 2020, as Quantus defines it: correlation of summed scores and the fall, over random subsets."""
    sums, falls = _subsets(model, examples, scores)
    centred = [each - each.mean(axis=1, keepdims=True) for each in (sums, falls)]
    size = np.prod([np.sqrt((each**2).sum(axis=1)) for each in centred], axis=0)
    known = size > 1e-12
    return float((centred[0] * centred[1]).sum(axis=1)[known].sum() / size[known].sum()) if known.any() else 0.0


def infidelity(model: Any, examples: Any, scores: Floats) -> float:
    """Yeh et al. 2019: squared error of summed scores as the fall; each example's are first scaled, by 0 or more."""
    sums, falls = _subsets(model, examples, scores)
    square = (sums**2).sum(axis=1, keepdims=True)
    scale = np.where(square > 1e-12, (sums * falls).sum(axis=1, keepdims=True) / np.maximum(square, 1e-12), 0.0).clip(
        0.0
    )
    return -float(((scale * sums - falls) ** 2).mean())


def captum_infidelity(model: Any, examples: Any, scores: Floats) -> float:
    """The same by `captum.metrics.infidelity`, of which units are shown; scores as they are, the sign turned."""
    from captum.metrics import infidelity as of_captum

    few = examples.only(range(min(_EXAMPLES, len(examples))))
    values, mask = _inside(scores[: len(few)])
    generator = torch.Generator().manual_seed(0)
    shown = torch.from_numpy(mask.astype(np.float64))

    def said(kept: torch.Tensor) -> torch.Tensor:
        copies = len(kept) // len(few)
        rows = np.repeat(np.arange(len(few)), copies)
        return torch.from_numpy(_probability(model.network, few, rows, (kept.numpy() < 0.5) & mask[rows]))

    def perturbed(kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        away = (torch.rand(kept.shape, generator=generator, dtype=kept.dtype) < 0.5) * kept
        return away, kept - away

    found = of_captum(said, perturbed, shown, torch.from_numpy(values), n_perturb_samples=SUBSETS)
    return -float(found.mean())


METRICS: dict[str, Metric] = {
    "comprehensiveness (ERASER, ferret's AOPC)": comprehensiveness,
    "sufficiency (ERASER)": sufficiency,
    "deletion (RISE)": deletion,
    "insertion (RISE)": insertion,
    "faithfulness correlation (as Quantus)": faithfulness_correlation,
    "infidelity, scaled (Yeh et al.)": infidelity,
    "infidelity (Captum)": captum_infidelity,
}


@dataclass(frozen=True)
class Asked:
    """A metric by its name or address: worker processes find it themselves."""

    name: str

    def __call__(self, done: Audited, explanation: str) -> float:
        """What it says of one explanation of an audit."""
        said = done.said[explanation]
        return float(self.metric(done.known.model, done.split, np.where(said.mask, said.scores, np.nan)))

    @property
    def metric(self) -> Metric:
        """The function."""
        found: Metric = METRICS[self.name] if self.name in METRICS else find(self.name)[0]
        return found


def _inside(scores: Floats) -> tuple[Floats, Bools]:
    return np.nan_to_num(scores), np.isfinite(scores)


def _removal(model: Any, examples: Any, scores: Floats) -> Removal:
    return removal(model.network, examples, *_inside(scores), shares=())


def _subsets(model: Any, examples: Any, scores: Floats) -> tuple[Floats, Floats]:
    """(examples, subsets) summed scores of random subsets, and by how much hiding them lets the probability fall."""
    few = examples.only(range(min(_EXAMPLES, len(examples))))
    values, mask = _inside(scores[: len(few)])
    rng, rows = np.random.default_rng(0), np.repeat(np.arange(len(few)), SUBSETS + 1)
    hidden = (rng.random((len(rows), mask.shape[1])) < rng.random((len(rows), 1))) & mask[rows]
    hidden[:: SUBSETS + 1] = False
    found = _probability(model.network, few, rows, hidden).reshape(len(few), -1)
    sums = (values[rows] * hidden).sum(axis=1).reshape(len(few), -1)
    return sums[:, 1:], found[:, :1] - found[:, 1:]


def _probability(network: Any, split: Any, rows: Any, hidden: Bools) -> Floats:
    """(copies,) of the explained classes, of copies of the examples in which units are hidden."""
    found = np.zeros(len(rows))
    with inspecting(network):
        for numbers, batch in split.in_order():
            inside = np.flatnonzero(np.isin(rows, numbers))
            at = torch.from_numpy(np.searchsorted(np.sort(numbers), rows[inside]))
            at = torch.from_numpy(np.argsort(numbers))[at]
            some = batch.rows(at)
            said = logits_of(network, some.hide(torch.from_numpy(hidden[inside][:, : some.mask.shape[1]])))
            found[inside] = said.double().softmax(dim=-1).gather(1, some.labels[:, None])[:, 0].numpy()
    return found
