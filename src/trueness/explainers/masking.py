"""Explanations from many masked copies of a text: LIME and Kernel SHAP. They can share their copies.

A feature is a position. Masks are drawn per text, from a seed and the text alone; equal masks are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from trueness.data.batches import Batch
from trueness.explainers.text import TEXT_EXPLAINERS, Target, generator_of, target_class
from trueness.models.looking import looking
from trueness.models.network import TextNetwork

Output = Literal["probability", "logit"]
MAX_BYTES = 256 << 20
_COPIES = 8  # states, gates and workspace, in multiples of embeddings and states


class MaskingExplainer(Protocol):
    """Draws masks, and explains from what the model says to them."""

    @property
    def output(self) -> Output:
        """What of the target is explained."""
        ...

    @property
    def max_bytes(self) -> int:
        """Bound of what a batch of masked copies takes."""
        ...

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """(masks, count) True where a token is kept."""
        ...

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        """(texts, features) scores, from masks (texts, masks, features) and the outputs (texts, masks).

        `whole` and `empty` are the outputs of the unmasked and of the wholly masked text, `counts` the features of each
        text; the masks of shorter texts are padded with features that are never kept.
        """
        ...


def explain_together(
    explainers: Sequence[MaskingExplainer], model: TextNetwork, batch: Batch, target: Target = "predicted"
) -> list[Tensor]:
    """The scores (batch, tokens) of each explainer; a mask that several of them ask for is computed once."""
    counts = batch.mask.sum(dim=-1)
    drawn = [_draw(explainer, batch) for explainer in explainers]
    ends = torch.zeros(len(batch), 2, drawn[0].shape[-1], dtype=torch.bool)
    ends[:, 0] = torch.arange(ends.shape[-1]) < counts.cpu()[:, None]
    asked = torch.cat([ends, *drawn], dim=1)
    outputs = {explainer.output for explainer in explainers}
    said = {output: _outputs(model, batch, asked, target, output, explainers[0].max_bytes) for output in outputs}
    found, begin = [], 2
    for explainer, keep in zip(explainers, drawn, strict=True):
        values = said[explainer.output]
        part = values[:, begin : begin + keep.shape[1]]
        begin += keep.shape[1]
        scores = explainer.solve(keep.to(values), part, values[:, 0], values[:, 1], counts.to(values))
        whole = values.new_zeros(batch.mask.shape)
        inside = torch.arange(scores.shape[1], device=scores.device) < counts[:, None]
        whole[batch.mask] = scores[inside]
        found.append(whole.to(model.embedding.weight.dtype))
    return found


def _draw(explainer: MaskingExplainer, batch: Batch) -> Tensor:
    """(texts, masks, features), padded with False; texts with few features may repeat masks to fill up."""
    counts = batch.mask.sum(dim=-1).tolist()
    each = [
        explainer.draw(count, generator) for count, (_, generator) in zip(counts, generator_of(batch, 0), strict=True)
    ]
    most, widest = max(len(keep) for keep in each), max(counts)
    padded = torch.zeros(len(each), most, widest, dtype=torch.bool)
    for row, keep in enumerate(each):
        if len(keep):
            padded[row, :, : keep.shape[1]] = keep[torch.arange(most) % len(keep)]
    return padded


def _outputs(model: TextNetwork, batch: Batch, keep: Tensor, target: Target, output: Output, max_bytes: int) -> Tensor:
    """(texts, masks) in double precision: the target's output for each masked copy, every distinct one once."""
    texts, masks, features = keep.shape
    device = batch.tokens.device
    row = torch.arange(texts).repeat_interleave(masks)
    flat = torch.cat([row[:, None].to(torch.int32), keep.reshape(-1, features).to(torch.int32)], dim=1)
    distinct, where = torch.unique(flat, dim=0, return_inverse=True)
    with looking(model):
        chosen = target_class(model(batch).logits, batch, target)
        width = batch.tokens.shape[1]
        each = width * model.numbers_per_token(width) * _COPIES * 4
        step = max(1, max_bytes // each)
        said = []
        for part in distinct.split(step):
            index = part[:, 0].long().to(device)
            copies = batch.rows(index)
            # The features of a text are its explained positions, in order.
            order = copies.mask.cumsum(dim=-1) - 1
            kept = torch.cat([part[:, 1:], part.new_zeros(len(part), 1)], dim=1).bool().to(device)
            hidden = copies.mask & ~kept.gather(1, order.clamp(min=0))
            logits = model(copies.masked(hidden)).logits.double()
            values = logits if output == "logit" else logits.softmax(dim=-1)
            said.append(values.gather(1, chosen[index][:, None])[:, 0])
    return torch.cat(said)[where.to(device)].reshape(texts, masks)


@dataclass(frozen=True)
class Lime:
    """A ridge regression of the target's output on which tokens are kept, nearby copies counting more: signed.

    Masks keep each token with probability one half; the weight of a copy is exp(-d^2 / (2 width^2)) with d the cosine
    distance to the whole text (Ribeiro et al. 2016).
    """

    samples: int = 1000
    width: float = 0.25
    ridge: float = 1.0
    output: Output = "probability"
    max_bytes: int = MAX_BYTES

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch, tokens)."""
        return explain_together([self], model, batch, target)[0]

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Each token kept or not, by a fair coin."""
        return torch.rand(self.samples, count, generator=generator) < 0.5

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:  # noqa: ARG002
        """Ridge regression with a free intercept."""
        share = keep.sum(dim=-1) / counts.clamp(min=1)[:, None]
        weight = torch.exp(-((1 - share.sqrt()) ** 2) / (2 * self.width**2))
        total = weight.sum(dim=-1, keepdim=True)
        # Centred by the weighted means, the intercept drops out.
        centred = keep - (weight[..., None] * keep).sum(dim=1, keepdim=True) / total[..., None]
        values = said - (weight * said).sum(dim=-1, keepdim=True) / total
        gram = centred.transpose(1, 2) @ (weight[..., None] * centred)
        gram = gram + self.ridge * torch.eye(keep.shape[-1], dtype=keep.dtype, device=keep.device)
        right = (centred * (weight * values)[..., None]).sum(dim=1)
        scores: Tensor = torch.linalg.solve(gram, right)
        return scores


