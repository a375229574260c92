"""Old name of `trueness.explainers.outputs`."""

from trueness.explainers.outputs import target_class

__all__ = ["target_class"]
