"""What explainers and protocols know of their input, whatever its kind: examples whose units are explained and hidden.

A text's units are its tokens, an image's its pixels or squares of them, a vector's its features. Who asks which kind
the input is of makes a mistake: what differs belongs into the batches and splits of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class Batch(Protocol):
    """Some examples, ready for a network."""

    @property
    def labels(self) -> Tensor:
        """(examples,) classes."""

    @property
    def mask(self) -> Tensor:
        """(examples, units) true at explainable units."""

    @property
    def lengths(self) -> Tensor:
        """(examples,) how many of the values that the network reads of it each example has, the rest being padding."""

    @property
    def width(self) -> int:
        """How many values there are of an example, padding included."""

    @property
    def grid(self) -> tuple[int, ...]:
        """How the units lie: in a row, in rows and columns; empty where none has neighbours."""

    def __len__(self) -> int: ...

    def rows(self, index: Tensor) -> Batch:
        """Some of the examples, in the order given, repeats allowed."""

    def cut(self, width: int, *, full: bool) -> Batch:
        """The same without padding beyond so many values; `full`: then there is none."""

    def hide(self, where: Tensor) -> Batch:
        """The same with some units hidden: (examples, units) truth values."""

    def finest(self) -> Batch:
        """The same whose units are the values that the network reads: the pixels of an image explained by squares."""

    def alone(self) -> Iterator[Batch]:
        """One example at a time, without padding."""

    def groups(self) -> Tensor:
        """(examples, units) for each unit the number of the group that is hidden with it, -1 where there is none.

        Methods that hide many things at once hide such groups: tokens, superpixels, features.
        """

    def windows(self, size: float) -> tuple[Tensor, list[Tensor]]:
        """Neighbouring units that are hidden together: their groups, and of each example (windows, groups) kept ones.

        `size` counts units along each side of a window; below 1 it is a share of the example.
        """

    def generators(self, seed: int) -> Iterator[torch.Generator]:
        """For each example random draws fixed by the seed and the example: its company changes nothing."""


class Split(Protocol):
    """Examples on a device, as `EncodedSplit` and `ImageSplit` have them."""

    device: torch.device
    labels: Tensor

    def __len__(self) -> int: ...

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many units each example has."""

    @property
    def tokens(self) -> int:
        """Units of all examples."""

    @property
    def maskable(self) -> Tensor:
        """(tokens,) which units may be hidden."""

    def addresses(self, rows: npt.NDArray[np.intp], width: int) -> Tensor:
        """(rows, width) the number of each unit among all units of the split."""

    def hidden(self, where: Tensor) -> Split:
        """The same with some units hidden: (tokens,) truth values."""

    def outline(self, where: Tensor) -> Split:
        """Only which units are hidden."""

    def only(self, rows: npt.ArrayLike) -> Split:
        """Some examples alone, in the order given; what is drawn for each stays."""

    def hidden_at_random(self, seed: int) -> Split:
        """Every second example as it is, of the others a random share of units hidden; drawn anew for every pass."""

    def labelled(self, labels: npt.ArrayLike) -> Split:
        """The same under other labels."""

    def batch(self, rows: npt.ArrayLike) -> Any:
        """The examples of those numbers."""

    def in_order(self, max_tokens: int = ...) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """Batches, each with the numbers of its examples."""

    def to_explain(self) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """The same in smaller batches."""
