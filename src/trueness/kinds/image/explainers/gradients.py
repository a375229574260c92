"""Gradients of a class's logit by the pixels: plain, smoothed, along paths, guided, and of the last maps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trueness.data.draws import normal, uniform
from trueness.explainers.contract import Facts
from trueness.kinds.image.data.batches import ImageBatch
from trueness.kinds.image.explainers.contract import ImageExplainer, parts_of
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.network import inspecting


def pixel_gradient(model: ImageNetwork, batch: ImageBatch, pixels: Tensor, chosen: Tensor) -> Tensor:
    """The gradient of the chosen classes' logits at these pixels, in the same shape."""
    with inspecting(model, gradients=True):
        shown = pixels.detach().requires_grad_()
        logits = model(batch, pixels=shown).logits
        # Images do not interact in evaluation mode, so one backward pass gives every image its own gradient.
        (found,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), shown)
    return found


Change = Callable[[Tensor, Tensor], Tensor]
"""From the pixels of some copies and the number of each copy among all to what is looked at."""


def mean_over_copies(
    model: ImageNetwork, batch: ImageBatch, chosen: Tensor, copies: int, change: Change, read: Change
) -> Tensor:
    """(images, 3, height, width): the gradients at so many changed copies, `read`, and their mean for each image."""
    total = torch.zeros_like(batch.pixels)
    for part in parts_of(model, batch, copies, gradients=True):
        number = torch.arange(part.start, part.stop, device=total.device)
        image = number // copies
        found = pixel_gradient(model, batch, change(batch.pixels[image], number), chosen[image])
        share = functional.one_hot(image, len(total)).T.to(found)  # a product adds up faster than by index
        total += (share @ read(found, number).flatten(1)).view_as(total)
    return total / copies


def _as_it_is(found: Tensor, number: Tensor) -> Tensor:  # noqa: ARG001  # a way to read
    return found


@dataclass(frozen=True)
class ImageGradient(ImageExplainer):
    """The size of the gradient, summed over the three colours."""

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        return pixel_gradient(model, batch, batch.pixels, chosen).abs().sum(dim=1)


@dataclass(frozen=True)
class ImageInputXGradient(ImageExplainer):
    """Gradient times the distance from the blank colour, summed over the colours: signed."""

    facts = Facts(needs=("gradients",), machinery=("gradient", "path"))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        away = batch.pixels - batch.blank[:, None, None]
        return (pixel_gradient(model, batch, batch.pixels, chosen) * away).sum(dim=1)


@dataclass(frozen=True)
class ImageSmoothGradient(ImageExplainer):
    """The gradient averaged over noisy copies; its size, summed over the colours.

    `absolute` takes the size of every copy's gradient before the mean, as the authors' code does: noise then adds up.
    """

    n_samples: int = 50
    noise: float = 0.15
    """Standard deviation, as a share of the range of the image."""
    absolute: bool = False
    seed: int = 0
    facts = Facts(signed=False, random=True, needs=("gradients",), machinery=("gradient",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        flat = batch.pixels.flatten(1)
        size = self.noise * (flat.amax(dim=1) - flat.amin(dim=1))

        def noisy(pixels: Tensor, number: Tensor) -> Tensor:
            image, copy = number // self.n_samples, number % self.n_samples
            drawn = normal(self.seed, batch.numbers[image] * self.n_samples + copy, pixels[0].numel())
            return drawn.view_as(pixels).mul_(size[image].view(-1, 1, 1, 1)).add_(pixels)

        read: Change = (lambda found, _: found.abs()) if self.absolute else _as_it_is
        return mean_over_copies(model, batch, chosen, self.n_samples, noisy, read).abs().sum(dim=1)


@dataclass(frozen=True)
class ImageIntegratedGradients(ImageExplainer):
    """Gradients along the way from the blank colour, times the way: signed, their sum is the rise of the logit."""

    n_steps: int = 50
    facts = Facts(needs=("gradients",), machinery=("path",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        blank = batch.blank[:, None, None]

        def along(pixels: Tensor, number: Tensor) -> Tensor:
            share = ((number % self.n_steps).float() + 0.5) / self.n_steps
            return blank + share.view(-1, 1, 1, 1) * (pixels - blank)

        mean = mean_over_copies(model, batch, chosen, self.n_steps, along, _as_it_is)
        return (mean * (batch.pixels - blank)).sum(dim=1)


@dataclass(frozen=True)
class ImageGradientShap(ImageExplainer):
    """Expected gradients: random points on the ways from other images of the split; signed, an estimate of SHAP values.

    The `shap` package's GradientExplainer draws 200 points, the number that the paper used.
    """

    n_samples: int = 200
    seed: int = 0
    facts = Facts(random=True, needs=("gradients",), machinery=("path",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        drawn = uniform(self.seed, batch.numbers, 2 * self.n_samples).view(len(batch), self.n_samples, 2)
        start = (drawn[..., 0] * len(batch.background)).long()

        def picked(number: Tensor) -> tuple[Tensor, Tensor]:
            image, copy = number // self.n_samples, number % self.n_samples
            return batch.background[start[image, copy]], drawn[image, copy, 1].view(-1, 1, 1, 1)

        def along(pixels: Tensor, number: Tensor) -> Tensor:
            begin, share = picked(number)
            return begin + share * (pixels - begin)

        def times_way(found: Tensor, number: Tensor) -> Tensor:
            return found * (batch.pixels[number // self.n_samples] - picked(number)[0])

        return mean_over_copies(model, batch, chosen, self.n_samples, along, times_way).sum(dim=1)


@dataclass(frozen=True)
class GuidedBackpropagation(ImageExplainer):
    """The gradient with negative parts cut off at every ReLU on the way back; its size, summed over the colours."""

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        with _guided(model):
            return pixel_gradient(model, batch, batch.pixels, chosen).abs().sum(dim=1)


@contextlib.contextmanager
def _guided(model: ImageNetwork) -> Iterator[None]:
    def cut(_: nn.Module, __: Any, output: Tensor) -> None:
        # Negative parts are cut off before the ReLU instead of after it: its own mask changes no sign.
        if output.requires_grad:
            output.register_hook(functional.relu)  # type: ignore[no-untyped-call]

    parts = [part for part in model.modules() if isinstance(part, nn.ReLU | nn.ReLU6)]
    hooks = [part.register_forward_hook(cut) for part in parts]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@dataclass(frozen=True)
class GradCam(ImageExplainer):
    """The last maps, weighted by the mean gradients of the class's logit; what speaks against the class is cut off.

    The maps are those of the last convolution, before any pooling (`ImageNetwork.last_maps`). In a network whose maps
    are averaged before one linear layer, as ResNet, it is class activation mapping.
    """

    resize: str = "bilinear"
    facts = Facts(signed=False, needs=("gradients",), machinery=("maps",))

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        kept: list[Tensor] = []
        hook = model.last_maps(batch).register_forward_hook(lambda _, __, output: kept.append(output))
        try:
            with inspecting(model, gradients=True):
                logits = model(batch, pixels=batch.pixels.detach().requires_grad_()).logits
                (maps,) = kept
                (slope,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), maps)
        finally:
            hook.remove()
        found = functional.relu((slope.mean(dim=(2, 3), keepdim=True) * maps.detach()).sum(dim=1, keepdim=True))
        size = tuple(batch.pixels.shape[2:])
        # Bicubic, that of the authors' picture library, can fall below 0; the size counts.
        return functional.interpolate(found, size, mode=self.resize, align_corners=False)[:, 0].abs()
