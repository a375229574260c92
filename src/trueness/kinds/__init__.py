"""Kinds of input: texts, images, rows, prompts, and those of others. Whoever is outside asks a kind, never which it is.

A kind of one's own is an object of `trueness.kinds.contract.Kind`: an entry point in `trueness.kinds`, or `KINDS.add`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import exists, is_file, read_settings
from trueness.data.dataset import unknown
from trueness.errors import UserError
from trueness.kinds.contract import Kind, Model
from trueness.models.refusals import check_suitable
from trueness.registry import Registry

if TYPE_CHECKING:
    from trueness.data.dataset import Dataset
    from trueness.engine import Stored


def as_kind(thing: Any, name: str) -> Kind:
    """A kind of somebody else's code."""
    if not isinstance(thing, Kind):
        raise UserError(f"{name} is no kind of input: give an object of trueness.kinds.contract.Kind.")
    return thing


def _kind_of_texts() -> Kind:
    from trueness.kinds.text.kind import TEXT

    return TEXT


def _kind_of_images() -> Kind:
    from trueness.kinds.image.kind import IMAGE

    return IMAGE


def _kind_of_vectors() -> Kind:
    from trueness.kinds.vector.kind import VECTOR

    return VECTOR


def _kind_of_prompts() -> Kind:
    from trueness.kinds.prompt.kind import PROMPT

    return PROMPT


KINDS: Registry[Kind] = Registry("kind of input", group="trueness.kinds", adapt=as_kind)
KINDS.add_later("text", _kind_of_texts, "texts and pairs of texts: one score per word")
KINDS.add_later("image", _kind_of_images, "images: one score per pixel or square")
KINDS.add_later("vector", _kind_of_vectors, "rows of numbers: one score per feature")
KINDS.add_later("prompt", _kind_of_prompts, "questions to language models: one score per passage")
_OWN = ("image", "text", "vector")
"""In the order in which models are opened: a function is of texts, unless the data say otherwise."""


def every_kind() -> Iterator[Kind]:
    """Ours first: of models that several kinds can open, such as functions, the first one of these is taken."""
    for name in (*_OWN, *(name for name in KINDS if name not in _OWN)):
        yield KINDS[name]


def kind_of(model: Any, data: Any = None) -> Kind:
    """The kind of a model: a folder, an address of code, or an object of any form; nothing of a folder is run.

    What several kinds can open, such as a function, is of the kind of the data where these are given.
    """
    if (named := KINDS[model.kind] if _says_kind(model) else None) is not None:
        return named
    if isinstance(model, str | Path) and is_file(Path(model) / "config.json"):
        config = read_settings(Path(model) / "config.json")
        if isinstance(config, dict) and config.get("kind") in list(KINDS):
            return KINDS[config["kind"]]
    if not isinstance(model, str | Path):
        check_suitable(model)
    able = [kind for kind in every_kind() if kind.models.recognises(model)]
    if len(able) > 1 and data is not None:
        suited = kind_of_data(data)
        return suited if suited in able else able[0]
    if able:
        return able[0]
    if isinstance(model, str | Path):
        return KINDS["text"]  # which says what is wrong with a folder
    raise UserError(
        f"An object of type {type(model).__name__} is no model: give a folder, the address of a function "
        "(mine.py:name), what tn.load_model gives, (model, tokenizer), a pipeline of transformers, an estimator of "
        "scikit-learn with predict_proba, or a function that gives probabilities."
    )


def kind_of_data(data: Any) -> Kind:
    """The kind of data: a dataset, its name, a file or folder, or an object in memory."""
    if _says_kind(data):
        return KINDS[data.kind]
    others = [*(name for name in KINDS if name not in _OWN), "image", "vector"]
    # Nearly all that can be read may be texts, so that these are asked last.
    with contextlib.suppress(UserError):  # a text may be no name of a file
        return next((KINDS[name] for name in others if KINDS[name].data.recognises(data)), KINDS["text"])
    return KINDS["text"]


def check_data(data: str, *, columns: Any = None, root: str | Path | None = None) -> dict[str, Any]:
    """What is in a dataset of that name or path; UserError where there is none, which names those of like names."""
    kind = kind_of_data(data)
    if data not in kind.data.datasets and not data.startswith("hf:") and not exists(Path(data)):
        raise unknown(data, [name for one in every_kind() for name in one.data.datasets])
    return kind.data.check(data, columns=columns, root=root)


def split_data(source: str | Path, folder: str | Path, **how: Any) -> dict[str, Any]:
    """One file written as train, dev and test: how many examples each has; UserError where its kind is not written."""
    kind = kind_of_data(source)
    if kind.write_splits is None:
        raise UserError(
            f"{source} holds {kind.words.examples}, which are not written: splits are made where it is read."
        )
    return kind.write_splits(source, folder, **how)


def kind_of_stored(stored: Stored) -> Kind:
    """The kind of the dataset that a task left."""
    return next(kind for kind in every_kind() if kind.data.holds(stored))


def _says_kind(thing: Any) -> bool:
    return isinstance(getattr(thing, "kind", None), str) and thing.kind in list(KINDS)


def open_model(model: Any, device: str = "cpu", *, family: Any = None, data: Any = None) -> Model:
    """A model in any form, ready to be asked; `family` is needed for a folder of somebody else's family."""
    found: Model = model if _says_kind(model) else kind_of(model, data).models.open(model, device, family)
    return found


def read_data(data: Any, **how: Any) -> Dataset[Any]:
    """A dataset of whatever people have; see `Data.read` for what can be said."""
    return kind_of_data(data).data.read(data, **how)
