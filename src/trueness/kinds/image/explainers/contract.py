"""Old place of the registry."""

from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS

__all__ = ["IMAGE_EXPLAINERS"]
