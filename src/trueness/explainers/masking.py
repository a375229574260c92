"""How explanations are made from many masked copies of a text; several of them can share their copies.

A feature is a position. Masks are drawn per text, from a seed and the text alone; equal masks are computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Target
from trueness.explainers.text import Output, chosen_class, generator_of, output_of
from trueness.explainers.tolerance import Estimate, texts_of, together, until_accurate
from trueness.kinds.text.data.batches import Batch
from trueness.models.network import TextNetwork, inspecting
from trueness.models.packing import in_batches

ROUND = 32
"""Copies of one round of an accurate sample."""
MOST = 1024
"""All coalitions of so few are taken instead."""
HiddenToken = Literal["mask", "pad"]
"""The token in the place of a hidden one."""


@dataclass(frozen=True, kw_only=True)
class MaskingExplainer(Explainer):
    """Draws masks, and explains from what the model says to them."""

    ends: ClassVar[bool] = True
    """Whether it asks about the whole and the wholly masked text, too."""
    enough: ClassVar[str] = ""
    """What `needed` says, in words."""
    output: Output = "probability"
    """What of the target is explained."""
    hiding: HiddenToken = "mask"
    """What stands in the place of a hidden token."""
    restart: bool = False
    """Whether features are numbered anew in the second text of a pair: then equal places are one feature."""
    seed: int = 0
    """Of the masks."""
    max_bytes: int | None = None
    """Bound of what a batch of masked copies takes."""
    tolerance: float = 0.05
    """The relative error at which `n_samples="auto"` stops, between 256 and 4,096 copies."""

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        return explain_together([self], model, batch, target)[0]

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
        """Where copies are made until it is small: the relative error."""
        return {"relative error": _sampled(self, model, batch, target).error} if self.auto else {}

    @property
    def auto(self) -> bool:
        """Whether masks are drawn until the scores are accurate."""
        return False

    def few(self, count: int) -> MaskingExplainer | None:  # noqa: ARG002
        """The same that draws one round of an accurate sample; None where so many features need no sample."""
        return None

    def needed(self, count: int) -> int:  # noqa: ARG002
        """How many masks it takes at least to determine the scores of so many tokens."""
        return 0

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """(masks, count) True where a token is kept."""
        raise NotImplementedError

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        """(texts, features) scores, from masks (texts, masks, features) and the outputs (texts, masks).

        `whole` and `empty` are the outputs of the unmasked and of the wholly masked text, `counts` the features of each
        text; the masks of shorter texts are padded with features that are never kept.
        """
        raise NotImplementedError


def explain_together(
    explainers: Sequence[MaskingExplainer], model: TextNetwork, batch: Batch, target: Target = "predicted"
) -> list[Tensor]:
    """The scores (batch, tokens) of each explainer; a mask that several of them ask for is computed once."""
    if not batch.mask.any():  # Nothing to explain; what is asked for is looked at all the same.
        chosen_class(model, batch, target)
        return [model.embedding.weight.new_zeros(batch.tokens.shape) for _ in explainers]
    asked: dict[tuple[HiddenToken, bool], list[int]] = {}
    found: dict[int, Tensor] = {}
    for number, explainer in enumerate(explainers):
        if explainer.auto:
            found[number] = _sampled(explainer, model, batch, target).scores
        else:
            asked.setdefault((explainer.hiding, explainer.restart), []).append(number)
    for numbers in asked.values():
        scores = _explain_alike([explainers[number] for number in numbers], model, batch, target)
        found |= dict(zip(numbers, scores, strict=True))
    return [found[number] for number in range(len(explainers))]


def _explain_alike(
    explainers: Sequence[MaskingExplainer], model: TextNetwork, batch: Batch, target: Target
) -> list[Tensor]:
    """The scores of explainers that hide tokens in the same way."""
    features = _features(batch, restart=explainers[0].restart)
    counts = features.amax(dim=-1) + 1
    drawn = [_draw(explainer, batch, counts) for explainer in explainers]
    begin = 2 if any(explainer.ends for explainer in explainers) else 0
    ends = torch.zeros(len(batch), begin, drawn[0].shape[-1], dtype=torch.bool)
    ends[:, :1] = (torch.arange(ends.shape[-1]) < counts.cpu()[:, None])[:, None]
    asked = torch.cat([ends, *drawn], dim=1)
    outputs = {explainer.output for explainer in explainers}
    said = {output: _outputs(model, batch, asked, features, target, output, explainers[0]) for output in outputs}
    found = []
    for explainer, keep in zip(explainers, drawn, strict=True):
        values = said[explainer.output]
        part = values[:, begin : begin + keep.shape[1]]
        begin += keep.shape[1]
        whole, empty = values[:, :2].unbind(dim=1) if explainer.ends else (values.new_zeros(len(values)),) * 2
        scores = explainer.solve(keep.to(values), part, whole, empty, counts.to(values))
        spread = torch.where(batch.mask, scores.gather(1, features.clamp(min=0)), 0.0)
        found.append(spread.to(model.embedding.weight.dtype))
    return found


def _sampled(explainer: MaskingExplainer, model: TextNetwork, batch: Batch, target: Target) -> Estimate:
    """Rounds of few masks, each from a seed of its own, until their error is small; exact where all masks are few."""
    chosen = chosen_class(model, batch, target).tolist()

    def of_one(text: Batch, number: int) -> Estimate:
        features = _features(text, restart=explainer.restart)
        counts = features.amax(dim=-1) + 1
        count = int(counts)
        few = explainer.few(count) if count else None
        if few is None:
            all_of_them: dict[str, Any] = {"n_samples": MOST}
            every = replace(explainer, **all_of_them)
            return Estimate(every.attribute(model, text, number), torch.zeros((), dtype=torch.float64))
        looks = (text, features, number, explainer.output, few)
        ends = torch.zeros(1, 2, dtype=torch.float64, device=text.tokens.device)
        if explainer.ends:
            ends = _outputs(model, text, torch.tensor([[[True], [False]]]).expand(1, 2, count), *looks[1:])

        def draw(which: int) -> tuple[Tensor, Tensor]:
            ((_, generator),) = generator_of(text, explainer.seed + 1_000_003 * (which + 1))
            keep = few.draw(count, generator)[None]
            said = _outputs(model, text, keep, *looks[1:])
            return keep.to(said), said

        def combine(rounds: list[tuple[Tensor, Tensor]]) -> Tensor:
            keep, said = (torch.cat(parts, dim=1) for parts in zip(*rounds, strict=True))
            scores = few.solve(keep, said, ends[:, 0], ends[:, 1], counts.to(said))
            return torch.where(text.mask, scores.gather(1, features.clamp(min=0)), 0.0)

        scores, error = until_accurate(draw, combine, explainer.tolerance)
        return Estimate(scores.to(model.embedding.weight.dtype), error.cpu())

    return together(batch, [of_one(text, number) for text, number in zip(texts_of(batch), chosen, strict=True)])


def _features(batch: Batch, *, restart: bool) -> Tensor:
    """(batch, tokens) the number of each position's feature, -1 for positions that are not explained."""
    order = batch.mask.cumsum(dim=-1) - 1
    if restart and batch.text.types is not None:
        first = (batch.mask & (batch.text.types == 0)).sum(dim=-1, keepdim=True)
        order = torch.where(batch.text.types == 1, order - first, order)
    return torch.where(batch.mask, order, -1)


