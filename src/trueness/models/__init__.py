"""Classifiers and how they are trained."""

from trueness.models import logistic as _logistic  # registers its models
from trueness.models.families import TEXT_MODELS
from trueness.models.linear import VECTOR_MODELS, LinearModel

del _logistic

__all__ = ["TEXT_MODELS", "VECTOR_MODELS", "LinearModel"]
