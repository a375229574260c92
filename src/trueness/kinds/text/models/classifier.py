"""A trained text classifier with all it needs to read new text, whatever its family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trueness.boundary import whole
from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.coding import Coder
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.preparation import Preparation, tokenise
from trueness.kinds.text.models.network import TextNetwork
from trueness.models.saved import SavedModel


@dataclass(frozen=True, repr=False)
class Classifier(SavedModel):
    """A network, how it reads text, its classes, and how training went."""

    kind = "text"
    network: TextNetwork = field(repr=False)
    coder: Coder = field(repr=False)
    """Turns words into the numbers that the network reads."""
    classes: tuple[str, ...]
    preparation: Preparation = field(default_factory=Preparation)
    """How text becomes words."""
    history: tuple[Mapping[str, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.network.coder = self.coder

    def batch(self, examples: Sequence[TextExample]) -> Batch:
        """Examples as one batch on the model's device, in their order."""
        return self.coded(examples).batch(range(len(examples)))

    def coded(self, examples: Sequence[TextExample]) -> EncodedSplit:
        """Examples on the model's device, ready to be batched."""
        return EncodedSplit(examples, self.coder, self.device)

    def read(self, texts: Sequence[str], others: Sequence[str] | None = None) -> list[TextExample]:
        """New texts (or pairs) as examples; their labels are unknown and set to 0."""
        pairs = self.network.pairs
        if pairs is not None and pairs != (others is not None):
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

    def words_of(self, example: TextExample) -> list[str]:
        """The explained tokens of a text as a person reads them."""
        return list(example.tokens)

    def word_scores(self, example: TextExample, scores: Sequence[float]) -> tuple[float, ...]:
        """One score per word, from those of a batch's row, which has a begin marker in front."""
        return tuple(scores[1 : len(example.tokens) + 1])

    def explaining_special(self) -> Classifier:
        """The same with tokens such as [CLS] explained as well, where it has any."""
        return self

    def known(self, example: TextExample) -> tuple[bool, ...]:
        """Whether the model knows each word."""
        raise NotImplementedError

    def unusual(self, example: TextExample) -> str:
        """What to know of the explanation of an example; empty where nothing is."""
        raise NotImplementedError
