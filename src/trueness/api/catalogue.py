"""Everything that has a name."""

from __future__ import annotations

import tomllib
from typing import Any

from trueness.kinds.image.data.artefacts import ARTEFACTS
from trueness.kinds.image.data.datasets import IMAGE_DATASETS
from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.text.data.datasets import TEXT_DATASETS
from trueness.kinds.text.data.planting import PLANTINGS
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.vector.explainers import VECTOR_EXPLAINERS
from trueness.kinds.vector.families import VECTOR_MODELS
from trueness.kinds.vector.vectors import VECTOR_DATASETS
from trueness.registry import Registry
from trueness.studies import builtin_studies


def list_names() -> dict[str, dict[str, str]]:
    """Everything that has a name: kind to name to description."""
    from trueness.explainers.contract import TEXT_EXPLAINERS
    from trueness.models.recipes import FINE_TUNINGS, RECIPES

    kinds: dict[str, tuple[Registry[Any], ...]] = {
        "dataset": (VECTOR_DATASETS, TEXT_DATASETS),
        "model": (VECTOR_MODELS, TEXT_MODELS),
        "recipe": (RECIPES, FINE_TUNINGS),
        "explainer": (VECTOR_EXPLAINERS, TEXT_EXPLAINERS),
        "planting": (PLANTINGS,),
        "image dataset": (IMAGE_DATASETS,),
        "image model": (IMAGE_MODELS,),
        "image explainer": (IMAGE_EXPLAINERS,),
        "artefact": (ARTEFACTS,),
    }
    found = {"study": {name: tomllib.loads(text)["title"] for name, text in builtin_studies().items()}}
    for kind, registries in kinds.items():
        found[kind] = {name: registry.describe(name) for registry in registries for name in registry}
    return found


list = list_names  # noqa: A001  # as the command
