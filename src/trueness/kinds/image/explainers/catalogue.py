"""Explainers of images by name: where each is, with which settings, and what it is. Torch loads with the first one."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from trueness.explainers.contract import Explainer
from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS

_GRADIENTS, _MASKING = "gradients", "masking"


def _make(module: str, name: str, settings: dict[str, Any]) -> Explainer:
    made: Explainer = getattr(import_module(f"trueness.kinds.image.explainers.{module}"), name)(**settings)
    return made


def _add(name: str, module: str, class_name: str, description: str, **settings: Any) -> None:
    IMAGE_EXPLAINERS.add_later(name, partial(_make, module, class_name, settings), description)


_add("gradient", _GRADIENTS, "ImageGradient", "size of the logit's gradient, summed over colours")
_add("input-x-gradient", _GRADIENTS, "ImageInputXGradient", "gradient times the way from the blank colour, signed")
_add("smooth-gradient", _GRADIENTS, "ImageSmoothGradient", "size of the mean gradient over 50 noisy copies")
_add(
    "smooth-gradient@zhou2022",
    _GRADIENTS,
    "ImageSmoothGradient",
    "sizes of the gradients of 50 noisy copies, averaged",
    absolute=True,
)
_add("integrated-gradients", _GRADIENTS, "ImageIntegratedGradients", "gradients along the way from blank, signed")
_add("gradient-shap", _GRADIENTS, "ImageGradientShap", "expected gradients: ways from other images, signed")
_add("guided-backpropagation", _GRADIENTS, "GuidedBackpropagation", "gradient, negative parts cut off at each ReLU")
_add("grad-cam", _GRADIENTS, "GradCam", "the last maps, weighted by their gradients")
_add("grad-cam@zhou2022", _GRADIENTS, "GradCam", "the same, enlarged as the authors' code does", resize="bicubic")
_add("lime", _MASKING, "ImageLime", "LIME on superpixels: ridge regression on 1,000 copies, signed")
_add(
    "lime@zhou2022",
    _MASKING,
    "ImageLime",
    "the same with 200 copies and black superpixels, without sign",
    n_samples=200,
    fill="black",
    absolute=True,
)
_add("occlusion", _MASKING, "ImageOcclusion", "fall of the logit when a square is blank, signed")
_add("random", _MASKING, "ImageRandom", "random scores, fixed by a seed: the baseline")
_add("edges", _MASKING, "Edges", "an edge detector: a foil that sees no model")
