"""Classifiers and how they are trained."""

from trueness.models import logistic as _logistic  # registers its models
from trueness.models.linear import LinearModel
from trueness.models.registry import TEXT_MODELS, VECTOR_MODELS

del _logistic

__all__ = ["TEXT_MODELS", "VECTOR_MODELS", "LinearModel"]
