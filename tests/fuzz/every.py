"""All targets."""

from tests.fuzz import kinds, stores, targets

TARGETS = {**targets.TARGETS, **kinds.TARGETS, **stores.TARGETS}
