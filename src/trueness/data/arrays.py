"""Examples that are arrays of a row each, and how datasets of them are kept between tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from trueness.data.check import check_splits
from trueness.data.dataset import SPLITS, looked_at

if TYPE_CHECKING:
    from trueness.data.dataset import Dataset
    from trueness.engine import Stored


@dataclass(frozen=True)
class ArrayExamples:
    """What a dataclass of arrays can do: a row of each is an example, and the last array are the classes."""

    @property
    def _labels(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = vars(self)["labels"]
        return found

    def __len__(self) -> int:
        return len(self._labels)

    def pick(self, rows: npt.ArrayLike) -> Self:
        """Some of them, in the order given."""
        chosen = np.asarray(rows, dtype=np.intp)
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def labelled(self, labels: npt.ArrayLike) -> Self:
        """The same under other classes."""
        changed: Any = {"labels": np.asarray(labels, dtype=np.int64)}
        return replace(self, **changed)

    def keys(self) -> list[bytes]:
        """The numbers of each row."""
        return [row.tobytes() for row in getattr(self, fields(self)[0].name)]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All examples of several splits."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class DataOfArrays:
    """What the data part of every kind of arrays does alike: how data are read is its own."""

    payload: str
    """By which a task's result is known to hold a dataset."""

    def read(
        self,
        data: Any,
        *,
        model: Any = None,
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,
        **options: Any,
    ) -> Any:
        """See `Data.read`."""
        raise NotImplementedError

    def fitting(self, read: Any, model: Any) -> Any:  # noqa: ARG002  # where data fit every model
        """The dataset as the model can read it; UserError where it cannot."""
        return read

    def look(
        self,
        data: Any,
        model: Any,
        *,
        split: str | None = None,
        columns: Mapping[str, str] | None = None,
        gold: bool = True,
    ) -> Any:
        """As the model reads it, under its classes."""
        read = self.fitting(self.read(data, model=model, columns=columns), model)
        splits, notes = looked_at(read, model.classes, split, gold=gold)
        return replace(read, classes=model.classes, splits=splits, notes=notes)

    def check(
        self, data: str, *, columns: Mapping[str, str] | None = None, root: str | Path | None = None
    ) -> dict[str, Any]:
        """Sizes, classes, duplicates, leakage; what cannot be read is an error."""
        return check_splits(self.read(data, columns=columns, root=root))

    def sources(self, data: str) -> list[Path]:  # noqa: ARG002  # where all data are generated
        """The files that a dataset is read from."""
        return []

    def holds(self, kept: Stored) -> bool:
        """By the payload."""
        return kept.holds(self.payload)


Some = TypeVar("Some", bound=ArrayExamples)


def pack(data: Dataset[Any], payload: str, **about: Any) -> dict[str, Any]:
    """The payloads that hold a dataset: arrays under that name, and facts."""
    arrays = {f"{split}.{part}": value for split, some in data.splits.items() for part, value in vars(some).items()}
    facts = {"name": data.name, "classes": list(data.classes), **about, "notes": list(data.notes)}
    return {payload: arrays, "about": {**facts, "splits": list(data.splits)}}


def unpack(stored: Stored, payload: str, examples: type[Some]) -> tuple[dict[str, Any], dict[str, Some]]:
    """The facts that `pack` was told, with name, classes and notes; and the splits."""
    about, arrays = stored.read("about"), stored.read(payload)
    parts = [field.name for field in fields(examples)]
    # An earlier version kept no order.
    names = about.pop("splits", None) or [name for name in SPLITS if f"{name}.labels" in arrays]
    splits = {name: examples(*(arrays[f"{name}.{part}"] for part in parts)) for name in names}
    return {**about, "classes": tuple(about["classes"]), "notes": tuple(about["notes"])}, splits
