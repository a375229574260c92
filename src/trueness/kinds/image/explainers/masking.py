"""Explainers of images that look at the model with parts hidden, and those that do not look at it at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from trueness.data.draws import uniform
from trueness.explainers.contract import Facts
from trueness.kinds.image.data.batches import ImageBatch
from trueness.kinds.image.data.manipulations import SIDE
from trueness.kinds.image.data.superpixels import quickshift
from trueness.kinds.image.explainers.contract import ImageExplainer, parts_of
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.network import inspecting


def looks(
    model: ImageNetwork, batch: ImageBatch, chosen: Tensor, copies: int, change: Callable[[Tensor], Tensor], output: str
) -> Tensor:
    """(images, copies) the chosen classes' logit or probability, from the numbers of copies to their pixels."""
    found = []
    with inspecting(model):
        for part in parts_of(model, batch, copies):
            number = torch.arange(part.start, part.stop, device=batch.pixels.device)
            logits = model(batch, pixels=change(number)).logits
            values = logits if output == "logit" else logits.softmax(dim=-1)
            found.append(values.gather(1, chosen[number // copies][:, None])[:, 0])
    return torch.cat(found).view(len(batch), copies)


@dataclass(frozen=True)
class ImageLime(ImageExplainer):
    """LIME on superpixels by quickshift: a ridge regression of the class's probability on which of them are shown.

    The settings are those of the lime package: copies weighted by exp(-d^2 / 0.25^2) with d their cosine distance from
    the whole image, a ridge of 1; superpixels are as large, compared with the image, as in the paper's images.
    """

    n_samples: int = 1000
    fill: Literal["mean", "black"] = "mean"
    """What a hidden superpixel shows: its mean colour, or black."""
    absolute: bool = False
    seed: int = 0
    facts = Facts(random=True, machinery=("masking",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        scale = min(batch.pixels.shape[2:]) / SIDE
        segments = quickshift(batch.pixels, kernel_size=max(4 * scale, 1.0), ratio=max(0.2 * scale, 0.05))
        count = segments.flatten(1).amax(dim=1) + 1
        most = int(count.max())
        hidden = self._hidden(batch.pixels, segments, most)
        # A sequence for each copy: that another image has more superpixels must not matter.
        copies = batch.numbers[:, None] * self.n_samples + torch.arange(self.n_samples, device=batch.numbers.device)
        shown = uniform(self.seed, copies.flatten(), most).view(len(batch), self.n_samples, most) < 0.5
        shown[:, 0] = True  # the first is the image as it is
        flat = segments.flatten(1)

        def masked(number: Tensor) -> Tensor:
            image, copy = number // self.n_samples, number % self.n_samples
            where = shown[image, copy].gather(1, flat[image]).view(len(number), 1, *segments.shape[1:])
            return torch.where(where, batch.pixels[image], hidden[image])

        said = looks(model, batch, chosen, self.n_samples, masked, "probability").double()
        inside = torch.arange(most, device=flat.device)[None, None] < count[:, None, None]
        coefficients = _ridge((shown & inside).double(), said, count.double())
        found = coefficients.gather(1, flat).view(segments.shape).float()
        return found.abs() if self.absolute else found

    def _hidden(self, pixels: Tensor, segments: Tensor, most: int) -> Tensor:
        """(images, 3, height, width) with every superpixel hidden."""
        if self.fill == "black":
            return torch.zeros_like(pixels)
        where = segments.flatten(1)[:, None].expand(-1, 3, -1)
        sums = torch.zeros((len(pixels), 3, most), device=pixels.device).scatter_add_(2, where, pixels.flatten(2))
        sizes = torch.zeros_like(sums).scatter_add_(2, where, torch.ones_like(pixels.flatten(2)))
        return (sums / sizes.clamp(min=1)).gather(2, where).view_as(pixels)


def _ridge(shown: Tensor, said: Tensor, count: Tensor, width: float = 0.25, penalty: float = 1.0) -> Tensor:
    """(images, superpixels) weighted ridge regression with an intercept; superpixels that an image lacks have 0."""
    # Cosine distance of a copy from the whole image, whose superpixels are all shown.
    number = shown.sum(dim=2)
    distance = 1 - torch.where(number > 0, (number / count[:, None]).sqrt(), 0.0)
    weight = torch.exp(-(distance**2) / width**2).sqrt()  # the package takes the root of the kernel
    total = weight.sum(dim=1, keepdim=True)
    centred = shown - (weight[..., None] * shown).sum(dim=1, keepdim=True) / total[..., None]
    rest = said - (weight * said).sum(dim=1, keepdim=True) / total
    gram = torch.einsum("ns,nsa,nsb->nab", weight, centred, centred)
    gram = gram + penalty * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    solved: Tensor = torch.linalg.solve(gram, torch.einsum("ns,nsa,ns->na", weight, centred, rest))
    return solved


@dataclass(frozen=True)
class ImageOcclusion(ImageExplainer):
    """The fall of the logit when a square shows the blank colour, mean over the squares that cover a pixel: signed."""

    share: float = 0.125
    """The side of the square, of that of the image; it moves by half of its side."""
    facts = Facts(machinery=("masking",))

    def squares(self, height: int, width: int, device: torch.device | str = "cpu") -> Tensor:
        """(squares, height, width) which pixels each covers; the last ones of a row or column lie at the edge."""
        side = max(1, round(self.share * min(height, width)))
        step = max(1, side // 2)

        def begins(length: int) -> list[int]:
            return sorted({*range(0, length - side, step), length - side})

        found = torch.zeros((len(begins(height)), len(begins(width)), height, width), dtype=torch.bool, device=device)
        for row, top in enumerate(begins(height)):
            for column, left in enumerate(begins(width)):
                found[row, column, top : top + side, left : left + side] = True
        return found.flatten(0, 1)

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        squares = self.squares(batch.pixels.shape[2], batch.pixels.shape[3], batch.pixels.device)
        copies = len(squares)

        def covered(number: Tensor) -> Tensor:
            where = squares[number % copies][:, None]
            return torch.where(where, batch.blank[:, None, None], batch.pixels[number // copies])

        said = looks(model, batch, chosen, copies, covered, "logit")
        whole = looks(model, batch, chosen, 1, lambda number: batch.pixels[number], "logit")
        covering = squares.flatten(1).float()
        return ((whole - said) @ covering / covering.sum(dim=0)).view(len(batch), *batch.pixels.shape[2:])


@dataclass(frozen=True)
class ImageRandom(ImageExplainer):
    """Random scores, fixed by a seed and the image's number: the baseline."""

    seed: int = 0
    facts = Facts(random=True)

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:  # noqa: ARG002
        height, width = batch.pixels.shape[2:]
        return uniform(self.seed, batch.numbers, height * width, 9).view(len(batch), height, width)


@dataclass(frozen=True)
class Edges(ImageExplainer):
    """Where brightness changes (Sobel): a foil that sees no model, and looks like an explanation."""

    facts = Facts(signed=False)

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:  # noqa: ARG002
        grey = functional.pad(batch.pixels.mean(dim=1, keepdim=True), (1, 1, 1, 1), mode="replicate")
        across = grey.new_tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
        sides = functional.conv2d(grey, torch.stack([across, across.T])[:, None])
        return torch.hypot(sides[:, 0], sides[:, 1])
