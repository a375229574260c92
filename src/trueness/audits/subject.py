"""The model and the data on trial: where workers find them."""

from __future__ import annotations

import dataclasses
import inspect
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueness import carried, plugins
from trueness.engine import Store
from trueness.engine.encoding import digest, path_digest
from trueness.errors import UserError
from trueness.kinds import KINDS, kind_of, open_model
from trueness.kinds.contract import Kind
from trueness.models.predictor import BLACK_BOXES, Predictor

MEMORY = "memory:"
"""Before the digest of data that were given as an object."""


def subject(model: str | Path) -> Path | str:
    """The model as a parameter of tasks: its folder, or the address of the function that is the model."""
    return BLACK_BOXES.reference(str(model)) if plugins.is_function(model) else Path(model)


def family_of(model: Path | str, family: str | None, data: Any = None) -> str | None:
    """The family as workers find it: one that this process alone knows by its name is told with its source.

    UserError for a folder that holds no model.
    """
    kind = kind_of(model, data)
    if isinstance(model, str):
        if family is not None:
            raise UserError(f"{model} is a function: leave out family.")
        return None
    like = None if kind.relatives is None else kind.relatives.like(model, family)
    if family is not None:
        return kind.models.families.reference(family)
    known = None if like is None else like.get("family")
    return known if isinstance(known, plugins.Reference) else None


def kept_model(model: Any, store: Path, data: Any = None) -> str | Path:
    """Where workers find a model: its folder or address; a model at hand is saved beside the store's objects.

    A function or an estimator that only this process has is carried to its workers.
    """
    if isinstance(model, str | Path):
        return model if plugins.is_function(model) else Path(model)
    found = open_model(model, data=data)
    predictor = getattr(found.network, "predictor", None)
    if predictor is not None:
        return _address_of(predictor, model if model is not found else predictor, data)
    Store.open(store, create=True)
    with tempfile.TemporaryDirectory(dir=make_inputs(store)) as folder:
        saved = found.save(Path(folder) / "model")
        place = store / "inputs" / f"model-{path_digest(saved)[:16]}"
        if not place.exists():
            saved.rename(place)
    return place


def _address_of(predictor: Any, model: Any, data: Any) -> str:
    """Where workers find a function, or an object in a file; one that has no file is carried to them."""
    code = model.function if isinstance(model, Predictor) else model
    if predictor.name in list(BLACK_BOXES) and BLACK_BOXES[predictor.name].function == predictor.function:
        name = predictor.name  # by which it was loaded
    elif inspect.ismethod(code) or not plugins.importable(code):
        return BLACK_BOXES.carry(model, f"{carried.MODULE}:{carried.called(getattr(code, '__self__', code))}")
    else:
        name = BLACK_BOXES.name_of(code)
    there = open_model(name, data=data)
    if predictor.classes is not None and tuple(predictor.classes) != there.classes:
        raise UserError(f"Set the attribute classes of {name} in its file: worker processes import it from there.")
    return BLACK_BOXES.reference(name)


def kind_on(model: Path | str, dataset: str) -> Kind:
    """The kind of a model and a dataset; the name of data that were given as an object says it."""
    held = dataset.removeprefix(MEMORY).rpartition(":")[0] if dataset.startswith(MEMORY) else ""
    return KINDS[held] if held else kind_of(model, None if dataset.startswith(MEMORY) else dataset)


def named(found: Any, kind: Kind) -> str:
    """What a task calls data that were given as an object: by their kind and a digest of what they hold."""
    bare: Any = dataclasses.replace(found, name="", notes=())  # the same, whatever they come in
    return f"{MEMORY}{kind.name}:" + digest({payload: _plain(value) for payload, value in kind.data.pack(bare).items()})


def _plain(payload: Any) -> Any:
    """What a digest is taken of."""
    if hasattr(payload, "to_json"):
        return payload.to_json(orient="split")
    if isinstance(payload, Mapping):
        return {str(name): _plain(value) for name, value in payload.items()}
    return payload.tobytes().hex() + str(payload.shape) if hasattr(payload, "tobytes") else payload


def make_inputs(store: Path) -> Path:
    """The folder of a store for what was given as an object and has to be found by workers."""
    folder = store / "inputs"
    folder.mkdir(exist_ok=True)
    return folder
