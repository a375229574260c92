"""How a dataset of vectors is kept between tasks: arrays, and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueness.data import arrays
from trueness.kinds.vector.vectors import VectorDataset, Vectors

if TYPE_CHECKING:
    from trueness.engine import Stored


def pack(data: VectorDataset) -> dict[str, Any]:
    """The payloads that hold a dataset."""
    made = arrays.pack(data, "rows", features=list(data.features))
    if data.evidence is not None:
        made["rows"]["evidence"] = data.evidence
    return made


def unpack(stored: Stored) -> VectorDataset:
    """The dataset again."""
    about, splits = arrays.unpack(stored, "rows", Vectors)
    evidence, names = stored.read("rows").get("evidence"), tuple(about["features"])
    return VectorDataset(about["name"], about["classes"], splits, names, evidence, about["notes"])
