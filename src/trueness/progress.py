"""How far something long is: whoever does it tells, whoever started it may follow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Follower = Callable[[str, float], None]
"""Hears what is being done, and which share of it is."""
_follower: ContextVar[Follower | None] = ContextVar("follower", default=None)


@contextlib.contextmanager
def followed(by: Follower) -> Iterator[None]:
    """What is done inside is told; the outermost follower hears it."""
    token = _follower.set(_follower.get() or by)
    try:
        yield
    finally:
        _follower.reset(token)


def tell(what: str, share: float) -> None:
    """Say how far it is: nothing happens where nobody follows."""
    follower = _follower.get()
    if follower is not None:
        follower(what, share)


def told(items: Iterable[T], what: str, total: int, begin: float = 0.0, end: float = 1.0) -> Iterator[T]:
    """The same items; after each it is told how far between two shares of the whole this is."""
    for number, item in enumerate(items, start=1):
        yield item
        tell(what, begin + (end - begin) * min(number / max(total, 1), 1.0))
