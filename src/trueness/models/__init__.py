"""Classifiers and how they are trained."""

from trueness.models.families import TEXT_MODELS
from trueness.models.linear import VECTOR_MODELS, LinearModel

__all__ = ["TEXT_MODELS", "VECTOR_MODELS", "LinearModel"]
