"""What only explains images: guided backpropagation, Grad-CAM, and an edge detector as a foil."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import gradient_of
from trueness.explainers.outputs import target_class
from trueness.kinds.image.data.batches import ImageBatch
from trueness.kinds.image.models.network import ImageNetwork
from trueness.models.network import inspecting
from trueness.models.packing import every_example, in_batches


@dataclass(frozen=True)
class GuidedBackpropagation(Explainer):
    """The gradient with negative parts cut off at every ReLU on the way back; its size, summed over the colours."""

    facts = Facts(signed=False, needs=("gradients",), machinery=("gradient",))

    def attribute(self, model: ImageNetwork, batch: ImageBatch, target: Target = "predicted") -> Tensor:
        with _guided(model):
            gradient, _ = gradient_of(model, batch, target)
        return model.to_units(model.size_of(gradient), batch)


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
class GradCam(Explainer):
    """The last maps, weighted by the mean gradients of the class's logit; what speaks against the class is cut off.

    The maps are those of the last convolution, before any pooling (`ImageNetwork.last_maps`). In a network whose maps
    are averaged before one linear layer, as ResNet, it is class activation mapping.
    """

    facts = Facts(signed=False, needs=("gradients",), machinery=("maps",))

    resize: str = "bilinear"

    def attribute(self, model: ImageNetwork, batch: ImageBatch, target: Target = "predicted") -> Tensor:
        found = torch.zeros_like(batch.pixels[:, 0]).flatten(1)

        def work(_: Tensor, images: ImageBatch) -> Tensor:
            kept: list[Tensor] = []
            hook = model.last_maps(images).register_forward_hook(lambda _, __, output: kept.append(output))
            try:
                logits = model(images, pixels=images.pixels.detach().requires_grad_()).logits
                (maps,) = kept
                chosen = target_class(logits.detach(), images, target)
                (slope,) = torch.autograd.grad(logits.gather(1, chosen[:, None]).sum(), maps)
            finally:
                hook.remove()
            seen = functional.relu((slope.mean(dim=(2, 3), keepdim=True) * maps.detach()).sum(dim=1, keepdim=True))
            # Bicubic, that of the authors' picture library, can fall below 0; the size counts.
            size = images.pixels.shape[2:]
            return functional.interpolate(seen, size, mode=self.resize, align_corners=False).flatten(1).abs()

        with inspecting(model, gradients=True):
            every = every_example(batch)
            for numbers, part in in_batches(model, batch, every, work, gradients=True):
                found[numbers] = part.to(found)
        return model.to_units(found, batch)


@dataclass(frozen=True)
class Edges(Explainer):
    """Where brightness changes (Sobel): a foil that sees no model, and looks like an explanation."""

    facts = Facts(signed=False)

    def attribute(self, model: ImageNetwork, batch: ImageBatch, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        grey = functional.pad(batch.pixels.mean(dim=1, keepdim=True), (1, 1, 1, 1), mode="replicate")
        across = grey.new_tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
        sides = functional.conv2d(grey, torch.stack([across, across.T])[:, None])
        return batch.of_units(torch.hypot(sides[:, 0], sides[:, 1]))
