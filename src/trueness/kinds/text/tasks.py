"""The tasks of texts that studies and audits share: a dataset, prepared once, and the models trained on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.kinds.text.models.families import TEXT_MODELS, family_of
from trueness.models.recipes import RECIPES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.models.classifier import Classifier


def dataset_task(
    name: str, vectors: str | None, needed: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> Task:
    """The task that prepares a dataset; its key follows from what the files hold, not from where they lie.

    Files of a user's own are looked at right away: they must have the splits that are `needed`, and the `columns`.
    """
    from trueness.data.columns import columns_of
    from trueness.kinds.text.data.datasets import TEXT_DATASETS, check_files, find_source

    check_files(name, needed, columns_of(columns or {}))
    revision = TEXT_DATASETS[name].revision if name in TEXT_DATASETS else 1
    later: dict[str, Any] = {
        **({} if revision == 1 else {"revision": revision}),
        **({"columns": columns} if columns else {}),
    }
    return dataset(name=name, source=find_source(name)[0], vectors=vectors_for(name, vectors), **later)


def vectors_for(name: str, vectors: str | None) -> str | Path | None:
    """The word vectors that a dataset takes: none where its words are made up."""
    from trueness.kinds.text.data.datasets import find_source
    from trueness.kinds.text.data.word_vectors import PACKAGED, check_vectors

    given = vectors if find_source(name)[1] and vectors != "none" else None
    if given is None or given in PACKAGED:
        return given
    check_vectors(given)
    return Path(given)


@task("text/dataset", version=2)
def dataset(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    name: str,
    source: Path | None,
    vectors: str | Path | None,
    revision: int = 1,  # noqa: ARG001  # it is part of the key
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A prepared dataset, and word vectors for its vocabulary."""
    from trueness.data.columns import columns_of
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.data.stored import pack

    root = None if source is None else source.parent
    return pack(load_text(name, root=root, columns=columns_of(columns or {})), vectors)


def read_dataset(stored: Stored) -> TextDataset:
    """The dataset that a `text/dataset` task left."""
    from trueness.kinds.text.data.stored import unpack

    return unpack(stored)


def read_vectors(stored: Stored) -> npt.NDArray[np.float32] | None:
    """The word vectors that a `text/dataset` task left, if any."""
    return stored.read("vectors")["table"] if stored.holds("vectors") else None


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


def read_model(stored: Stored, seed: int) -> Classifier:
    """The model of a seed that a task trained, on this worker's device."""
    found: Classifier = family_of(stored).read(stored, seed, current_device())
    return found
