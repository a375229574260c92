"""Families of text classifiers: attentive ones and those of others from scratch, and pretrained transformers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trueness.errors import UserError
from trueness.models.families import Family
from trueness.plugins import told_by
from trueness.registry import Registry

if TYPE_CHECKING:
    from trueness.engine import Stored
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.kinds.text.models.network import TextNetwork
    from trueness.kinds.text.models.text_model import TextModel
    from trueness.models.network import Attends
    from trueness.models.recipes import Recipe
    from trueness.models.training import SplitView


class NetworkFamily(Family):
    """Networks of one class (vocabulary, classes, shape), trained from scratch by our loop."""

    def __init__(self, name: str, network: type[TextNetwork]) -> None:
        self.name, self._network, self.attends = name, network, network.attends
        self._signature = inspect.signature(network)
        self.settings = [name for name in self._signature.parameters if name not in ("vocabulary", "classes")]

    def make(self, data: TextDataset, recipe: Recipe, changes: Mapping[str, Any]) -> TextNetwork:
        """A fresh network for a dataset; of the recipe's shape it takes what it has a name for."""
        if data.pairs and self._network.pairs is False:
            raise UserError(f"{data.name} has pairs of texts, and {self.name} reads one: declare pairs = True if not.")
        shape = self._shape(recipe, changes)
        return self.build(vocabulary=len(data.vocabulary), classes=len(data.classes), **shape)

    def _shape(self, recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, Any]:
        shape = {name: value for name, value in recipe.shape.items() if name in self.settings} | dict(changes)
        try:
            self._signature.bind(vocabulary=1, classes=2, **shape)
        except TypeError as error:
            raise UserError(f"{self.name} takes other arguments, see trueness.models.network: {error}.") from error
        return shape

    def check_shape(self, recipe: Recipe, changes: Mapping[str, Any]) -> None:
        """By the arguments that its network takes."""
        self._shape(recipe, changes)

    def build(self, **shape: Any) -> TextNetwork:
        """A fresh network of that shape."""
        from torch import nn

        network = self._network(**shape)
        if not isinstance(getattr(network, "embedding", None), nn.Embedding):
            raise UserError(f"{self.name} has no embedding: set self.embedding = nn.Embedding(...) in its __init__.")
        network.family, network.shape = self.name, shape
        return network

    def train(self, data: TextDataset, seeds: Sequence[int], **how: Any) -> Sequence[TextModel]:
        """See `train_networks` for what can be said."""
        from trueness.kinds.text.models.training import train_networks

        if how.pop("pretrained", None) is not None:
            raise UserError(f"{self.name} is trained from scratch: leave out pretrained.")
        return train_networks(self.make, data, seeds, **how)

    def assemble(
        self, config: Mapping[str, Any], weights: Mapping[str, Any], device: str, source: str | Path
    ) -> TextModel:
        """See `Family.assemble`."""
        from trueness.kinds.text.models.text_model import assemble

        return assemble(self.build, config, weights, device, source)


class AttentiveFamily(NetworkFamily):
    """Attentive classifiers with one encoder and one kind of attention."""

    built_in = True
    settings = ("embedding", "hidden", "activation", "normaliser")

    def __init__(self, encoder: str, attention: str) -> None:
        self.name, self.uniform = f"{encoder}-{attention}", f"{encoder}-uniform"
        self.attends = cast("Attends", attention) if attention in ("uniform", "frozen") else "one"
        self._parts = {"encoder": encoder, "attention": attention}

    def make(self, data: TextDataset, recipe: Recipe, changes: Mapping[str, Any]) -> TextNetwork:
        """A fresh network for a dataset under a recipe."""
        from dataclasses import asdict

        from trueness.kinds.text.models.attentive import check_settable
        from trueness.kinds.text.models.training import attentive_config

        check_settable(changes)
        return self.build(**asdict(attentive_config(data, recipe, **self._parts, **changes)))

    def check_shape(self, recipe: Recipe, changes: Mapping[str, Any]) -> None:
        """By the smallest network of that shape."""
        from trueness.kinds.text.data.coding import SPECIAL
        from trueness.kinds.text.models.attentive import AttentiveConfig, check_settable

        check_settable(changes)
        shape: dict[str, Any] = {"vocabulary": len(SPECIAL), "classes": 2, **recipe.shape, **self._parts, **changes}
        AttentiveConfig(**shape)

    def build(self, **shape: Any) -> TextNetwork:
        """A fresh network of that shape, which says its encoder and attention itself."""
        from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig

        return AttentiveClassifier(AttentiveConfig(**shape))


