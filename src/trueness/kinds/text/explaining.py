"""How texts are given to be explained, and how the scores of their words are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.data.dataset import Dataset
from trueness.errors import UserError
from trueness.kinds.text.data.examples import TextExample, TextExamples

if TYPE_CHECKING:
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.protocols.result import Result
    from trueness.stats.undefined import Floats


class TextExplaining:
    """What `tn.explain` asks of the kind `text`."""

    def usual(self, model: Classifier) -> list[str]:
        """Attention and gradients where the model has them, and methods that hide words."""
        if not model.network.differentiable:
            return ["occlusion", "lime[n_samples=200]", "kernel-shap[n_samples=200]", "leave-one-out"]
        attention = ["attention"] if model.network.attends != "none" else []
        return [*attention, "input-x-gradient", "integrated-gradients", "leave-one-out"]

    def is_data(self, examples: Any) -> bool:
        """A dataset, a table, or the path of a file; a string is always a text."""
        return isinstance(examples, Dataset | Path) or hasattr(examples, "columns")

    def given(self, examples: Any, model: Classifier, others: Sequence[str] | None = None) -> tuple[TextExamples, bool]:
        """New texts are read as the model's training data were; examples of a dataset are taken as they are."""
        listed = [examples] if isinstance(examples, str | TextExample) else examples
        if not _is_list(listed):
            raise UserError(
                f"Texts are a list of strings, or of examples such as data['test'][:5]; not {_described(examples)}."
            )
        given = list(listed)
        if given and others is None and model.network.pairs is not False and all(map(_is_pair, given)):
            given, others = [first for first, _ in given], [second for _, second in given]
        new = not given or isinstance(given[0], str)
        for number, one in enumerate(given, 1):
            if not isinstance(one, str if new else TextExample):
                raise UserError(
                    f"Text {number} of {len(given)} is {_described(one)}: give strings alone, or examples of a dataset "
                    "alone."
                )
        if others is not None and len(others) != len(given):
            raise UserError(f"There are {len(given)} texts and {len(others)} second texts.")
        return TextExamples(model.read(given, others) if new and given else given), new

    def shown(self, model: Classifier, examples: Sequence[TextExample], row: int, scores: Floats) -> Mapping[str, Any]:
        """One score for each word."""
        example = examples[row]
        return {
            "tokens": example.tokens,
            "scores": model.word_scores(example, scores.tolist()),
            "known": model.known(example),
            "note": model.unusual(example),
        }


class TextAttacks:
    """What can be asked of the attention of texts."""

    def adversary(self, model: Classifier, examples: Sequence[TextExample], epsilon: float) -> Result:
        """See `adversarial_attention`."""
        from trueness.kinds.text.attention.adversarial_attention import adversarial_attention

        return adversarial_attention(model, examples, epsilon)

    def attefa(self, base: Classifier, other: Classifier, examples: Sequence[TextExample]) -> Result:
        """See `attefa_of`."""
        from trueness.kinds.text.attention.twin_comparisons import attefa_of

        return attefa_of(base, other, examples)


def _is_list(thing: Any) -> bool:
    return hasattr(thing, "__iter__") and not isinstance(thing, Mapping | bytes) and not hasattr(thing, "columns")


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, tuple | list) and len(thing) == 2 and all(isinstance(text, str) for text in thing)


def _described(thing: Any) -> str:
    return "nothing" if thing is None else f"an object of type {type(thing).__name__}"
