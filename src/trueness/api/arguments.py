"""What people give to functions: what it is, and what is refused."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from trueness.data import VectorDataset
from trueness.errors import UserError


def check_number(what: str, number: Any, least: int) -> None:
    """Refuse what is no whole number, or too small."""
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        raise UserError(f"{what} is a whole number, {least} or more, not {number!r}.")


def several(explainers: Any) -> Any:
    """Explainers as a list: one alone will do, and none."""
    return explainers if explainers is None or isinstance(explainers, list | tuple) else [explainers]


def kind_of(thing: Any) -> str:
    """What somebody gave, in a few words."""
    return "nothing" if thing is None else f"an object of type {type(thing).__name__}"


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
