"""What an explainer of images is: a score for every pixel, summed over the pixels of a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trueness.explainers.contract import Explainer, Target, as_explainer
from trueness.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from trueness.kinds.image.data.batches import ImageBatch
    from trueness.kinds.image.models.network import ImageNetwork

IMAGE_EXPLAINERS: Registry[Explainer] = Registry(
    "explainer of images",
    group="trueness.image_explainers",
    adapt=as_explainer,
    filled_by="trueness.kinds.image.explainers.catalogue",
)


class ImageExplainer(Explainer):
    """Says how much each pixel mattered to the logit of the target class; a frozen dataclass with its settings."""

    def of_pixels(self, model: ImageNetwork, batch: ImageBatch, chosen: Tensor) -> Tensor:
        """(images, height, width) scores for the classes (images,) chosen."""
        raise NotImplementedError

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:
        from trueness.explainers.text import target_class
        from trueness.models.network import inspecting

        if target == "gold":
            chosen = batch.labels
        else:
            with inspecting(model):
                chosen = target_class(model(batch).logits, batch, target)
        found: Tensor = batch.of_places(self.of_pixels(model, batch, chosen).float())
        return found


def parts_of(model: ImageNetwork, batch: ImageBatch, copies: int, *, gradients: bool = False) -> Iterator[slice]:
    """The copies of all images, numbered one image after the other, so many at a time as memory holds."""
    step = model.at_once(batch, gradients=gradients)
    total = len(batch) * copies
    for begin in range(0, total, step):
        yield slice(begin, min(begin + step, total))
