"""The model on trial: where it is, how it is opened, and whether models like it can be trained."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness import plugins
from trueness.engine import Store, write_atomically
from trueness.engine.encoding import bytes_digest, path_digest
from trueness.errors import UserError

if TYPE_CHECKING:
    from trueness.kinds.image.data.images import ImageDataset
    from trueness.kinds.text.data.texts import Texts
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.models.predictor import Predictor

SETTABLE = ("embedding", "hidden", "activation", "normaliser")
"""What of a network's shape a model like it takes over."""


def subject(model: str | Path, family: str | None = None) -> Path | str:
    """The model as a parameter of tasks: its folder, or the function that is the model; UserError for neither."""
    from trueness.kinds.text.models.opening import recognise

    if plugins.is_function(model):
        if family is not None:
            raise UserError(f"{model} is a function: leave out family.")
        from trueness.models.predictor import BLACK_BOXES  # loads torch

        return BLACK_BOXES.reference(str(model))
    folder = Path(model)
    recognise(folder, family)
    return folder


def family_of(model: Path | str, family: str | None) -> str | None:
    """The family as workers find it: one that this process alone knows by its name is told with its source."""
    from trueness.kinds.text.models.families import TEXT_MODELS
    from trueness.kinds.text.models.opening import recognise

    if not isinstance(model, Path):
        return family
    found = TEXT_MODELS.reference(recognise(model)[0].name if family is None else family)
    return None if family is None and not isinstance(found, plugins.Reference) else found


def opened(model: Path | str, family: str | None, device: str) -> Classifier:
    """The classifier; a worker opens it once for all its tasks, and again when it has changed."""
    from trueness.models.predictor import BLACK_BOXES

    return _opened(model, family, device, path_digest(model) if isinstance(model, Path) else BLACK_BOXES[model])


@functools.lru_cache(maxsize=1)
def _opened(model: Path | str, family: str | None, device: str, content: object) -> Classifier:  # noqa: ARG001
    from trueness.kinds.text.models.black_box import load_black_box
    from trueness.kinds.text.models.opening import load_model

    return load_model(model, device, family) if isinstance(model, Path) else load_black_box(model)


def training_of(model: Path | str, family: str | None) -> dict[str, Any] | None:
    """How models like it are trained, as parameters of tasks; None where that cannot be done: of a function."""
    from trueness.kinds.text.models.opening import recognise

    if not isinstance(model, Path):
        return None
    kind, config = recognise(model, family)
    if kind.pretrained:
        return {"pretrained": model, "recipe": "planted", "model": kind.name, "shape": {}}
    network = config.get("network")
    if not isinstance(network, Mapping):
        raise UserError(f"{model / 'config.json'} does not say what shape the network has.")
    shape = {name: network[name] for name in SETTABLE if name in network}
    pair = "-pair" if network.get("head", "linear") != "linear" else ""
    return {"pretrained": None, "recipe": f"dry-run{pair}", "model": kind.name, "shape": shape}


def classes_of(model: Path | str, family: str | None) -> tuple[str, ...] | None:
    """The classes of a model as its folder names them; None where it has to be opened to know."""
    from trueness.kinds.text.models.opening import recognise

    if not isinstance(model, Path):
        return None
    _, config = recognise(model, family)
    named = config.get("id2label")
    if isinstance(named, Mapping):
        return tuple(str(named[key]) for key in sorted(named, key=int))
    classes = config.get("classes")
    if isinstance(classes, list):
        return tuple(map(str, classes))
    return ("LABEL_0", "LABEL_1") if "model_type" in config else None


def check_labels(model: Path | str, family: str | None, texts: Texts) -> None:
    """Refuse labels that are none of the model's classes, or all the same, before any work."""
    from trueness.data.labels import OR_NONE, match_labels

    classes, way = classes_of(model, family), OR_NONE
    if isinstance(model, str):  # a function is asked, and says 0, 1, ... unless it names its classes
        classes = opened(model, family, "cpu").classes
        way = f"{OR_NONE}; or name the classes of {model} in their order, by its attribute classes"
    if classes is not None and len(classes) < 2:
        raise UserError(f"{model} has one class: there is nothing to explain between classes.")
    if classes is not None:
        match_labels(texts.labels, classes, way)
    if len(texts.labels) == 1 and all(one.label is not None for one in texts.texts):
        same = f"All texts of {texts.name} have the label {texts.labels[0]!r}"
        raise UserError(f'{same}: give texts of two classes, or leave the labels out (label_column="").')


def default_explainers(model: Path | str, family: str | None) -> list[str]:
    """A good set for a kind of model: attention and gradients where it has them, and methods that hide words."""
    from trueness.kinds.text.models.opening import recognise

    hiding = ["leave-one-out", "lime[n_samples=200]"]
    if not isinstance(model, Path):
        return [*hiding, "kernel-shap[n_samples=200]", "occlusion"]
    kind, _ = recognise(model, family)
    if kind.attends == "layers":  # each look is dear
        hiding = ["leave-one-out", "lime[n_samples=100]"]
    attention = {"one": ["attention"], "layers": ["attention"]}.get(kind.attends, [])
    return [*attention, "gradient", "input-x-gradient", "integrated-gradients", *hiding]


