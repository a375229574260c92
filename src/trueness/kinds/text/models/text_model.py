"""Classifiers of our own vocabulary, and their checkpoint: safetensors and JSON, no code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trueness.boundary import reading
from trueness.errors import UserError
from trueness.kinds.text.data.coding import SPECIAL
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import TextNetwork
from trueness.models.saved import CONFIG, check_format, check_names, filled


@dataclass(frozen=True, repr=False)
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
        """All but the weights, as plain JSON."""
        return {
            "network": dict(self.network.shape),
            "classes": list(self.classes),
            "preparation": asdict(self.preparation),
            "history": [dict(row) for row in self.history],
            "notes": list(self.notes),
            "words": list(self.coder.words),
        }


def assemble(
    build: Callable[..., TextNetwork],
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    device: str | torch.device,
    source: str | Path,
) -> TextModel:
    """The model whose `config()` and weights these are, its network built anew; `source` names it in errors."""
    check_format(source, config)
    with reading(f"{source}: {CONFIG}", "does not describe a model of this version"):
        shape, how = dict(config["network"]), dict(config["preparation"])
        how["classes"] = tuple(how["classes"]) if how["classes"] is not None else None
        preparation, history = Preparation(**how), tuple(map(dict, config["history"]))
        notes = tuple(config["notes"])
        vocabulary, classes = Vocabulary(tuple(config["words"])), tuple(config["classes"])
        check_names(source, "words", vocabulary.words, shape["vocabulary"])
        check_names(source, "classes", classes, shape["classes"])
        if vocabulary.words[: len(SPECIAL)] != SPECIAL:
            raise UserError(f"{source}: the words do not begin with {', '.join(SPECIAL)}.")
        network = filled(source, lambda: build(**shape), weights, device)
    return TextModel(network, vocabulary, classes, preparation, history, notes)
