"""What is asked of attention: could it differ, and do two models agree while attending elsewhere?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from trueness.api.explaining import given
from trueness.api.models import as_model, same_kind
from trueness.data.dataset import Dataset, with_splits
from trueness.errors import UserError
from trueness.kinds import kind_of
from trueness.papers.attention_is_not_explanation.adversary import AdversarialAttention
from trueness.report import Measurement

if TYPE_CHECKING:
    from trueness.kinds.contract import Attacks


def adversarial_attention(
    model: Any, examples: Any, *, others: Sequence[str] | None = None, epsilon: float = 0.01
) -> AdversarialAttention:
    """The attention that differs most from the model's own while its output changes by at most epsilon.

    Exact for two classes and single texts, with a certificate in the records; otherwise the best one found and an upper
    bound. In a notebook the result shows both heat maps of every text.

    Args:
        model: what `tn.load_model` takes, or gives; it needs one attention of its own.
        examples: as in `tn.explain`.
        others: the second texts of pairs.
        epsilon: how much the output may change, as total variation of the probabilities.
    """
    if not isinstance(epsilon, Real) or not 0 <= epsilon <= 1:
        raise UserError(f"epsilon is a change of probability between 0 and 1, not {epsilon!r}.")
    opened: Any = as_model(model, data=examples)
    attacks = _attacks(opened)
    some, _ = given(opened, examples, others)
    if not len(some):
        raise UserError(f"There is no {kind_of(opened).words.example}.")
    found = attacks.adversary(opened, some, float(epsilon))
    return AdversarialAttention(found.records, found.scores, found.warnings, found.abstentions, epsilon=float(epsilon))


def attefa(
    base: Any, other: Any, data: Any, split: str | None = None, *, columns: Mapping[str, str] | None = None
) -> Measurement:
    """Do two models predict the same while attending elsewhere? Both distances and the AtteFa score that they show.

    Args:
        base: a model with attention, as `tn.load_model` takes or gives it.
        other: another one with the same classes, perhaps an adversarial twin.
        data: what `tn.evaluate` takes.
        split: by default test.
        columns: text_column, text_b_column, label_column, where they cannot be guessed.
    """
    first, second = (as_model(model, data=data) for model in (base, other))
    attacks = _attacks(first)
    if kind_of(first) is not kind_of(second):
        raise UserError("The models read examples of different kinds.")
    if first.classes != second.classes:
        raise UserError(f"The models have different classes: {', '.join(first.classes)}; {', '.join(second.classes)}.")
    read = same_kind(first, data).data.read(data, model=first, columns=columns)
    whole = read if isinstance(data, Dataset | Mapping) else with_splits(read)
    if set(first.classes) != set(whole.classes):
        raise UserError(f"The models know the classes {', '.join(first.classes)}, {whole.name} has others.")
    found = attacks.attefa(first, second, whole.default_split(split))
    return Measurement.of(found, "Do two models predict the same while attending elsewhere?")


def _attacks(model: Any) -> Attacks:
    kind = kind_of(model)
    if kind.attacks is None:
        raise UserError(f"The model ({', '.join(model.classes)}) reads {kind.words.examples} and has no attention.")
    return kind.attacks
