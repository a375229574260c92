"""What explainers of text share: the contract, declared facts, the target; and functions as explainers."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import torch
from torch import Tensor

from trueness.data.batches import Batch
from trueness.errors import UserError
from trueness.explainers.registry import TEXT_EXPLAINERS
from trueness.models.network import TextNetwork

Thing = TypeVar("Thing", bound=Callable[..., Any])
Target = Literal["predicted", "gold"] | int
"""The class whose score is explained: the predicted one, the labelled one, or a class number."""
Output = Literal["probability", "logit"]
"""What of that class is explained."""


Need = Literal["gradients", "attention", "layers", "selection"]
"""What of a model an explainer looks at, beside its predictions: gradients, one attention, that of every layer of a
transformer, or what a rationale model selected."""


@dataclass(frozen=True)
class Facts:
    """What is so of an explainer whatever the model; declared once, on its class."""

    signed: bool = True
    """Whether scores below 0 speak against the target; otherwise none is below 0."""
    random: bool = False
    """Whether it draws at random: it has a setting `seed`."""
    slow: bool = False
    """Whether a text takes seconds, so that studies ask it about fewer."""
    needs: tuple[Need, ...] = ()
    machinery: tuple[str, ...] = ()
    """Computations it shares with others: that two methods with a common one agree is partly by construction."""


class Explainer:
    """Says how much each token mattered to the target class; a frozen dataclass with its settings.

    What `attribute` returns is checked: one finite score per token, and 0 outside the mask.
    """

    facts: ClassVar[Facts] = Facts()

    def __init_subclass__(cls) -> None:
        if "attribute" in cls.__dict__:
            cls.attribute = _checked(cls.__dict__["attribute"])  # type: ignore[method-assign]

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """(batch, tokens) scores, 0 outside `batch.mask`; the model is left as it was."""
        raise NotImplementedError

    def checks(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> dict[str, Tensor]:  # noqa: ARG002
        """By name, (batch,) what the method can tell of its own error; nothing, for most."""
        return {}


def _checked(attribute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(attribute)
    def checked(self: Explainer, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        scores = attribute(self, model, batch, target)
        name = type(self).__name__
        if not isinstance(scores, Tensor) or scores.shape != batch.mask.shape:
            found = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
            raise UserError(f"{name} returned scores of shape {found}, not {tuple(batch.mask.shape)}.")
        scores = torch.where(batch.mask, scores.detach(), 0.0)
        if not bool(scores.isfinite().all()):
            raise UserError(f"{name} returned scores that are not finite.")
        return scores

    return checked


def target_class(logits: Tensor, batch: Batch, target: Target) -> Tensor:
    """(batch,) class numbers."""
    if target == "predicted":
        return logits.argmax(dim=-1)
    if target == "gold":
        return batch.labels
    if not isinstance(target, int) or not 0 <= target < logits.shape[-1]:
        raise UserError(
            f"The target must be predicted, gold or a class from 0 to {logits.shape[-1] - 1}, not {target!r}."
        )
    return torch.full((len(batch),), target, device=logits.device)


def output_of(logits: Tensor, chosen: Tensor, output: Output) -> Tensor:
    """(batch,) the chosen class's logit or probability."""
    values = logits if output == "logit" else logits.softmax(dim=-1)
    return values.gather(1, chosen[:, None])[:, 0]


def within_memory(each: int, max_bytes: int | None, device: torch.device) -> int:
    """How many copies of so many bytes fit: by default into 256 MiB, on a GPU into a 16th of it; one at least."""
    if max_bytes is None:
        gpu = device.type == "cuda"
        max_bytes = torch.cuda.get_device_properties(device).total_memory // 16 if gpu else 256 << 20
    return max(1, max_bytes // each)


def generator_of(batch: Batch, seed: int) -> Iterator[tuple[int, torch.Generator]]:
    """For each text its length and a random generator fixed by the seed and its tokens: company changes nothing."""
    for tokens, length in zip(batch.tokens.tolist(), batch.text.lengths.tolist(), strict=True):
        yield length, torch.Generator().manual_seed(hash((seed, *tokens[:length])) % 2**63)


def explainer(name: str, description: str = "", *, version: int = 1, **facts: Any) -> Callable[[Thing], Thing]:
    """Register a function `f(model, batch, target) -> scores`, or an `Explainer`, under a name.

    `facts` are those of `Facts`: signed=False, random=True (then the function also takes `seed`), ... Raise `version`
    when its results change through something that is not in its own file. Studies find it in their workers if it is in
    a module or file that can be imported; see `docs/models.md`.
    """

    def register(thing: Thing) -> Thing:
        for key, value in (("facts", Facts(**facts)), ("version", version)):
            if key == "version" or facts or not isinstance(thing, type):
                setattr(thing, key, value)
        first = (thing.__doc__ or "your own").strip().split("\n")[0]
        TEXT_EXPLAINERS.add(name, as_explainer(thing, name), description or first, maker=thing)
        return thing

    return register


def as_explainer(thing: Any, name: str) -> Explainer:
    """What is found at an address, as an explainer: a function, a class or an instance; UserError for anything else."""
    if isinstance(thing, type) and issubclass(thing, Explainer):
        try:
            return thing()
        except TypeError as error:
            raise UserError(f"{name} needs settings ({error}): write {name}[key=value].") from error
    if isinstance(thing, Explainer):
        return thing
    if isinstance(thing, types.FunctionType | functools.partial):
        facts = getattr(thing, "facts", Facts())
        made: Explainer = type(name, (_Function,), {"facts": facts})(thing)
        return made
    raise UserError(f"{name} is no explainer: it must be a function of model, batch and target, or an Explainer.")


@dataclass(frozen=True)
class _Function(Explainer):
    """A function as an explainer."""

    function: Callable[..., Tensor]
    seed: int = 0

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        """What the function says."""
        drawn = {"seed": self.seed} if self.facts.random else {}
        return self.function(model, batch, target, **drawn)
