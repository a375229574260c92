"""Classifiers of images: any module that gives logits from normalised pixels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trueness.boundary import calling
from trueness.errors import Unsupported, UserError
from trueness.kinds.image.data.batches import BLANK, ImageBatch
from trueness.models.network import Network
from trueness.models.packing import memory_for_batches

SPREAD = (0.229, 0.224, 0.225)
"""Standard deviations of the colours of ImageNet's photographs, whose mean is `BLANK`."""
_NUMBERS = 400
"""About what a large network holds for a pixel of an image; with gradients twice that, where ResNet-34 holds 160."""
_CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d)
_CPU_BYTES = 1 << 30
"""By that count: with a few hundred megabytes batches are so small that they cost time."""


def _code_of(module: nn.Module) -> nn.Module | None:
    """Whose line is named where it fails; not that of a module of torch itself."""
    return None if type(module).__module__.startswith("torch.") else module


@dataclass(frozen=True)
class ImagePrediction:
    """What a forward pass gives."""

    logits: Tensor


class ImageNetwork(Network):
    """A module behind the questions that explainers and protocols ask."""

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
        super().__init__()
        self.module = module
        self.mean: Tensor
        self.spread: Tensor
        self.size, self.family = size, family
        self.shape = {"classes": classes, **(shape or {})}
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spread).view(3, 1, 1), persistent=False)
        self._noise: tuple[float, int] | None = None
        self._last: tuple[nn.Module, ...] = ()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def forward(self, batch: ImageBatch, *, pixels: Tensor | None = None) -> ImagePrediction:
        """Predict; given pixels take the place of the batch's own."""
        shown = batch.pixels if pixels is None else pixels
        if tuple(shown.shape[2:]) != self.size:
            found, wanted = (" by ".join(map(str, size)) for size in (shown.shape[2:], self.size))
            raise UserError(f"The model reads images of {wanted} pixels, not {found}: load them with that size.")
        if self._noise is not None:
            share, seed = self._noise
            generator = torch.Generator().manual_seed(seed)
            shown = shown + share * torch.randn(shown.shape, generator=generator).to(shown)
        return ImagePrediction(self.logits((shown - self.mean) / self.spread))

    def logits(self, normalised: Tensor) -> Tensor:
        """(images, classes) from what the module reads; UserError where it gives something else."""
        with calling(self.family or "The module", _code_of(self.module)):
            found = self.module(normalised)
        found = getattr(found, "logits", found)  # a transformers model says more
        if not isinstance(found, Tensor) or found.ndim != 2 or found.shape[1] != self.classes:
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise UserError(f"The module gives {shape} for {len(normalised)} images and {self.classes} classes.")
        return found

    @contextlib.contextmanager
    def noisy(self, share: float, seed: int) -> Iterator[None]:
        """Pixels with normal noise of a share of their range; then as they were."""
        self._noise = (share, seed)
        try:
            yield
        finally:
            self._noise = None

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # of a place
        """About how many numbers a look at an image holds for each of its pixels."""
        return _NUMBERS * (2 if gradients else 1)

    def at_once(self, batch: Any, max_bytes: int | None = None, *, gradients: bool = False) -> int:
        """How many images it can look at in so many bytes."""
        height, width = batch.pixels.shape[2:]
        each = 4 * height * width * self.numbers_per_token(height * width, gradients=gradients)
        limit = memory_for_batches(batch.pixels.device, _CPU_BYTES) if max_bytes is None else max_bytes
        return int(min(max(1, limit // each), 1024))

    def all_logits(self, batch: Any, max_bytes: int | None = None) -> Tensor:
        """(images, classes), as many images at a time as memory holds."""
        parts = torch.split(torch.arange(len(batch), device=batch.pixels.device), self.at_once(batch, max_bytes))
        return torch.cat([self(batch if len(parts) == 1 else batch.rows(part)).logits for part in parts])

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
                self(batch.rows(torch.zeros(1, dtype=torch.long, device=batch.pixels.device)))
        finally:
            for hook in hooks:
                hook.remove()
        if not found:
            raise Unsupported("Grad-CAM needs a convolutional layer; this module has no maps of rows and columns.")
        sizes = [size for part, size in found if isinstance(part, _CONVOLUTIONS)] or [found[-1][1]]
        last = [part for part, size in found if size == sizes[-1]][-1]
        self._last = (last,)
        return last
