"""The kind `text`: texts and pairs of texts, explained word by word."""

from __future__ import annotations

from typing import Any

from trueness.kinds.contract import Kind, Words
from trueness.kinds.text.data.planting import PLANTINGS
from trueness.kinds.text.data.reading import TextData
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.explaining import TextAttacks, TextExplaining
from trueness.kinds.text.models.opening import TextModels


def usual(model: Any) -> list[str]:
    """Attention and gradients where the model has them, and methods that hide words."""
    if not model.network.differentiable:
        return ["occlusion", "kernel-shap[n_samples=200]", "lime[n_samples=200]", "leave-one-out"]
    return ["attention", "input-x-gradient", "integrated-gradients", "leave-one-out"]


def outlines(*given: Any) -> list[float]:
    """See `mask_only`."""
    from trueness.kinds.text.outlines import mask_only

    return mask_only(*given)


TEXT = Kind(
    name="text",
    words=Words("text", "texts", "word", "words", "a full stop is added or taken away"),
    models=TextModels(),
    data=TextData(),
    explainers=TEXT_EXPLAINERS,
    usual=usual,
    explaining=TextExplaining(),
    attacks=TextAttacks(),
    dry_run="dry-run",
    plantings=PLANTINGS,
    outlines=outlines,
)
