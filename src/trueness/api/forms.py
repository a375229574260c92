"""Forms of models and data that the audit asks for."""

from __future__ import annotations

from typing import Any

from trueness.errors import UserError
from trueness.kinds import kind_of
from trueness.kinds.vector.vectors import VectorDataset


def refuse_numbers(data: Any, what: str) -> None:
    """Refuse an array, a table or lists of numbers where texts or images are wanted."""
    types: Any = getattr(data, "dtypes", getattr(data, "dtype", None))  # of a table, or of an array
    kinds = {getattr(kind, "kind", "") for kind in (types if hasattr(types, "__iter__") else [types])}
    row = data[0] if isinstance(data, list | tuple) and data else None
    listed = isinstance(row, list | tuple) and bool(row) and all(isinstance(one, int | float) for one in row)
    if isinstance(data, VectorDataset) or listed or (kinds and kinds <= set("biuf")):
        raise UserError(
            f"{what} is for texts and images, and the data are numbers: of vectors and tables trueness has "
            "tn.recursive_roar."
        )


def of_images(model: Any) -> bool:
    """Whether it classifies images: a model at hand, or one in a folder."""
    return kind_of(model).name == "image"
