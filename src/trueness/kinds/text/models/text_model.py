"""Classifiers of our own vocabulary, and their checkpoint: safetensors and JSON, no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from trueness.boundary import quoted, reading
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import TextNetwork

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
    with reading(folder / _WEIGHTS, "is missing or unreadable"):
        return load_file(folder / _WEIGHTS)


def assemble(
    build: Callable[..., TextNetwork],
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    device: str | torch.device,
    source: str | Path,
) -> TextModel:
    """The model whose `config()` and `weights()` these are, its network built anew; `source` names it in errors."""
    if config.get("format") != FORMAT:
        raise UserError(f"{source} has model format {quoted(config.get('format'))}, this trueness reads {FORMAT}.")
    with reading(f"{source}: {_CONFIG}", "does not describe a model of this version"):
        shape, how = dict(config["network"]), dict(config["preparation"])
        how["classes"] = tuple(how["classes"]) if how["classes"] is not None else None
        preparation, history = Preparation(**how), tuple(map(dict, config["history"]))
        notes = tuple(config["notes"])
        vocabulary, classes = Vocabulary(tuple(config["words"])), tuple(config["classes"])
        _check_names(source, "words", vocabulary.words, shape["vocabulary"])
        _check_names(source, "classes", classes, shape["classes"])
        if vocabulary.words[: len(SPECIAL)] != SPECIAL:
            raise UserError(f"{source}: the words do not begin with {', '.join(SPECIAL)}.")
        _check_fitting(source, lambda: build(**shape), weights)
        check_finite(source, weights)
        network = build(**shape)
        network.load_state_dict(dict(weights))
    return TextModel(network.to(device).eval(), vocabulary, classes, preparation, history, notes)


def _check_names(source: str | Path, what: str, names: Sequence[Any], number: int) -> None:
    """Refuse words or classes of another number than the network's, such as are no text, and repeated ones."""
    if len(names) != number:
        raise UserError(f"{source}: {len(names)} {what} for a network of {number}.")
    if not all(isinstance(name, str) for name in names) or len(set(names)) != number:
        raise UserError(f"{source}: the {what} are not text, or the same one occurs twice.")


def _check_fitting(source: str | Path, build: Callable[[], TextNetwork], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights of other shapes than the network's, before memory is taken for it."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        wanted = build().state_dict()
    for name in sorted(wanted.keys() | weights.keys()):
        have, want = (tuple(some[name].shape) if name in some else "none" for some in (weights, wanted))
        if have != want:
            raise UserError(f"{source}: the weights do not fit config.json: {name} is {have} and should be {want}.")


def check_finite(source: str | Path, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN, infinite or complex: all that follows would be made up."""
    for name, tensor in weights.items():
        if tensor.is_complex() or not tensor.isfinite().all():
            raise UserError(f"{source}: the weights {name} hold NaN, infinity or complex numbers.")
