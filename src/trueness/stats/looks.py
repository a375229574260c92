"""Tests that look at growing data a few times: how the level is shared, and which sizes may be looked at.

The union bound: if at each size of a grid that was fixed beforehand the test errs with a chance of at most level over
looks, it errs at any of them with a chance of at most the level. So the choice at which sizes to look, and when to
stop, may depend on all that was seen. The sizes themselves may not.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Looks:
    """The sizes at which growing data may be looked at: of one sample, each of which holds the one before."""

    sizes: tuple[int, ...]
    """Fixed before the first look."""

    def __post_init__(self) -> None:
        if not self.sizes or any(one >= other for one, other in zip(self.sizes, self.sizes[1:], strict=False)):
            raise ValueError(f"sizes of looks grow from one to the next, unlike {self.sizes}")

    @classmethod
    def doubling(cls, first: int, looks: int, most: int) -> Looks:
        """Each twice the one before, none beyond `most`."""
        return cls(tuple(sorted({min(first * 2**number, max(most, 1)) for number in range(looks)})))

    def level(self, whole: float) -> float:
        """At which each look is held, so that all together err at most as often as the `whole` level says."""
        return shared(whole, len(self.sizes))

    def after(self, size: int) -> int | None:
        """The next size; None where there is none."""
        return next((one for one in self.sizes if one > size), None)


def shared(level: float, looks: int) -> float:
    """Bonferroni's share of one look."""
    if looks < 1:
        raise ValueError("a test looks once at least")
    return level / looks
