"""How explanations are made from many masked copies of an example; several of them can share their copies.

What is hidden together is a group of units: of texts each token, of images a superpixel. Masks are drawn for each
example, from a seed and the example alone; equal masks are computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.explainers.contract import Explainer, Target
from trueness.explainers.outputs import Output, chosen_class, output_of
from trueness.explainers.tolerance import Estimate, together, until_accurate
from trueness.models.network import Network, inspecting
from trueness.models.packing import in_batches

ROUND = 32
"""Copies of one round of an accurate sample."""
MOST = 1024
"""All coalitions of so few are taken instead."""


@dataclass(frozen=True, kw_only=True)
class MaskingExplainer(Explainer):
    """Draws masks, and explains from what the model says to them."""

    ends: ClassVar[bool] = True
    """Whether it asks about the whole and the wholly masked example, too."""
    shared: ClassVar[bool] = False
    """Whether the units of a group share its score; otherwise each of them has it."""
    enough: ClassVar[str] = ""
    """What `needed` says, in words."""
    output: Output = "probability"
    """What of the target is explained."""
    hiding: str = "usual"
    """What stands in the place of what is hidden, where the model knows several things: mask or pad, blank or mean."""
    seed: int = 0
    """Of the masks."""
    max_bytes: int | None = None
    """Bound of what a batch of masked copies takes."""
    tolerance: float = 0.05
    """The relative error at which `n_samples="auto"` stops, between 256 and 4,096 copies."""

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        return explain_together([self], model, batch, target)[0]

    def checks(self, model: Network, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:
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
        """How many masks it takes at least to determine the scores of so many groups."""
        return 0

    def groups(self, batch: Batch) -> Tensor:
        """(examples, units) the number of the group that each unit is hidden with, -1 where there is none."""
        return batch.groups()

    def masks(self, batch: Batch, counts: Sequence[int]) -> Sequence[Tensor]:
        """Of each example (masks, groups) true where a group is kept."""
        draws = zip(counts, batch.generators(self.seed), strict=True)
        return [self.draw(count, generator) for count, generator in draws]

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """(masks, count) true where a group is kept."""
        raise NotImplementedError

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        """(examples, groups) scores, from masks (examples, masks, groups) and the outputs (examples, masks).

        `whole` and `empty` are the outputs of the unmasked and of the wholly masked example, `counts` the groups of
        each. Examples with fewer groups have some that are never kept, those with fewer masks some that keep all.
        """
        raise NotImplementedError


def explain_together(
    explainers: Sequence[MaskingExplainer], model: Network, batch: Batch, target: Target = "predicted"
) -> list[Tensor]:
    """The scores (examples, units) of each explainer; a mask that several of them ask for is computed once."""
    if not batch.mask.any():  # Nothing to explain; what is asked for is looked at all the same.
        chosen_class(model, batch, target)
        return [torch.zeros(batch.mask.shape, dtype=model.dtype, device=model.device) for _ in explainers]
    alike: list[tuple[str, Tensor, list[int]]] = []
    found: dict[int, Tensor] = {}
    for number, explainer in enumerate(explainers):
        if explainer.auto:
            found[number] = _sampled(explainer, model, batch, target).scores
            continue
        groups = explainer.groups(batch.finest())
        for hiding, others, numbers in alike:
            if hiding == explainer.hiding and torch.equal(others, groups):
                numbers.append(number)
                break
        else:
            alike.append((explainer.hiding, groups, [number]))
    for _, groups, numbers in alike:
        scores = _explain_alike([explainers[number] for number in numbers], model, batch, groups, target)
        found |= dict(zip(numbers, scores, strict=True))
    return [found[number] for number in range(len(explainers))]


def _explain_alike(
    explainers: Sequence[MaskingExplainer], model: Network, batch: Batch, groups: Tensor, target: Target
) -> list[Tensor]:
    """The scores of explainers that hide the same groups in the same way."""
    counts = groups.amax(dim=-1) + 1
    drawn = [_draw(explainer, batch.finest(), counts) for explainer in explainers]
    begin = 2 if any(explainer.ends for explainer in explainers) else 0
    ends = torch.zeros(len(batch), begin, drawn[0].shape[-1], dtype=torch.bool)
    ends[:, :1] = (torch.arange(ends.shape[-1]) < counts.cpu()[:, None])[:, None]
    asked = torch.cat([ends, *drawn], dim=1)
    outputs = {explainer.output for explainer in explainers}
    said = {output: _outputs(model, batch, asked, groups, target, output, explainers[0]) for output in outputs}
    found = []
    for explainer, keep in zip(explainers, drawn, strict=True):
        values = said[explainer.output]
        part = values[:, begin : begin + keep.shape[1]]
        begin += keep.shape[1]
        whole, empty = values[:, :2].unbind(dim=1) if explainer.ends else (values.new_zeros(len(values)),) * 2
        scores = explainer.solve(keep.to(values), part, whole, empty, counts.to(values))
        found.append(of_groups(scores, groups, model, batch, shared=explainer.shared))
    return found


def said_of_copies(model: Network, one: Batch, keep: Tensor, target: int) -> Tensor:
    """(copies,) the target's probability, in double precision, where (copies, groups) of one example are kept."""
    groups = one.finest().groups()
    return _outputs(model, one, keep[None], groups, target, "probability", MaskingExplainer())[0]


