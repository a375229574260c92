"""What protocols know of their input, whatever its kind: examples with places that can be explained and hidden.

A text's places are its tokens, an image's its pixels or cells of them. A protocol that asks for the kind of its input
is a defect; what is different for a kind belongs into its batches and splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class AnyBatch(Protocol):
    """Some examples, ready for a network."""

    @property
    def labels(self) -> Tensor:
        """(examples,) classes."""
        ...

    @property
    def mask(self) -> Tensor:
        """(examples, places) true at explainable places."""
        ...

    def __len__(self) -> int: ...

    def rows(self, index: Tensor) -> AnyBatch:
        """Some of the examples, in the order given, repeats allowed."""
        ...

    def masked(self, where: Tensor) -> AnyBatch:
        """The same with some places hidden."""
        ...


class AnySplit(Protocol):
    """Examples on a device, as `EncodedSplit` and `ImageSplit` have them."""

    device: torch.device
    labels: Tensor

    def __len__(self) -> int: ...

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many places each example has."""
        ...

    @property
    def tokens(self) -> int:
        """Places of all examples."""
        ...

    @property
    def maskable(self) -> Tensor:
        """(tokens,) which places may be hidden."""
        ...

    def addresses(self, rows: npt.NDArray[np.intp], width: int) -> Tensor:
        """(rows, width) the number of each place among all places of the split."""
        ...

    def hidden(self, where: Tensor) -> AnySplit:
        """The same with some places hidden: (tokens,) truth values."""
        ...

    def outline(self, where: Tensor) -> AnySplit:
        """Only which places are hidden."""
        ...

    def labelled(self, labels: npt.ArrayLike) -> AnySplit:
        """The same under other labels."""
        ...

    def batch(self, rows: npt.ArrayLike) -> Any:
        """The examples of those numbers."""
        ...

    def in_order(self, max_tokens: int = ...) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """Batches, each with the numbers of its examples."""
        ...

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """The same in smaller batches."""
        ...
