"""A trained text classifier with all it needs to read new text, and its checkpoint: safetensors and JSON, no code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from trueness.boundary import is_file, quoted, read_json, reading, whole
from trueness.data.batches import Batch, EncodedSplit
from trueness.data.coding import SPECIAL
from trueness.data.examples import TextExample
from trueness.data.preparation import Preparation, tokenise
from trueness.data.vocabulary import Vocabulary
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.models.checking import check_finite, check_fitting, check_names

FORMAT = 1
_CONFIG, _WEIGHTS = "config.json", "weights.safetensors"


@dataclass(frozen=True)
class TextModel:
    """A network, its words and classes, how text was prepared, and how training went."""

    network: AttentiveClassifier = field(repr=False)
    vocabulary: Vocabulary = field(repr=False)
    classes: tuple[str, ...]
    preparation: Preparation
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    @property
    def coder(self) -> Vocabulary:
        """What turns words into numbers."""
        return self.vocabulary

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.output.weight.device

    def batch(self, examples: Sequence[TextExample]) -> Batch:
        """Examples as one batch on the model's device, in their order."""
        return EncodedSplit(examples, self.vocabulary, self.device).batch(range(len(examples)))

    def read(self, texts: Sequence[str], others: Sequence[str] | None = None) -> list[TextExample]:
        """New texts (or pairs) as examples; their labels are unknown and set to 0."""
        pairs = self.network.config.head != "linear"
        if pairs != (others is not None):
            raise UserError("The model reads pairs of texts." if pairs else "The model reads one text, not pairs.")
        examples = []
        for number, text in enumerate(texts, start=1):
            tokens = tokenise(text, self.preparation)
            if not tokens:
                raise UserError(f"Text {number} has no tokens.")
            if not all(map(whole, (text, *([] if others is None else others[number - 1 : number])))):
                raise UserError(f"Text {number} is not UTF-8 text.")
            other = None if others is None else tuple(tokenise(others[number - 1], self.preparation))
            examples.append(TextExample(tuple(tokens), 0, other))
        return examples

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
        return tuple(token in self.vocabulary.numbers for token in example.tokens)

    def word_scores(self, example: TextExample, scores: Sequence[float]) -> tuple[float, ...]:
        """One score per word, from those of a batch's row, which has a begin marker in front."""
        return tuple(scores[1 : len(example.tokens) + 1])

    def config(self) -> dict[str, Any]:
        """All but the weights, as plain JSON."""
        return {
            "format": FORMAT,
            "network": asdict(self.network.config),
            "classes": list(self.classes),
            "preparation": asdict(self.preparation),
            "history": [dict(row) for row in self.history],
            "notes": list(self.notes),
            "words": list(self.vocabulary.words),
        }

    def weights(self) -> dict[str, Tensor]:
        """The weights, on the CPU."""
        return {name: tensor.detach().cpu().contiguous() for name, tensor in self.network.state_dict().items()}

    def save(self, folder: str | Path) -> Path:
        """Write config.json and weights.safetensors; the config last, so that a folder with one is complete."""
        path = Path(folder)
        with disk(f"the model {path}", full="free some space", refused="choose another folder"):
            path.mkdir(parents=True, exist_ok=True)
            write_atomically(path / _WEIGHTS, save(self.weights()))
            write_atomically(path / _CONFIG, json.dumps(self.config(), ensure_ascii=False, indent=1).encode())
        return path


def load_model(folder: str | Path, device: str | torch.device = "cpu") -> TextModel:
    """Read a checkpoint; nothing in it is executed."""
    path = Path(folder)
    config = _read_config(path)
    with reading(path / _WEIGHTS, "is missing or unreadable"):
        weights = load_file(path / _WEIGHTS)
    return assemble(config, weights, device, source=path)


def is_transformer(folder: str | Path) -> bool:
    """Whether a folder holds a Hugging Face transformer rather than a model of ours."""
    try:
        config = read_json(Path(folder) / _CONFIG)
    except UserError:
        return False
    return isinstance(config, dict) and "model_type" in config


def assemble(
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    device: str | torch.device = "cpu",
    *,
    source: str | Path = "the model",
) -> TextModel:
    """The model whose `config()` and `weights()` these are; `source` names it in errors."""
    with reading(f"{source}: {_CONFIG}", "does not describe a model of this version"):
        shape = AttentiveConfig(**config["network"])
        how = dict(config["preparation"])
        how["classes"] = tuple(how["classes"]) if how["classes"] is not None else None
        preparation = Preparation(**how)
        extra: dict[str, Any] = {"history": tuple(map(dict, config["history"])), "notes": tuple(config["notes"])}
        vocabulary, classes = Vocabulary(tuple(config["words"])), tuple(config["classes"])
        check_names(source, "words", vocabulary.words, shape.vocabulary)
        check_names(source, "classes", classes, shape.classes)
    if vocabulary.words[: len(SPECIAL)] != SPECIAL:
        raise UserError(f"{source}: the words do not begin with {', '.join(SPECIAL)}.")
    check_fitting(source, lambda: AttentiveClassifier(shape), weights)
    check_finite(source, weights)
    network = AttentiveClassifier(shape)
    network.load_state_dict(dict(weights))
    return TextModel(network.to(device).eval(), vocabulary, classes, preparation, **extra)


def _read_config(path: Path) -> dict[str, Any]:
    if not is_file(path / _CONFIG):
        raise UserError(f"{path} is not a model: it has no {_CONFIG}.")
    config = read_json(path / _CONFIG)
    if isinstance(config, dict) and "model_type" in config:
        raise UserError(f"{path} is a transformer, and this needs a model with one attention (trueness train).")
    if not isinstance(config, dict) or "format" not in config:
        raise UserError(f"{path / _CONFIG} does not describe a model of trueness.")
    if config["format"] != FORMAT:
        raise UserError(f"{path} has model format {quoted(config['format'])}, this trueness reads {FORMAT}.")
    return config
