"""Things that have a name for the time of a test."""

from trueness.registry import _Entry


def put(monkeypatch, registry, name, thing):
    """Register, also in the place of what has that name."""
    monkeypatch.setitem(registry._filled(), name, _Entry(thing, "for a test"))
