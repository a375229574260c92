"""Explanations: one signed score per feature."""

from trueness.explainers import coefficient as _coefficient  # registers its explainers
from trueness.explainers.registry import VECTOR_EXPLAINERS

del _coefficient

__all__ = ["VECTOR_EXPLAINERS"]
