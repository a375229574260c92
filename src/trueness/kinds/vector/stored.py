"""How a dataset of vectors is kept between tasks: arrays, and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueness.kinds.vector.vectors import VectorDataset, Vectors

if TYPE_CHECKING:
    from trueness.engine import Stored


def pack(data: VectorDataset) -> dict[str, Any]:
    """The payloads that hold a dataset."""
    arrays = {f"{split}.{part}": value for split, some in data.splits.items() for part, value in vars(some).items()}
    about = {
        "name": data.name,
        "classes": list(data.classes),
        "features": list(data.features),
        "notes": list(data.notes),
        "splits": list(data.splits),
    }
    return {"rows": arrays | ({} if data.evidence is None else {"evidence": data.evidence}), "about": about}


def unpack(stored: Stored) -> VectorDataset:
    """The dataset again."""
    about, arrays = stored.read("about"), stored.read("rows")
    splits = {name: Vectors(arrays[f"{name}.features"], arrays[f"{name}.labels"]) for name in about["splits"]}
    evidence, notes = arrays.get("evidence"), tuple(about["notes"])
    return VectorDataset(about["name"], tuple(about["classes"]), splits, tuple(about["features"]), evidence, notes)