class TransformerFamily(Family):
    """Hugging Face transformers, fine-tuned from a folder."""

    name = "transformer"
    attends = "layers"
    pretrained = from_folder = built_in = True

    def train_one(
        self,
        data: TextDataset,
        seed: int,
        *,
        view: SplitView | None,
        state: str | Path | None,
        recipe: Any = None,
        device: str = "cpu",
        vectors: Any = None,  # noqa: ARG002  # it has its own
        pretrained: str | Path | None = None,
        uniform: bool = False,
        **shape: Any,
    ) -> Classifier:
        """With `uniform` attention weights are all equal, in training and after."""
        from trueness.kinds.text.models.finetuning import fine_tune

        if pretrained is None or shape:
            wrong = f"has no {', '.join(shape)} to set" if shape else "needs pretrained=FOLDER"
            raise UserError(f"A transformer is fine-tuned from a pretrained one and {wrong}, see trueness fine-tune.")
        how: dict[str, Any] = {"recipe": recipe or "fine-tune", "device": device, "uniform": uniform}
        return fine_tune(pretrained, data, seed=seed, view=view, state=state, **how)

    def check_folder(self, folder: str | Path) -> None:
        """Refuse what holds no transformer."""
        from trueness.kinds.text.models.pretrained import find_pretrained

        find_pretrained(folder)

    def pack(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """The one model's weights, and its other files."""
        from trueness.kinds.text.models.transformer_files import payloads_of

        (model,) = models.values()
        return payloads_of(model)

    def read(self, stored: Stored, seed: int | str, device: str) -> Classifier:  # noqa: ARG002  # there is one
        """The one model."""
        from trueness.kinds.text.models.transformer_files import read_payloads

        return read_payloads(stored, device)

    def recognises(self, config: Mapping[str, Any]) -> bool:
        """As `save_pretrained` writes it; what reads pictures is not meant."""
        return "model_type" in config and not any("Image" in str(name) for name in config.get("architectures") or ())

    def load(self, folder: Path, config: Mapping[str, Any], device: str) -> Classifier:  # noqa: ARG002
        """As `save_pretrained` left it."""
        from trueness.kinds.text.models.transformer_files import load_transformer

        return load_transformer(folder, device)


def as_family(thing: Any, name: str) -> Family:
    """A subclass of `TextNetwork`, or a `Family`, as the family of that name."""
    from trueness.kinds.text.models.network import TextNetwork

    if isinstance(thing, type) and issubclass(thing, TextNetwork) and thing is not TextNetwork:
        return NetworkFamily(name, thing)
    if isinstance(thing, Family):
        named = copy.copy(thing)
        named.name = name
        return named
    raise UserError(
        f"{name} is no family of models: give a subclass of trueness.kinds.text.models.network.TextNetwork, or an "
        "object of a subclass of trueness.models.families.Family."
    )


TEXT_MODELS: Registry[Family] = Registry("model", group="trueness.models", adapt=as_family)

_ENCODERS = {"bilstm": "bidirectional LSTM", "cnn": "convolutions", "average": "projection of each token on its own"}
_ATTENTIONS = {
    "additive": "additive attention",
    "dot": "scaled dot-product attention",
    "uniform": "uniform weights",
    "frozen": "weights given from outside",
}
for _encoder, _what in _ENCODERS.items():
    for _attention, _how in _ATTENTIONS.items():
        _family = AttentiveFamily(_encoder, _attention)
        TEXT_MODELS.add(_family.name, _family, f"text classifier: {_what}, {_how}")
TEXT_MODELS.add("transformer", TransformerFamily(), "text classifier: a pretrained transformer, fine-tuned")


def train_many(name: str, data: TextDataset, seeds: Sequence[int], **how: Any) -> Sequence[Classifier]:
    """One classifier of a family per seed; see `Family.train`."""
    return TEXT_MODELS[name].train(data, seeds, **how)


def train(name: str, data: TextDataset, *, seed: int = 0, state: str | Path | None = None, **how: Any) -> Classifier:
    """One classifier; with `state`, a folder, the same call continues an interrupted training where the family can."""
    (trained,) = train_many(name, data, [seed], states=None if state is None else [state], **how)
    return trained


def family_of(stored: Stored) -> Family:
    """The family of the models that a task left; what is built in is known by its payloads."""
    if stored.holds("family"):
        with told_by(stored.key):
            return TEXT_MODELS[stored.read("family")["name"]]
    return TEXT_MODELS["transformer" if stored.holds("files") else "bilstm-additive"]
