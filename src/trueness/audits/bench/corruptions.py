"""The right explanation of a known model, and explanations that are wrong in a known way and share of the examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.leave_one_out import HideOne
from trueness.models.network import inspecting
from trueness.protocols.best_order import log_odds
from trueness.protocols.randomisation import layers_of, randomised

if TYPE_CHECKING:
    from trueness.kinds.contract import Known

Truth = Literal["right", "nearly right", "wrong"]
"""What a verdict on an explanation should be: shown; either or neither; not shown."""
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
WRONG_FROM = 0.3
"""Share of the examples."""
_MOST = 1 << 10
"""Units of an example that draws are made for."""
Draws = Callable[[Any, int], Iterator[torch.Generator]]


@dataclass(frozen=True)
class Effects(HideOne):
    """By how much the log odds of the explained class fall when a unit is hidden: right where log odds add up."""

    facts = Facts()

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:  # noqa: ARG002
        with inspecting(model):
            said = log_odds(self.logits(model, batch))
            found: Tensor = self.measure(said[:, -1:] - said[:, :-1], batch.labels).to(model.dtype) * batch.mask
        return found


@dataclass(frozen=True)
class Corrupted(Explainer):
    """The right explanation, changed."""

    facts = Facts()

    right: Explainer

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:
        found: Tensor = self.change(self.right.attribute(model, batch, target), model, batch) * batch.mask
        return found

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:
        """(examples, units)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Noise(Corrupted):
    """Random scores in that share of the examples, the same when asked again."""

    share: float
    draws: Draws
    seed: int = 0

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:  # noqa: ARG002
        dice = drawn(self.draws, batch, self.seed + 77, torch.rand)[:, : scores.shape[1] + 1]
        return torch.where(dice[:, :1] < self.share, dice[:, 1:] * 2 - 1, scores)


@dataclass(frozen=True)
class Blurry(Corrupted):
    """Noise on every score, so large a share of the scores' own spread: good everywhere, exact nowhere."""

    share: float
    draws: Draws
    seed: int = 0

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:  # noqa: ARG002
        spread = (scores.square().sum(dim=1, keepdim=True) / batch.mask.sum(dim=1, keepdim=True)).sqrt()
        dice = drawn(self.draws, batch, self.seed + 78, torch.randn)[:, : scores.shape[1]]
        found: Tensor = scores + self.share * spread * dice
        return found


@dataclass(frozen=True)
class InvertedFor(Corrupted):
    """Upside down for one class."""

    label: int

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:  # noqa: ARG002
        return torch.where((batch.labels == self.label)[:, None], -scores, scores)


@dataclass(frozen=True)
class Magnitudes(Corrupted):
    """Without signs."""

    facts = Facts(signed=False)

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:  # noqa: ARG002
        return scores.abs()


@dataclass(frozen=True)
class TopLast(Corrupted):
    """The most important unit is shown as the least important one."""

    def change(self, scores: Tensor, model: Any, batch: Any) -> Tensor:  # noqa: ARG002
        top = torch.where(batch.mask, scores, -torch.inf).argmax(dim=1, keepdim=True)
        return scores.scatter(1, top, scores.amin(dim=1, keepdim=True) - 1)


@dataclass(frozen=True)
class OtherClass(Explainer):
    """What speaks for the next class instead."""

    facts = Facts()

    right: Explainer

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:
        return self.right.attribute(model, replace(batch, labels=(batch.labels + 1) % model.classes), target)


@dataclass(frozen=True)
class OtherModel(Explainer):
    """The right explanation of another model: of the same weights in an order of its own."""

    facts = Facts()

    right: Explainer
    seed: int = 48

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:
        with randomised(layers_of(model), self.seed):
            return self.right.attribute(model, batch, target)


def drawn(draws: Draws, batch: Any, seed: int, dice: Callable[..., Tensor]) -> Tensor:
    """(examples, many), of each example its own."""
    return torch.stack([dice(_MOST, generator=one) for one in draws(batch, seed)])


def ladder(known: Known, foils: Mapping[str, Explainer]) -> dict[str, tuple[Explainer, Truth]]:
    """Of a known model: the right explanation, and what is wrong with others."""
    right = Effects()
    draws = known.draws or (lambda batch, seed: batch.generators(seed))
    found: dict[str, tuple[Explainer, Truth]] = {"right": (right, "right")}
    for share in (0.25, 0.5, 1.0):
        found[f"right, its scores noisy by {share:.0%}"] = (Blurry(right, share, draws), "nearly right")
    for share in SHARES:
        truth: Truth = "wrong" if share >= WRONG_FROM else "nearly right"
        found[f"noise in {share:.0%} of the examples"] = (Noise(right, share, draws), truth)
    for label, name in enumerate(known.model.classes):
        found[f"inverted for class {name}"] = (InvertedFor(right, label), "wrong")
    found |= {
        "the top unit last": (TopLast(right), "wrong"),
        "without signs": (Magnitudes(right), "wrong"),
        "of another class": (OtherClass(right), "wrong"),
        "of another model": (OtherModel(right), "wrong"),
    }
    return found | {name: (one, "wrong") for name, one in {**known.wrong, **foils}.items()}