@dataclass(frozen=True)
class KernelShap:
    """Shapley values of the target's output, tokens outside a coalition being masked: signed (Lundberg and Lee 2017).

    They sum to the difference between the whole and the wholly masked text. With at most `samples` coalitions all are
    taken, and the values are exact; otherwise coalitions are drawn by the Shapley kernel, each with its complement.
    """

    samples: int = 1000
    output: Output = "probability"
    max_bytes: int = MAX_BYTES

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch, tokens)."""
        return explain_together([self], model, batch, target)[0]

    def _exact(self, count: int) -> bool:
        return count < 62 and 2**count - 2 <= self.samples

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """All coalitions but the empty and the whole one, or pairs of complements drawn by the kernel."""
        if count <= 1:
            return torch.zeros(0, count, dtype=torch.bool)
        if self._exact(count):
            numbers = torch.arange(1, 2**count - 1)
            return (numbers[:, None] >> torch.arange(count)) & 1 == 1
        sizes = torch.arange(1, count)
        chance = (1 / (sizes * (count - sizes))).double()
        size = sizes[torch.multinomial(chance, self.samples // 2, replacement=True, generator=generator)]
        rank = torch.rand(self.samples // 2, count, generator=generator).argsort(dim=-1).argsort(dim=-1)
        half = rank < size[:, None]
        return torch.cat([half, ~half])

    def solve(self, keep: Tensor, said: Tensor, whole: Tensor, empty: Tensor, counts: Tensor) -> Tensor:
        """Least squares under the constraint that the values sum to the difference of the ends."""
        features = keep.shape[-1]
        size = keep.sum(dim=-1)
        weight = torch.ones_like(said)
        exact = torch.tensor([self._exact(int(count)) for count in counts], device=said.device)
        # Among all coalitions each counts by the kernel; drawn by the kernel, each counts the same.
        number = counts[:, None]
        choose = torch.exp(
            torch.lgamma(number + 1) - torch.lgamma(size + 1) - torch.lgamma((number - size).clamp(min=0) + 1)
        )
        kernel = 1 / (choose * size * (number - size)).clamp(min=1)
        # A short text repeats its coalitions to fill up; the last repeat may be cut off, so repeats do not count.
        repeated = torch.arange(keep.shape[1], device=said.device) >= (2.0**number - 2)
        weight = torch.where(exact[:, None], torch.where(repeated, 0.0, kernel), weight)
        inside = torch.arange(features, device=said.device) < number
        gram = keep.transpose(1, 2) @ (weight[..., None] * keep)
        gram = gram + torch.diag_embed((~inside).to(gram)) + 1e-10 * torch.eye(features, dtype=keep.dtype).to(gram)
        right = (keep * (weight * (said - empty[:, None]))[..., None]).sum(dim=1)
        ones = inside.to(gram)
        solved = torch.linalg.solve(gram, torch.stack([right, ones], dim=-1))
        surplus = (solved[..., 0] * ones).sum(dim=-1) - (whole - empty)
        spread = solved[..., 1] / (solved[..., 1] * ones).sum(dim=-1, keepdim=True)
        scores: Tensor = (solved[..., 0] - spread * surplus[:, None]) * ones
        return scores


TEXT_EXPLAINERS.add("lime", Lime(), "LIME: ridge regression on 1,000 masked copies, signed")
TEXT_EXPLAINERS.add("kernel-shap", KernelShap(), "Kernel SHAP: Shapley values from masked copies, signed")
