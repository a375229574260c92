"""Things that were made in this process, in a notebook or a script: carried to its own workers, and to nothing else.

What a thing is packed into (cloudpickle) goes to worker processes when this process starts them, through their pipe. It
is never written to a store or read from one: a store knows the digest alone.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trueness.errors import UserError

MODULE = "memory"
"""Stands in the place of a module in the name of such a thing: `memory:predict`."""


@dataclass(frozen=True, eq=False)
class _Carried:
    thing: Any
    packed: bytes | None


_things: dict[str, _Carried] = {}
"""By digest: what this process made."""
_ADDRESS = "_stop_words_id"
_received: dict[str, bytes] = {}
"""By digest: what the process that started this one sent along."""


def carry(thing: Any) -> str:
    """A digest by which the thing is found here and in workers: of what it is packed into.

    What cannot be packed, such as an open connection, gets another digest each time: nobody could say that it is the
    same.
    """
    packed = _packed(thing)
    content = os.urandom(20) if packed is None else packed
    digest = hashlib.blake2b(content, digest_size=20).hexdigest()
    _things.setdefault(digest, _Carried(thing, packed))
    return digest


def find(name: str, digest: str) -> Any:
    """The thing again; UserError in a process that neither made it nor was sent it."""
    if digest in _things:
        return _things[digest].thing
    if digest not in _received:
        raise elsewhere(name)
    try:
        return pickle.loads(_received[digest])
    except Exception as error:  # it runs code of others, which may raise anything
        raise UserError(
            f"{name} cannot be used by another process ({type(error).__name__}: {error}): compute in this one, "
            "workers=0, or put it into a file of its own, such as mine.py."
        ) from error


def forget(digest: str) -> None:
    """Another thing has taken its name: let its memory go."""
    _things.pop(digest, None)


def packed(digests: Iterable[str]) -> dict[str, bytes] | None:
    """What workers are sent; None where one of the things cannot be packed."""
    found = {digest: _things[digest].packed for digest in digests}
    whole = {digest: content for digest, content in found.items() if content is not None}
    return whole if len(whole) == len(found) else None


def receive(sent: Mapping[str, bytes]) -> None:
    """Keep what the process that started this one sent along; it is unpacked when a task first names it."""
    _received.update(sent)


def elsewhere(name: str) -> UserError:
    """What to say where a thing is named that another process made."""
    return UserError(
        f"{name} was made in another process, a notebook or a script, and is not kept: make it again there, or put it "
        "into a file of its own, such as mine.py, and name it mine.py:NAME."
    )


def called(thing: Any) -> str:
    """A name for a thing: its own, or that of its class, as far as an identifier can be made of it."""
    own = getattr(thing, "__name__", None) or type(thing).__name__
    name = str(own).strip("<>")
    return name if name.isidentifier() else type(thing).__name__


def _packed(thing: Any) -> bytes | None:
    file = io.BytesIO()
    try:
        _packer()(file).dump(thing)
    except Exception:  # libraries raise anything where something cannot be packed: a lock, a connection
        return None
    return file.getvalue()


@functools.cache
def _packer() -> Any:
    import cloudpickle

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
        """Leaves out where scikit-learn's vectorisers saw their stop words in memory: it differs each time."""

        def reducer_override(self, thing: Any) -> Any:
            if _ADDRESS not in getattr(thing, "__dict__", ()) or isinstance(thing, type):
                return super().reducer_override(thing)
            made, given, state, *more = thing.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            return (made, given, {name: value for name, value in state.items() if name != _ADDRESS}, *more)

    return Packer