def of_groups(scores: Tensor, groups: Tensor, model: Network, batch: Batch, *, shared: bool = True) -> Tensor:
    """(examples, units) from the scores of groups (examples, groups), which their units share or each have."""
    if shared:
        inside = (groups >= 0).to(scores)
        size = torch.zeros_like(scores).scatter_add_(1, groups.clamp(min=0), inside)
        scores = scores / size.clamp(min=1)
    spread = torch.where(groups >= 0, scores.gather(1, groups.clamp(min=0)), 0.0)
    return model.to_units(spread, batch).to(model.dtype)


def _sampled(explainer: MaskingExplainer, model: Network, batch: Batch, target: Target) -> Estimate:
    """Rounds of few masks, each from a seed of its own, until their error is small; exact where all masks are few."""
    chosen = chosen_class(model, batch, target).tolist()

    def of_one(one: Batch, number: int) -> Estimate:
        groups = explainer.groups(one.finest())
        counts = groups.amax(dim=-1) + 1
        count = int(counts)
        few = explainer.few(count) if count else None
        if few is None:
            all_of_them: dict[str, Any] = {"n_samples": MOST}
            every = replace(explainer, **all_of_them)
            return Estimate(every.attribute(model, one, number), torch.zeros((), dtype=torch.float64))
        looks = (groups, number, explainer.output, few)
        ends = torch.zeros(1, 2, dtype=torch.float64, device=groups.device)
        if explainer.ends:
            ends = _outputs(model, one, torch.tensor([[[True], [False]]]).expand(1, 2, count), *looks)

        def draw(which: int) -> tuple[Tensor, Tensor]:
            (generator,) = one.generators(explainer.seed + 1_000_003 * (which + 1))
            keep = few.draw(count, generator)[None]
            said = _outputs(model, one, keep, *looks)
            return keep.to(said), said

        def combine(rounds: list[tuple[Tensor, Tensor]]) -> Tensor:
            keep, said = (torch.cat(parts, dim=1) for parts in zip(*rounds, strict=True))
            return few.solve(keep, said, ends[:, 0], ends[:, 1], counts.to(said))

        scores, error = until_accurate(draw, combine, explainer.tolerance)
        return Estimate(of_groups(scores, groups, model, one, shared=explainer.shared), error.cpu())

    return together(batch, [of_one(one, number) for one, number in zip(batch.alone(), chosen, strict=True)])


def _draw(explainer: MaskingExplainer, batch: Batch, counts: Tensor) -> Tensor:
    """(examples, masks, groups), padded with groups that are not kept and with masks that keep all."""
    numbers = counts.tolist()
    each = explainer.masks(batch, numbers)
    if any(0 < len(keep) < explainer.needed(count) for keep, count in zip(each, numbers, strict=True)):
        # The same words each time, so that they are said once.
        warnings.warn(
            f"Too few masked copies to determine the scores: it takes {explainer.enough}; take a larger n_samples.",
            stacklevel=2,
        )
    padded = torch.zeros(len(each), max(len(keep) for keep in each), max(numbers), dtype=torch.bool)
    for row, (keep, count) in enumerate(zip(each, numbers, strict=True)):
        padded[row, :, :count] = True
        padded[row, : len(keep), :count] = keep
    return padded


def _outputs(
    model: Network,
    batch: Batch,
    keep: Tensor,
    groups: Tensor,
    target: Target,
    output: Output,
    how: MaskingExplainer,
) -> Tensor:
    """(examples, masks) in double precision: the target's output for each masked copy, every distinct one once."""
    examples, masks, _ = keep.shape
    device = groups.device
    flat = keep.reshape(examples * masks, -1).to(device)
    row = torch.arange(examples, device=device).repeat_interleave(masks)
    first, where = _distinct(row, flat)
    chosen = chosen_class(model, batch, target)
    shown = model.shown(batch.finest(), how.hiding, groups)

    def work(numbers: Tensor, copies: Any) -> Tensor:
        part = first[numbers]
        hidden = groups[row[part], : copies.width]
        kept = flat[part].gather(1, hidden.clamp(min=0))
        logits = model.logits(copies.hide(~kept & (hidden >= 0))).double()
        return output_of(logits, chosen[row[part]], output)

    with inspecting(model):
        said = torch.zeros(len(first), dtype=torch.float64, device=device)
        for numbers, found in in_batches(model, shown, row[first], work, max_bytes=how.max_bytes):
            said[numbers] = found
    return said[where].reshape(examples, masks)


def _distinct(row: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """The number of one copy of every distinct (row, mask), and for all copies the number of its distinct one.

    Masks are told apart by a sum of random 64-bit numbers: that two of a million masks share it has a chance of 3e-8.
    """
    drawn = torch.randint(-(2**63), 2**63 - 1, (keep.shape[1] + 1,), generator=torch.Generator().manual_seed(0))
    number = drawn.to(keep.device)
    key = row * (number[-1] | 1)
    for begin in range(0, keep.shape[1], 64):  # sums of integers wrap around, which is what is wanted
        key = key + (keep[:, begin : begin + 64] * number[begin : begin + 64][: keep.shape[1] - begin]).sum(dim=1)
    values, where = torch.unique(key, return_inverse=True)
    copies = torch.arange(len(key), device=keep.device)
    first = torch.full_like(values, len(key)).scatter_reduce(0, where, copies, "amin")
    return first, where
