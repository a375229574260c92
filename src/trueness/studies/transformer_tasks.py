"""Tasks of studies that train our own models or fine-tune a transformer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.errors import UserError
from trueness.models.registry import TEXT_MODELS
from trueness.studies.schema import (
    RecipeName,
    ShapeChanges,
    Study,
    WordVectors,
    as_list,
    attentive,
    distinct,
)
from trueness.studies.text_tasks import read_dataset, read_model, training

TRANSFORMER = "transformer"


def _any_model(name: str) -> str:
    if name == TRANSFORMER:
        return name
    try:
        return attentive(TEXT_MODELS.reference(name))
    except (UserError, ValueError) as error:
        raise ValueError(f"{str(error).rstrip('.')}; or {TRANSFORMER}, with pretrained=FOLDER") from error


AnyModel = Annotated[str, AfterValidator(_any_model)]
AnyModels = Annotated[list[AnyModel], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]


def _fine_tuning(name: str) -> str:
    from trueness.models.finetuning import FINE_TUNINGS  # loads torch

    try:
        return FINE_TUNINGS.reference(name)
    except UserError as error:
        raise ValueError(str(error)) from error


FineTuningName = Annotated[str, AfterValidator(_fine_tuning)]


class ModelsStudy(Study):
    """A study that trains models of ours and fine-tunes a transformer."""

    models: AnyModels
    vectors: WordVectors
    """Word vectors of our own models: a file, glove-6b-50d (in a package), or none."""
    recipe: RecipeName
    recipes: dict[str, RecipeName] = Field(default_factory=dict)
    """Recipes of datasets that take another one."""
    shape: ShapeChanges = Field(default_factory=dict)
    pretrained: str
    """The transformer that is fine-tuned: a folder, or minilm-l6 (in a package)."""
    fine_tuning: FineTuningName

    def recipe_of(self, dataset: str) -> str:
        """How our own models are trained on a dataset."""
        return self.recipes.get(dataset, self.recipe)


def trained_models(
    study: ModelsStudy, data: Task, model: str, recipe: str, *, uniform: bool = False
) -> dict[bool, dict[int, Task]]:
    """For learned (False), and if asked for uniform attention (True): the task that has each seed's model."""
    from trueness.models.pretrained import find_pretrained

    kinds = [False, True] if uniform else [False]
    if model == TRANSFORMER:
        folder = find_pretrained(study.pretrained)
        how: dict[str, Any] = {"pretrained": folder, "recipe": study.fine_tuning}
        return {
            flat: {seed: fine_tuned({"dataset": data}, seed=seed, uniform=flat, **how) for seed in study.seeds}
            for flat in kinds
        }
    names = {False: model, True: f"{model.split('-', maxsplit=1)[0]}-uniform"}
    common: dict[str, Any] = {"recipe": recipe, "seeds": study.seeds, "shape": study.shape}
    return {flat: dict.fromkeys(study.seeds, training(data, model=names[flat], **common)) for flat in kinds}


@task("text/fine-tune", version=1)
def fine_tuned(
    inputs: Mapping[str, Stored], *, pretrained: Path, recipe: str, seed: int, uniform: bool
) -> dict[str, Any]:
    """A fine-tuned transformer: its files, its weights, and its performance on the test split."""
    import tempfile

    from trueness.data.batches import EncodedSplit
    from trueness.models.evaluation import evaluate
    from trueness.models.finetuning import fine_tune

    data = read_dataset(inputs["dataset"])
    test = data["test"]  # a missing split is better noticed before the training
    model = fine_tune(pretrained, data, recipe=recipe, seed=seed, device=current_device(), uniform=uniform)
    coded = EncodedSplit(test, model.coder, current_device())
    payloads: dict[str, Any] = {"test": {str(seed): evaluate(model.network, coded, len(data.classes))}}
    if not uniform:  # those are only measured
        state = model.network.model.state_dict()
        payloads["weights"] = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        with tempfile.TemporaryDirectory() as folder:
            model.network.model.config.save_pretrained(folder)
            model.coder.tokenizer.save_pretrained(folder)
            payloads["files"] = {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(folder).iterdir())}
    return payloads


@task("text/performance", version=1)
def performance(inputs: Mapping[str, Stored]) -> dict[str, Any]:
    """The performance of a trained model alone: a summary needs no weights."""
    return {"test": inputs["model"].read("test")}


def read_any_model(stored: Stored, seed: int) -> Any:
    """A model of ours or a transformer, whichever the task trained."""
    return _read_transformer(stored) if stored.holds("files") else read_model(stored, seed)


def _read_transformer(stored: Stored) -> Any:
    """The model that a `text/fine-tune` task left, on this worker's device."""
    import tempfile

    import torch
    from safetensors.torch import save_file

    from trueness.models.transformer import load_transformer

    with tempfile.TemporaryDirectory() as folder:
        for name, text in stored.read("files").items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        weights = {name: torch.from_numpy(array) for name, array in stored.read("weights").items()}
        save_file(weights, Path(folder) / "model.safetensors", metadata={"format": "pt"})
        return load_transformer(folder, current_device())
