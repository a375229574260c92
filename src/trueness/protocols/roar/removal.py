"""Remove what is called important, retrain, measure: the loop of ROAR and Recursive ROAR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from trueness.protocols.roar.curves import Order

Model = TypeVar("Model")
Hidden = TypeVar("Hidden")
Ranking = TypeVar("Ranking")
Measured = TypeVar("Measured")


def removal(
    whole: Model,
    nothing: Hidden,
    amounts: Sequence[float],
    orders: Sequence[Order],
    *,
    explain: Callable[[Model, Hidden], Ranking],
    hide: Callable[[Ranking, Hidden, float], Hidden],
    train: Callable[[Hidden], tuple[Model, Measured]],
) -> Iterator[tuple[Order, int, Hidden, Measured]]:
    """What is hidden at each step from 1 on, and what was measured of the model trained without it.

    Begins with the model that saw everything, `nothing` being hidden; the first step of all orders is one.
    """
    once = explain(whole, nothing)
    hidden = hide(once, nothing, amounts[0])
    first = (hidden, *train(hidden))
    for order in orders:
        hidden, model, measured = first
        yield order, 1, hidden, measured
        for step, amount in enumerate(amounts[1:], start=2):
            hidden = hide(explain(model, hidden) if order == "recursive" else once, hidden, amount)
            model, measured = train(hidden)
            yield order, step, hidden, measured
