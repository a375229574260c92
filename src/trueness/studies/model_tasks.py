"""Models of studies: what a study file says of them, and the tasks that train them, whatever their family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.kinds.text.models.families import TEXT_MODELS, family_of
from trueness.models.recipes import RECIPES
from trueness.studies.schema import (
    RECORDED,
    RecipeName,
    Several,
    ShapeChanges,
    Study,
    WordVectors,
    known,
    refused,
    shape_of,
)
from trueness.studies.text_tasks import read_dataset, read_vectors

if TYPE_CHECKING:
    from trueness.kinds.text.models.classifier import Classifier


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


def base_models(
    data: Task,
    model: str,
    seeds: Sequence[int],
    *,
    recipe: str,
    pretrained: Path | None,
    shape: Mapping[str, Any],
    uniform: bool = False,
) -> Task:
    """The task that trains models of a family which saw everything; one that is fine-tuned at a time."""
    if not TEXT_MODELS[model].pretrained:
        return training(data, model=model, recipe=recipe, seeds=seeds, shape=shape)
    (seed,) = seeds
    named = {} if TEXT_MODELS[model].built_in else {"model": model}
    return fine_tuned({"dataset": data}, seed=seed, pretrained=pretrained, recipe=recipe, uniform=uniform, **named)


def training(
    data: Task, *, model: str, recipe: str, seeds: Sequence[int], shape: Mapping[str, Any] | None = None
) -> Task:
    """The task that trains models on a prepared dataset; without changes of shape its key does not mention them."""
    TEXT_MODELS[model].check_shape(RECIPES[recipe], shape or {})
    changes = {"shape": dict(shape)} if shape else {}
    return train({"dataset": data}, model=model, recipe=recipe, seeds=seeds, **changes)


@task("text/train", version=1)
def train(
    inputs: Mapping[str, Stored],
    *,
    model: str,
    recipe: str,
    seeds: Sequence[int],
    shape: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Text classifiers that differ by their seed, trained together, and their performance on the test split."""
    return _trained(inputs["dataset"], model, seeds, recipe=recipe, **(shape or {}))


@task("text/fine-tune", version=1)
def fine_tuned(
    inputs: Mapping[str, Stored],
    *,
    pretrained: Path,
    recipe: str,
    seed: int,
    uniform: bool,
    model: str = "transformer",
) -> dict[str, Any]:
    """A fine-tuned model and its performance on the test split; of one with uniform attention the latter alone."""
    how: dict[str, Any] = {"recipe": recipe, "pretrained": pretrained, "uniform": uniform}
    return _trained(inputs["dataset"], model, [seed], keep=not uniform, **how)


def _trained(stored: Stored, model: str, seeds: Sequence[int], *, keep: bool = True, **how: Any) -> dict[str, Any]:
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.models.evaluation import evaluate

    family, data = TEXT_MODELS[model], read_dataset(stored)
    test = data["test"]  # a missing split is better noticed before the training
    found = family.train(data, seeds, device=current_device(), vectors=read_vectors(stored), **how)
    split = EncodedSplit(test, found[0].coder, current_device())
    models = dict(zip(map(str, seeds), found, strict=True))
    tested = {seed: evaluate(one.network, split, len(data.classes)) for seed, one in models.items()}
    named = {} if family.built_in else {"family": {"name": model}}
    return {"test": tested, **(family.pack(models) if keep else {}), **named}


@task("text/performance", version=1)
def performance(inputs: Mapping[str, Stored]) -> dict[str, Any]:
    """The performance of a trained model alone: a summary needs no weights."""
    return {"test": inputs["model"].read("test")}


def read_model(stored: Stored, seed: int) -> Classifier:
    """The model of a seed that a task trained, on this worker's device."""
    return family_of(stored).read(stored, seed, current_device())
