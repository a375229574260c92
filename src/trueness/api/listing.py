"""Everything that has a name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

from trueness.kinds import every_kind
from trueness.registry import Registry
from trueness.studies import builtin_studies


def catalogue() -> dict[str, dict[str, str]]:
    """Everything that has a name: what it is (study, dataset, model, ...) to name to description."""
    from trueness.models.recipes import FINE_TUNINGS, RECIPES

    kinds = tuple(every_kind())
    return {
        "study": {name: tomllib.loads(text)["title"] for name, text in builtin_studies().items()},
        "dataset": _described((kind.words.examples, kind.data.datasets) for kind in kinds),
        "model": _described((kind.words.examples, kind.models.families) for kind in kinds),
        "recipe": _described(("", registry) for registry in (RECIPES, FINE_TUNINGS)),
        "explainer": _described((kind.words.examples, kind.explainers) for kind in kinds),
        "planting": _described((kind.words.examples, kind.plantings) for kind in kinds if kind.plantings is not None),
    }


def _described(registries: Iterable[tuple[str, Registry[Any]]]) -> dict[str, str]:
    """Name to description; what several kinds have says of which they are."""
    found: dict[str, str] = {}
    owners: dict[str, dict[str, None]] = {}
    for examples, registry in registries:
        for name in registry:
            found.setdefault(name, registry.describe(name))
            owners.setdefault(name, {})[examples] = None
    return {
        name: f"{told} ({', '.join(owners[name])})" if len(owners[name]) > 1 else told for name, told in found.items()
    }
