"""What studies of texts have in common: how their files name texts, models and explainers, and what trains models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from trueness.boundary import is_file
from trueness.engine import Task
from trueness.kinds.text.data.datasets import reference_to
from trueness.kinds.text.data.word_vectors import PACKAGED
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import TEXT_MODELS, AttentiveFamily
from trueness.kinds.text.tasks import base_models
from trueness.models.recipes import RECIPES
from trueness.registry import nearest
from trueness.studies.schema import RECORDED, Distinct, RecipeName, Several, Study, known, named_apart, refused


def _findable(name: str, info: ValidationInfo) -> str:
    with refused():
        return name if info.context is RECORDED else reference_to(name)


def _attentive(name: str, info: ValidationInfo) -> str:
    if info.context is not RECORDED and TEXT_MODELS[name].attends != "one":
        raise ValueError(f"{name} has no attention of its own to test; use additive or dot")
    return name


def _found(name: str) -> str:
    if name not in ("none", *PACKAGED) and not is_file(Path(name)):
        raise ValueError(f"there are no word vectors {name}; give a file, {' or '.join(PACKAGED)}, or none")
    return name


def _shape(changes: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    if info.context is RECORDED or "models" not in info.data:  # those are wrong themselves
        return changes
    declared = {name for model in info.data["models"] for name in TEXT_MODELS[model].settings}
    declared = declared or set(AttentiveFamily.settings)  # fine-tuned models alone leave out any
    given = info.context or ()
    for name in changes.keys() - declared:
        # What a file says of the shape of its own models need not fit those that a setting puts in their place.
        if ("models",) not in given or ("shape", name) in given:
            raise ValueError(f"there is no {name} of a model's shape to set; {nearest(name, list(declared))}")
    return {name: value for name, value in changes.items() if name in declared}


def shape_of(model: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What of a study's changes of shape is meant for a model: each takes what its family declares."""
    return {name: value for name, value in changes.items() if name in TEXT_MODELS[model].settings}


TextDatasetName = Annotated[str, AfterValidator(_findable)]
TextDatasets = Several[TextDatasetName]
NamedDatasets = Annotated[TextDatasets, AfterValidator(named_apart)]
AttentionModels = Several[Annotated[str, known(TEXT_MODELS), AfterValidator(_attentive)]]
TextExplainerName = Annotated[str, known(TEXT_EXPLAINERS)]
TextExplainers = Annotated[Distinct[TextExplainerName], Field(min_length=2)]
WordVectors = Annotated[str, AfterValidator(_found)]
ShapeChanges = Annotated[dict[str, bool | int | float | str], AfterValidator(_shape)]
"""Changes of the models' shape, such as hidden=32: smaller than the papers', for a first look. See `shape_of`."""


class AttentiveStudy(Study):
    """A study of models that have attention of their own, trained from scratch."""

    datasets: TextDatasets
    models: AttentionModels
    vectors: WordVectors
    """Word vectors: a file, glove-6b-50d (in a package), or none. Datasets of made-up words take none."""
    recipe: RecipeName
    shape: ShapeChanges = Field(default_factory=dict)


def _any_model(name: str, info: ValidationInfo) -> str:
    if info.context is not RECORDED and TEXT_MODELS[name].attends in ("uniform", "frozen"):
        raise ValueError(f"{name} has no attention of its own to test; use additive or dot, or transformer")
    return name


AnyModel = Annotated[str, known(TEXT_MODELS), AfterValidator(_any_model)]


def _fine_tuning(name: str) -> str:
    from trueness.models.recipes import FINE_TUNINGS

    with refused():
        return FINE_TUNINGS.reference(name)


FineTuningName = Annotated[str, AfterValidator(_fine_tuning)]


class ModelsStudy(Study):
    """A study that trains models from scratch and fine-tunes pretrained ones."""

    models: Several[AnyModel]
    vectors: WordVectors
    """Word vectors of models trained from scratch: a file, glove-6b-50d (in a package), or none."""
    recipe: RecipeName
    recipes: dict[str, RecipeName] = Field(default_factory=dict)
    """Recipes of datasets that take another one."""
    shape: ShapeChanges = Field(default_factory=dict)
    pretrained: str
    """The transformer that is fine-tuned: a folder, or minilm-l6 (in a package)."""
    fine_tuning: FineTuningName

    def recipe_of(self, dataset: str) -> str:
        """How models are trained from scratch on a dataset."""
        return self.recipes.get(dataset, self.recipe)

    def how(self, dataset: str, model: str) -> dict[str, Any]:
        """How a model is trained on a dataset, as parameters of tasks."""
        from trueness.kinds.text.models.pretrained import find_pretrained

        if TEXT_MODELS[model].pretrained:
            return {"recipe": self.fine_tuning, "pretrained": find_pretrained(self.pretrained), "shape": {}}
        recipe, shape = self.recipe_of(dataset), shape_of(model, self.shape)
        TEXT_MODELS[model].check_shape(RECIPES[recipe], shape)
        return {"recipe": recipe, "pretrained": None, "shape": shape}


def trained_models(
    study: ModelsStudy, data: Task, dataset: str, model: str, *, uniform: bool = False
) -> dict[bool, dict[int, Task]]:
    """For learned (False), and if asked for uniform attention (True): the task that has each seed's model."""
    family, how = TEXT_MODELS[model], study.how(dataset, model)
    found: dict[bool, dict[int, Task]] = {}
    for flat in (False, True) if uniform else (False,):
        if family.pretrained:
            found[flat] = {seed: base_models(data, model, [seed], uniform=flat, **how) for seed in study.seeds}
        elif name := family.uniform if flat else model:
            found[flat] = dict.fromkeys(study.seeds, base_models(data, name, study.seeds, **how))
    return found
