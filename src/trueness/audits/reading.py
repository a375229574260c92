"""The texts of an audit as examples of a model, and what the model says of them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from trueness.engine import Stored
from trueness.errors import UserError

if TYPE_CHECKING:
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.data.examples import TextExample
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.stats.undefined import Floats

Labels = Literal["none", "predicted", "random"]


def read(classifier: Classifier, some: Sequence[str], others: Sequence[str | None]) -> list[TextExample]:
    """Texts, or pairs where the model reads them, as its examples."""
    pairs = classifier.network.pairs
    second = [str(other) for other in others] if others and others[0] is not None and pairs is not False else None
    return classifier.read(some, second)


def probabilities(classifier: Classifier, examples: Sequence[TextExample]) -> Floats:
    """(texts, classes) what the model says; refused where it is not finite."""
    import numpy as np

    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.models.network import inspecting

    found = np.zeros((len(examples), len(classifier.classes)))
    with inspecting(classifier.network):
        for rows, batch in EncodedSplit(examples, classifier.coder, classifier.device).in_order(1 << 13):
            found[rows] = classifier.network(batch).logits.double().softmax(dim=-1).cpu().numpy()
    if not np.isfinite(found).all():
        raise UserError("The model's outputs are not finite: its weights are too large, or damaged.")
    return found


def judged(stored: Stored, classifier: Classifier, number: int) -> list[TextExample]:
    """The first texts of an audit; each is labelled with the class that the model predicts."""
    table = stored.read("texts").iloc[:number]
    predicted = stored.read("said")["probability"][:number].argmax(axis=1)
    others = [other if isinstance(other, str) else None for other in table["text_b"]]
    examples = read(classifier, list(table["text"]), others)
    return [replace(one, label=int(label)) for one, label in zip(examples, predicted, strict=True)]


@contextlib.contextmanager
def warned() -> Iterator[list[str]]:
    """What is warned of meanwhile, each once, instead of a line beside the progress bar; there when it ends."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning | RuntimeWarning))


def split_of(classifier: Classifier, examples: Sequence[TextExample]) -> EncodedSplit:
    """Examples as the model sees them."""
    from trueness.kinds.text.data.batches import EncodedSplit

    return EncodedSplit(examples, classifier.coder, classifier.device)


def dataset_of(stored: Stored, classifier: Classifier, name: str, labels: Labels = "none") -> TextDataset:
    """All texts of an audit as a dataset with splits, labelled by what the model says of them, or at random."""
    import numpy as np

    from trueness.data.dataset import with_splits
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.data.examples import TextExamples
    from trueness.kinds.text.data.vocabulary import Vocabulary

    table = stored.read("texts")
    others = [other if isinstance(other, str) else None for other in table["text_b"]]
    examples = read(classifier, list(table["text"]), others)
    given = np.zeros(len(examples), dtype=int)
    if labels == "predicted":
        given = probabilities(classifier, examples).argmax(axis=1)
    elif labels == "random":
        given = np.random.default_rng([0, *b"labels"]).integers(len(classifier.classes), size=len(examples))
    labelled = [replace(one, label=int(label)) for one, label in zip(examples, given, strict=True)]
    first = TextDataset(
        name, classifier.classes, {"all": TextExamples(labelled)}, Vocabulary.of(labelled), classifier.preparation
    )
    return with_splits(first)
