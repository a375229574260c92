"""Families of models: what is known of each, and how it is trained, kept and opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.errors import UserError
from trueness.plugins import told_by

if TYPE_CHECKING:
    from trueness.engine import Stored
    from trueness.models.network import Attends
    from trueness.models.recipes import Recipe
    from trueness.registry import Registry

LABEL_WORDS = "label-words"
"""The family of language models that are asked to choose between words."""


class Family:
    """Models of one architecture: their facts, and four verbs (train, pack and read, load; a model saves itself)."""

    name: str
    attends: Attends = "none"
    pretrained: bool = False
    """Whether training starts from weights that are there already; texts are fine-tuned one seed at a time."""
    from_folder = False
    """Whether these weights are in a folder that is given as `pretrained`."""
    uniform: str | None = None
    """The family that differs by equal attention weights."""
    built_in = False
    settings: Sequence[str] = ()
    """What of its shape a study file may set."""

    def train(self, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Any]:
        """One model per seed, each as it was after its best epoch; all of them read examples alike.

        Asked for are `recipe`, `device`; `views`, for each seed how its model sees the splits, for example with units
        hidden; `states`, folders in which an interrupted training can go on; what changes the shape of the model; and
        of texts word `vectors`, and the folder `pretrained`. By default one is trained after the other.
        """
        none = [None] * len(seeds)
        each = zip(seeds, how.pop("views", None) or none, how.pop("states", None) or none, strict=True)
        return [self.train_one(data, seed, view=view, state=state, **how) for seed, view, state in each]

    def train_one(self, data: Any, seed: int, *, view: Any, state: Any, **how: Any) -> Any:
        """The model of one seed, for families whose models are trained one by one."""
        raise NotImplementedError

    def check_shape(self, recipe: Recipe, changes: Mapping[str, Any]) -> None:
        """Refuse changes that leave no network of this family, before any work starts."""

    def check_folder(self, folder: str | Path) -> None:
        """Refuse a folder that holds no weights to begin with."""

    def assemble(self, config: Mapping[str, Any], weights: Mapping[str, Any], device: str, source: str | Path) -> Any:
        """The model whose `config()` and weights these are; `source` names it in errors."""
        raise NotImplementedError

    def pack(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """The payloads that keep models, by their seed, in a store: all but the weights as JSON, and all weights."""
        from trueness.models.saved import FORMAT, weights_of

        return {
            "models": {seed: {"format": FORMAT, **model.config()} for seed, model in models.items()},
            "weights": {
                f"{seed} {name}": tensor.numpy()
                for seed, model in models.items()
                for name, tensor in weights_of(model.network).items()
            },
        }

    def read(self, stored: Stored, seed: int | str, device: str) -> Any:
        """The model of a seed, from what `pack` gave."""
        import torch

        from trueness.engine.payload import under

        weights = {name: torch.from_numpy(array) for name, array in under(f"{seed} ", stored.read("weights")).items()}
        config = stored.read("models")[str(seed)]
        return self.assemble(config, weights, device, f"{stored.key}, seed {seed}")

    def recognises(self, config: Mapping[str, Any]) -> bool:
        """Whether a folder with this config.json is one of this family's."""
        return config.get("family") == self.name

    def load(self, folder: Path, config: Mapping[str, Any], device: str) -> Any:
        """The model that was saved in a folder; nothing in it is executed."""
        from trueness.models.saved import read_weights

        return self.assemble(config, read_weights(folder), device, folder)


class ModelsOfFamilies:
    """What the models part of every kind does by its families."""

    families: Registry[Any]

    def modules(self, model: Any) -> Sequence[str]:  # noqa: ARG002  # most need none but ours
        """See `kinds.contract.Models`."""
        return ()

    def train(self, family: str, data: Any, seeds: Sequence[int], **how: Any) -> Sequence[Any]:
        """See `Family.train`."""
        found: Sequence[Any] = self.families[family].train(data, seeds, **how)
        return found

    def pack(self, models: Mapping[str, Any]) -> dict[str, Any]:
        """Payloads that hold models of one family, by their seeds or other names."""
        family = next(iter(models.values())).network.family
        return {**self.families[family].pack(models), "family": {"name": family}}

    def unpack(self, stored: Stored, name: int | str, device: str) -> Any:
        """One of them again; its family is one that the user named before, or a registered one."""
        with told_by(stored.key):
            family = self.families[stored.read("family")["name"]]
        return family.read(stored, name, device)


def label_words(labels: str | Sequence[str], prompt: str = "") -> str:
    """The name of the family: what `trueness audit --labels positive,negative --prompt prompt.txt` stands for."""
    words = labels.split(",") if isinstance(labels, str) else list(labels)
    words = [word.strip() for word in words]
    if len(words) < 2 or len(set(words)) < len(words) or not all(words):
        raise UserError(f"Label words are two or more different words with commas between them, not {labels!r}.")
    parts = {"labels": ",".join(words), **({"prompt": prompt} if prompt else {})}
    return f"{LABEL_WORDS}[{', '.join(f'{name}={_written(value)}' for name, value in parts.items())}]"


def _written(text: str) -> str:
    """As TOML, without the signs that a name of settings is read by."""
    return json.dumps(text).replace("=", "\\u003d").replace("[", "\\u005b").replace("]", "\\u005d")
