"""Explainers of images by name: where each is, with which settings, and what it is. Torch loads with the first one."""

from __future__ import annotations

from functools import partial

from trueness.explainers.catalogue import add_common, add_later
from trueness.explainers.contract import explainers_of

IMAGE_EXPLAINERS = explainers_of("image", "trueness.image_explainers", "explainer of images")

_HERE = "trueness.kinds.image.explainers"
_add = partial(add_later, IMAGE_EXPLAINERS)

add_common(
    IMAGE_EXPLAINERS,
    {
        "smooth-gradient": {"n_samples": 50},
        # As many points as the `shap` package draws, and as the paper used.
        "gradient-shap": {"n_samples": 200, "baselines": "others"},
        "lime": {"hiding": "mean"},
        "kernel-shap": {"hiding": "mean"},
        "occlusion": {"sliding_window_shapes": 0.125},
    },
)
_add(
    "guided-backpropagation",
    f"{_HERE}.own:GuidedBackpropagation",
    "gradient, negative parts cut off at each ReLU",
)
_add("grad-cam", f"{_HERE}.own:GradCam", "the last maps, weighted by their gradients")
_add("edges", f"{_HERE}.own:Edges", "an edge detector: a foil that sees no model")