def kept_model(model: Any, store: Path) -> str | Path:
    """Where workers find a model: its folder or address; a classifier at hand is saved beside the store's objects."""
    if isinstance(model, str | Path):
        return model if plugins.is_function(model) else Path(model)
    from trueness.kinds.text.models.black_box import BlackBox  # loads torch, which no refusal of a path needs
    from trueness.models.predictor import as_predictor

    if isinstance(model, tuple) and len(model) == 2 and hasattr(model[0], "config"):
        from trueness.kinds.text.models.pretrained import longest_text
        from trueness.kinds.text.models.transformer import Subwords, Transformer, TransformerModel

        network, tokenizer = model
        names = tuple(str(network.config.id2label[number]) for number in range(network.config.num_labels))
        model = TransformerModel(Transformer(network), Subwords(tokenizer, longest_text(network, tokenizer)), names)
    if isinstance(model, BlackBox):
        return _address_of(model.network.predictor, model.network.predictor.function)
    if hasattr(model, "save") and hasattr(model, "network"):
        Store.open(store, create=True)
        with tempfile.TemporaryDirectory(dir=make_inputs(store)) as folder:
            saved: Path = model.save(Path(folder) / "model")
            place = store / "inputs" / f"model-{path_digest(saved)[:16]}"
            if not place.exists():
                saved.rename(place)
        return place
    return _address_of(as_predictor(model, str(getattr(model, "__name__", type(model).__name__))), model)


def _address_of(asked: Predictor, model: Any) -> str:
    """Where workers find a function, or an object in a file; UserError where they cannot."""
    from trueness.models.predictor import BLACK_BOXES

    if asked.name in list(BLACK_BOXES) and BLACK_BOXES[asked.name].function == asked.function:
        name = asked.name  # by which it was loaded
    elif inspect.ismethod(model) or not (hasattr(model, "__qualname__") or dataclasses.is_dataclass(model)):
        raise UserError(
            f"This {type(getattr(model, '__self__', model)).__name__} is an object that was made here, and no worker "
            "can import it: put the lines that make it, or load it, into a file of its own, such as mine.py, and name "
            "it mine.py:model."
        )
    else:
        name = BLACK_BOXES.reference(BLACK_BOXES.name_of(model))
    said = BLACK_BOXES[name].classes
    if asked.classes is not None and asked.classes != (said or tuple(map(str, range(len(asked.classes))))):
        raise UserError(
            f"Workers do not hear of the classes of {name}: name them in its file, by an attribute classes."
        )
    return BLACK_BOXES.reference(name)


def kept_data(data: Any, store: Path, columns: Mapping[str, str]) -> tuple[str, Texts]:
    """Where workers find the texts, and the texts; what is no file is written beside the store's objects."""
    from trueness.data.columns import columns_of
    from trueness.kinds.text.data.texts import read_texts

    columns_of(columns)  # refuses other names
    texts = read_texts(data, **columns)
    if isinstance(data, str | Path):
        return str(data), texts
    rows = [
        {
            "text": one.text,
            **({} if one.text_b is None else {"text_b": one.text_b}),
            **({} if one.label is None else {"label": one.label}),
        }
        for one in texts.texts
    ]
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    Store.open(store, create=True)
    place = make_inputs(store) / f"texts-{bytes_digest(content)[:16]}.jsonl"
    write_atomically(place, content)
    return str(place), texts


def kept_images(data: ImageDataset, store: Path) -> Path:
    """A table of the pictures, which are written beside the store's objects, where workers find them."""
    from PIL import Image  # they could not have been read without

    from trueness.kinds.image.data.files import SPLITS

    if unknown := [name for name in data.splits if name not in SPLITS]:
        raise UserError(f"{data.name} has the split {unknown[0]!r}: an audit of images reads train, dev and test.")
    Store.open(store, create=True)
    inputs, content = make_inputs(store), hashlib.blake2b(repr(data.classes).encode(), digest_size=8)
    for name, images in data.splits.items():
        content.update(name.encode() + repr(images.pixels.shape).encode() + images.pixels.tobytes())
        content.update(images.labels.tobytes())
    place, rows = inputs / f"images-{content.hexdigest()}", []
    place.mkdir(exist_ok=True)
    for name, images in data.splits.items():
        for row, (pixels, label) in enumerate(zip(images.pixels, images.labels.tolist(), strict=True)):
            path = f"{place.name}/{name}-{row}.png"
            Image.fromarray(pixels).save(inputs / path)
            rows.append({"path": path, "label": data.classes[label], "split": name})
    table = place.with_suffix(".jsonl")
    write_atomically(table, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    return table


def make_inputs(store: Path) -> Path:
    """The folder of a store for what was given as an object and has to be found by workers."""
    folder = store / "inputs"
    folder.mkdir(exist_ok=True)
    return folder
