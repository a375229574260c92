"""A model that is only a function: from texts to the probabilities of its classes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

from trueness.errors import Unsupported, UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import BEGIN, END, MASK, PAD, SPECIAL, Coded
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.models.predictor import SMALLEST, Predictor, Probabilities, class_names, find_predictor

_PROBE = ["a", "a few words", ""]
_AT_ONCE = 256
_REMEMBERED = 1 << 18
_HIDDEN = frozenset((PAD, BEGIN, END, MASK))


def load_black_box(reference: str | Callable[..., Any], classes: Sequence[str] | None = None) -> BlackBox:
    """A classifier from a function `predict(texts) -> probabilities`, or an object with `predict_proba`.

    Given is the thing itself or its address, `mine.py:predict` or `package.module:name`. The `classes` are named here,
    by an attribute `classes` (of scikit-learn, `classes_`), or numbered. It is tried out on three short texts, one of
    them empty; UserError where it fails or returns anything but probabilities.
    """
    found = find_predictor(reference)
    if classes is not None:
        found = Predictor(found.name, found.function, class_names(classes, found.name))
    probe = found(_PROBE, note=", one of them empty")
    again = np.concatenate([found([text], note="" if text else ", one of them empty") for text in _PROBE])
    names = found.classes or tuple(map(str, range(probe.shape[1])))
    change = float(np.abs(probe - again).max())
    note = f"{found.name} gives a text other probabilities when asked again or alone, by up to {change:.2g}"
    network = BlackBoxNetwork(Predictor(found.name, found.function, names))
    return BlackBox(network.eval(), network.coder, names, notes=(note,) if change > 1e-3 else ())


class WordCoder:
    """Codes every word by a number that follows from the word alone, and remembers which word it was."""

    pad, mask_token = PAD, MASK

    def __init__(self) -> None:
        self.words: dict[int, str] = {}

    def number(self, word: str) -> int:
        """A digest of 62 bits, beyond the numbers of special tokens."""
        digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
        number = len(SPECIAL) + digest % (2**62 - len(SPECIAL))
        self.words[number] = word
        return number

    def code(self, example: TextExample) -> Coded:
        """Begin, the words, end."""
        if example.tokens_b is not None:
            raise UserError("A function of texts reads one text, not pairs.")
        return Coded([BEGIN, *map(self.number, example.tokens), END])

    def spelled(self, numbers: Sequence[int]) -> list[str]:
        """The words of some numbers, and the names of special tokens."""
        return [SPECIAL[number] if number < len(SPECIAL) else self.words[number] for number in numbers]

    def text(self, numbers: Sequence[int]) -> str:
        """The words of some numbers between single spaces; what is hidden is left out."""
        return " ".join(self.words[number] for number in numbers if number not in _HIDDEN)


class BlackBoxNetwork(TextNetwork):
    """Asks a function for the probabilities of texts, each of them once; its logits are their logarithms."""

    differentiable = False

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.predictor = predictor
        self.coder: WordCoder = WordCoder()
        self.shape = {"classes": len(predictor.classes or ())}
        # It holds no vectors; what asks for the device and the precision of a network looks here.
        self.embedding = nn.Embedding(1, 1, padding_idx=PAD, dtype=torch.float64).requires_grad_(False)
        self._said: dict[bytes, Probabilities] = {}

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # the same for all
        """A word and its numbers."""
        return 16

    def embed(self, batch: Batch) -> Tensor:  # noqa: ARG002  # there is nothing to embed with
        """A function has no embeddings: Unsupported."""
        self._refuse()

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; there is no attention and there are no states."""
        if embeddings is not None or attention is not None:
            self._refuse()
        if batch.other is not None:
            raise UserError("A function of texts reads one text, not pairs.")
        found = self.probabilities([self.coder.text(row) for row in batch.tokens.tolist()])
        logits = torch.from_numpy(np.log(found.clip(SMALLEST, 1))).to(self.embedding.weight.device)
        return Prediction(logits, logits.new_zeros(0), logits.new_zeros(0))

    def probabilities(self, texts: Sequence[str]) -> Probabilities:
        """(texts, classes); a text that was asked before is answered from memory."""
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        known = {key: self._said[key] for key in keys if key in self._said}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        asked = list(new)
        for begin in range(0, len(asked), _AT_ONCE):
            part = asked[begin : begin + _AT_ONCE]
            some = [new[key] for key in part]
            known |= zip(part, self.predictor(some, note="" if all(some) else ", one of them empty"), strict=True)
        if len(self._said) + len(new) > _REMEMBERED:
            self._said.clear()
        self._said |= {key: known[key] for key in asked[:_REMEMBERED]}
        return np.stack([known[key] for key in keys])

    def _refuse(self) -> NoReturn:
        raise Unsupported(f"{self.predictor.name} is a function: it has no embeddings, attention or gradients.")


@dataclass(frozen=True, repr=False)
class BlackBox(Classifier):
    """A function as a classifier; its words stand between spaces, and hidden ones are left out of the text."""

    network: BlackBoxNetwork = field(repr=False)
    coder: WordCoder = field(repr=False)

    def known(self, example: TextExample) -> tuple[bool, ...]:
        """What a function makes of a word is not known: each counts as known."""
        return (True,) * len(example.tokens)

    def unusual(self, example: TextExample) -> str:  # noqa: ARG002  # nothing is known of its training
        """Nothing."""
        return ""

    def save(self, folder: str | Path) -> Path:
        """A function is not kept: UserError."""
        raise UserError(f"{self.network.predictor.name} is a function, not a model that could be saved to {folder}.")