def _draw(explainer: MaskingExplainer, batch: Batch, counts: Tensor) -> Tensor:
    """(texts, masks, features), padded with False; texts with few features may repeat masks to fill up."""
    generators = (generator for _, generator in generator_of(batch, explainer.seed))
    numbers = counts.tolist()
    each = [explainer.draw(count, generator) for count, generator in zip(numbers, generators, strict=True)]
    if any(0 < len(keep) < explainer.needed(count) for keep, count in zip(each, numbers, strict=True)):
        # The same words each time, so that they are said once.
        warnings.warn(
            f"Too few masked copies to determine the scores: it takes {explainer.enough}; take a larger n_samples.",
            stacklevel=2,
        )
    most, widest = max(len(keep) for keep in each), max(numbers)
    padded = torch.zeros(len(each), most, widest, dtype=torch.bool)
    for row, keep in enumerate(each):
        if len(keep):
            padded[row, :, : keep.shape[1]] = keep[torch.arange(most) % len(keep)]
    return padded


def _outputs(
    model: TextNetwork,
    batch: Batch,
    keep: Tensor,
    features: Tensor,
    target: Target,
    output: Output,
    how: MaskingExplainer,
) -> Tensor:
    """(texts, masks) in double precision: the target's output for each masked copy, every distinct one once."""
    texts, masks, _ = keep.shape
    device = batch.tokens.device
    flat = keep.reshape(texts * masks, -1).to(device)
    row = torch.arange(texts, device=device).repeat_interleave(masks)
    first, where = _distinct(row, flat)
    token = batch.text.mask_token if how.hiding == "mask" else model.padding
    chosen = chosen_class(model, batch, target)

    def work(places: Tensor, copies: Batch) -> Tensor:
        part = first[places]
        kept = flat[part].gather(1, features[row[part], : copies.tokens.shape[1]].clamp(min=0))
        logits = model.logits(copies.masked(copies.mask & ~kept, token)).double()
        return output_of(logits, chosen[row[part]], output)

    with inspecting(model):
        said = torch.zeros(len(first), dtype=torch.float64, device=device)
        for places, found in in_batches(model, batch, row[first], work, max_bytes=how.max_bytes):
            said[places] = found
    return said[where].reshape(texts, masks)


def _distinct(row: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """One place of every distinct (row, mask), and for all places the number of its distinct one.

    Masks are told apart by a sum of random 64-bit numbers: that two of a million masks share it has a chance of 3e-8.
    """
    drawn = torch.randint(-(2**63), 2**63 - 1, (keep.shape[1] + 1,), generator=torch.Generator().manual_seed(0))
    number = drawn.to(keep.device)
    mark = row * (number[-1] | 1)
    for begin in range(0, keep.shape[1], 64):  # sums of integers wrap around, which is what is wanted
        mark = mark + (keep[:, begin : begin + 64] * number[begin : begin + 64][: keep.shape[1] - begin]).sum(dim=1)
    values, where = torch.unique(mark, return_inverse=True)
    places = torch.arange(len(mark), device=keep.device)
    first = torch.full_like(values, len(mark)).scatter_reduce(0, where, places, "amin")
    return first, where
