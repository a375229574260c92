"""Old names of `trueness.data.inputs`."""

from trueness.data.inputs import Batch as AnyBatch
from trueness.data.inputs import Split as AnySplit

__all__ = ["AnyBatch", "AnySplit"]
