"""Classifiers of images: any module that gives logits from normalised pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from trueness.boundary import calling
from trueness.errors import Unsupported, UserError
from trueness.kinds.image.data.batches import BLANK, ImageBatch
from trueness.models.network import Answer, ModuleNetwork

SPREAD = (0.229, 0.224, 0.225)
"""Standard deviations of the colours of ImageNet's photographs, whose mean is `BLANK`."""
_NUMBERS = 400
"""About what a large network holds for a pixel of an image; with gradients twice that, where ResNet-34 holds 160."""
_CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d)


def _code_of(module: nn.Module) -> nn.Module | None:
    """Whose line is named where it fails; not that of a module of torch itself."""
    return None if type(module).__module__.startswith("torch.") else module


class ImageNetwork(ModuleNetwork):
    """A module behind the questions that explainers and protocols ask."""

    cpu_bytes = 1 << 30
    """By the count of `numbers_per_token`: with a few hundred megabytes batches are so small that they cost time."""
    units_at_once = 1 << 22
    """Of a batch that is only looked at: a pixel is less work than a token."""

    def __init__(
        self,
        module: nn.Module,
        classes: int,
        size: tuple[int, int],
        *,
        mean: Sequence[float] = BLANK,
        spread: Sequence[float] = SPREAD,
        family: str = "",
        shape: Mapping[str, Any] | None = None,
    ) -> None:
        colours = (torch.tensor(some).view(3, 1, 1) for some in (mean, spread))
        super().__init__(module, family, *colours, kept=False)
        self.size, self.shape = size, {"classes": classes, **(shape or {})}
        self._last: tuple[nn.Module, ...] = ()

    def values(self, batch: ImageBatch) -> Tensor:
        """(images, pixels, 3) the colours of the pixels."""
        return batch.pixels.flatten(2).transpose(1, 2)

    def blank(self, batch: ImageBatch, baseline: str) -> Tensor:
        """The blank colour, which the module reads as zero, or black."""
        if baseline not in ("zero", "black"):
            raise self.unknown("baselines", baseline, "zero", "black", "others")
        return batch.blank if baseline == "zero" else torch.zeros_like(batch.blank)

    def others(self, batch: ImageBatch) -> Tensor:
        """Other images of the split."""
        return batch.background.flatten(2).transpose(1, 2)

    def shown(self, batch: ImageBatch, hiding: str, groups: Tensor) -> ImageBatch:  # type: ignore[override]
        """What is hidden has the blank colour, is black, or has the mean colour of its group."""
        if hiding == "black":
            return replace(batch, cover=torch.zeros_like(batch.pixels))
        if hiding == "mean":
            where = groups[:, None].expand(-1, 3, -1)
            sums = torch.zeros((len(batch), 3, int(groups.max()) + 1), device=self.device)
            sizes = torch.zeros_like(sums).scatter_add_(2, where, torch.ones_like(batch.pixels.flatten(2)))
            sums.scatter_add_(2, where, batch.pixels.flatten(2))
            return replace(batch, cover=(sums / sizes.clamp(min=1)).gather(2, where).view_as(batch.pixels))
        if hiding not in ("usual", "blank"):
            raise self.unknown("hiding", hiding, "blank", "black", "mean")
        return batch

    def to_units(self, per_value: Tensor, batch: ImageBatch) -> Tensor:
        """The sum over the pixels of each unit."""
        return batch.of_units(per_value.view(len(per_value), *batch.pixels.shape[2:]).to(batch.pixels.dtype))

    def size_of(self, gradient: Tensor) -> Tensor:
        """The sum of the magnitudes of the three colours."""
        return gradient.abs().sum(dim=-1)

    def spread(self, values: Tensor, batch: ImageBatch) -> Tensor:  # noqa: ARG002  # of each image alone
        """(images,) the range of the colours."""
        return values.amax(dim=(1, 2)) - values.amin(dim=(1, 2))

    def forward(self, batch: ImageBatch, *, pixels: Tensor | None = None) -> Answer:
        """Predict; given pixels take the place of the batch's own."""
        shown = batch.pixels if pixels is None else pixels
        if tuple(shown.shape[2:]) != self.size:
            found, wanted = (" by ".join(map(str, size)) for size in (shown.shape[2:], self.size))
            raise UserError(f"The model reads images of {wanted} pixels, not {found}: load them with that size.")
        return Answer(self.of_normalised((self.with_noise(shown, 1.0) - self.mean) / self.deviation))

    def logits(self, batch: ImageBatch, *, values: Tensor | None = None) -> Tensor:
        """(images, classes), given colours of pixels in the place of the batch's own."""
        pixels = None if values is None else values.transpose(1, 2).reshape(len(values), *batch.pixels.shape[1:])
        logits: Tensor = self(batch, pixels=None if pixels is None else pixels.contiguous()).logits
        return logits

    def of_normalised(self, normalised: Tensor) -> Tensor:
        """(images, classes) from what the module reads; UserError where it gives something else."""
        with calling(self.family or "The module", _code_of(self.module)):
            found = self.module(normalised)
        found = getattr(found, "logits", found)  # a transformers model says more
        if not isinstance(found, Tensor) or found.ndim != 2 or found.shape[1] != self.classes:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise UserError(f"The module gives {shape} for {len(normalised)} images and {self.classes} classes.")
        return found

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # of a pixel
        """About how many numbers a look at an image holds for each of its pixels."""
        return _NUMBERS * (2 if gradients else 1)

    def most_at_once(self, width: int, device: str) -> int:  # noqa: ARG002  # of any size, on any device
        """How many images are worth a batch."""
        return 1024

    def last_maps(self, batch: ImageBatch) -> nn.Module:
        """The maps that Grad-CAM looks at: those of the last convolution with rows and columns.

        They are taken after all that follows it at the same size (normalisation, activation, the rest of its block), so
        before any pooling. Without a convolution: the last part of the module whose output has rows and columns.
        """
        if self._last:
            return self._last[0]
        found: list[tuple[nn.Module, torch.Size]] = []

        def note(part: nn.Module, _: object, output: object) -> None:
            if isinstance(output, Tensor) and output.ndim == 4 and output.shape[2] * output.shape[3] > 1:
                found.append((part, output.shape[2:]))

        hooks = [part.register_forward_hook(note) for part in self.module.modules()]
        try:
            with torch.no_grad():
                self(batch.between(0, 1))
        finally:
            for hook in hooks:
                hook.remove()
        if not found:
            raise Unsupported("Grad-CAM needs a convolutional layer; this module has no maps of rows and columns.")
        sizes = [size for part, size in found if isinstance(part, _CONVOLUTIONS)] or [found[-1][1]]
        last = [part for part, size in found if size == sizes[-1]][-1]
        self._last = (last,)
        return last
