"""Classifiers of our own vocabulary, and their checkpoint: safetensors and JSON, no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from trueness.data.examples import TextExample
from trueness.data.preparation import Preparation
from trueness.data.vocabulary import Vocabulary
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.models.classifier import Classifier
from trueness.models.network import TextNetwork

FORMAT = 1
_CONFIG, _WEIGHTS = "config.json", "weights.safetensors"


@dataclass(frozen=True)
class TextModel(Classifier):
    """A network that was trained from scratch."""

    coder: Vocabulary = field(repr=False)

    def unusual(self, example: TextExample) -> str:
        """In what an example differs from those the model was trained on; empty where it does not."""
        length, how = len(example.tokens), self.preparation
        if how.below is not None and length >= how.below:
            return f"{length} tokens, but the model was trained on texts of fewer than {how.below}"
        if how.above is not None and length <= how.above:
            return f"{length} tokens, but the model was trained on texts of more than {how.above}"
        return ""

    def known(self, example: TextExample) -> tuple[bool, ...]:
        """Whether each word is in the vocabulary; unknown words share one vector."""
        return tuple(token in self.coder.numbers for token in example.tokens)

    def config(self) -> dict[str, Any]:
        """All but the weights and the family, as plain JSON."""
        return {
            "format": FORMAT,
            "network": dict(self.network.shape),
            "classes": list(self.classes),
            "preparation": asdict(self.preparation),
            "history": [dict(row) for row in self.history],
            "notes": list(self.notes),
            "words": list(self.coder.words),
        }

    def weights(self) -> dict[str, Tensor]:
        """The weights, on the CPU."""
        return {name: tensor.detach().cpu().contiguous() for name, tensor in self.network.state_dict().items()}

    def save(self, folder: str | Path) -> Path:
        """Write config.json and weights.safetensors; the config last, so that a folder with one is complete."""
        path = Path(folder)
        if not self.network.family:
            raise UserError(f"A {type(self.network).__name__} is of no family that could load it again.")
        config = {"family": self.network.family, **self.config()}
        with disk(f"the model {path}", full="free some space", refused="choose another folder"):
            path.mkdir(parents=True, exist_ok=True)
            write_atomically(path / _WEIGHTS, save(self.weights()))
            write_atomically(path / _CONFIG, json.dumps(config, ensure_ascii=False, indent=1).encode())
        return path


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights that `TextModel.save` wrote."""
    try:
        return load_file(folder / _WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{folder / _WEIGHTS} is missing or unreadable ({error}).") from error


def assemble(
    build: Callable[..., TextNetwork],
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    device: str | torch.device,
    source: str | Path,
) -> TextModel:
    """The model whose `config()` and `weights()` these are, its network built anew; `source` names it in errors."""
    if config.get("format") != FORMAT:
        raise UserError(f"{source} has model format {config.get('format')}, this trueness reads {FORMAT}.")
    try:
        network = build(**config["network"])
        how = dict(config["preparation"])
        how["classes"] = tuple(how["classes"]) if how["classes"] is not None else None
        vocabulary = Vocabulary(tuple(config["words"]))
        model = TextModel(
            network,
            vocabulary,
            tuple(config["classes"]),
            Preparation(**how),
            tuple(config["history"]),
            tuple(config["notes"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{source}: {_CONFIG} does not describe a model of this version ({error}).") from error
    if len(vocabulary) != network.shape["vocabulary"]:
        raise UserError(f"{source}: {len(vocabulary)} words for a network of {network.shape['vocabulary']}.")
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as error:
        first = str(error).split("\n")[1].strip() if "\n" in str(error) else str(error)
        raise UserError(f"{source}: the weights do not fit {_CONFIG}: {first}") from error
    network.to(device).eval()
    return model
