"""Statistics that may have no value: a number, or a typed reason why there is none."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class Reason(enum.Enum):
    """Why a statistic has no value."""

    EMPTY = "there are no values"
    SINGLE = "there is only one value"
    CONSTANT = "an input is constant"
    NOT_FINITE = "an input holds NaN or infinity"
    TOO_FEW = "there are fewer values than k"
    NOT_A_DISTRIBUTION = "an input is negative somewhere or does not sum to 1"
    INFINITE = "the second distribution is 0 where the first is not"
    NO_ROOM = "chance level and best value coincide"
    FLAT_BASELINE = "the baseline curve never falls below its last point"
    NO_SPREAD = "resampling shows too little spread for an interval"
    ONE_CLUSTER = "there is only one cluster to resample"
    NOT_A_MEAN = "it is not a mean of independent values"
    NO_DIVERGENCE = "the attentions do not differ"
    SURE_OF_NOTHING = "the base model predicts the same for every example"
    NOTHING_MARKED = "no feature is marked"
    ALL_MARKED = "every feature is marked"


_BY_CODE: tuple[Reason | None, ...] = (None, *Reason)
_CODE = {reason: code for code, reason in enumerate(_BY_CODE) if reason is not None}


@dataclass(frozen=True)
class Undefined:
    """A statistic without a value. It is not a number: arithmetic and float() raise."""

    reason: Reason

    def __str__(self) -> str:
        return f"undefined, because {self.reason.value}"

    def __float__(self) -> float:
        raise TypeError(str(self))

    def __bool__(self) -> bool:
        raise TypeError(f"{self}; test with isinstance(value, Undefined)")


class Measured:
    """One statistic per instance; `values` is a masked array, masked where the statistic is undefined."""

    __slots__ = ("_codes", "values")

    def __init__(self, values: npt.ArrayLike, undefined: Mapping[Reason, npt.ArrayLike]) -> None:
        """`undefined` maps a reason to the instances it applies to; the first reason that applies is kept."""
        data = np.array(values, dtype=np.float64)
        codes = np.zeros(data.shape, dtype=np.uint8)
        for reason, where in undefined.items():
            codes[np.asarray(where, dtype=bool) & (codes == 0)] = _CODE[reason]
        hidden = codes != 0
        if not np.isfinite(data[~hidden]).all():
            raise ArithmeticError("a statistic that is neither finite nor undefined")
        data[hidden] = np.nan  # should one ever leak, it is loud
        self.values: np.ma.MaskedArray[Any, np.dtype[np.float64]] = np.ma.MaskedArray(data, mask=hidden)
        self._codes = codes

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, index: int) -> float | Undefined:
        reason = _BY_CODE[self._codes[index]]
        return float(self.values.data[index]) if reason is None else Undefined(reason)

    def __iter__(self) -> Iterator[float | Undefined]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        parts = [f"{len(self)} values"]
        parts += [f"{count} undefined, because {reason.value}" for reason, count in self.reasons().items()]
        return f"Measured({'; '.join(parts)})"

    @property
    def defined(self) -> Bools:
        """True where there is a value."""
        return np.asarray(self._codes == 0)

    def reasons(self) -> dict[Reason, int]:
        """How many instances are undefined, by reason."""
        counts = np.bincount(self._codes, minlength=len(_BY_CODE))
        return {reason: int(counts[code]) for reason, code in _CODE.items() if counts[code]}

    def undefined(self) -> dict[Reason, Bools]:
        """Which instances are undefined, by reason."""
        return {reason: self._codes == _CODE[reason] for reason in self.reasons()}

    def compressed(self) -> Floats:
        """The defined values only."""
        return np.asarray(self.values.compressed(), dtype=np.float64)

    def to_pandas(self, name: str) -> pd.DataFrame:
        """Columns `name` (missing where undefined) and `name_undefined` (the reason, missing where defined)."""
        import pandas as pd

        reasons = [reason.value if (reason := _BY_CODE[code]) else None for code in self._codes]
        return pd.DataFrame(
            {
                name: pd.array(self.values.data, dtype="Float64"),
                f"{name}_undefined": pd.array(reasons, dtype="string"),
            }
        ).assign(**{name: lambda frame: frame[name].mask(~self.defined)})
