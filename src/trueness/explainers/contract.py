"""What an explainer is: the contract, declared facts, names; and functions as explainers."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from trueness.boundary import calling
from trueness.errors import Unsupported, UserError
from trueness.explainers.untouched import untouched
from trueness.registry import FILLED_BY, Registry, nearest

if TYPE_CHECKING:
    from torch import Tensor

    from trueness.data.inputs import Batch
    from trueness.models.network import Network

Thing = TypeVar("Thing", bound=Callable[..., Any])
Target = Literal["predicted", "gold"] | int
"""The class whose score is explained: the predicted one, the labelled one, or a class number."""
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
    """Whether an example takes seconds, so that studies ask it about fewer."""
    needs: tuple[Need, ...] = ()
    machinery: tuple[str, ...] = ()
    """Computations it shares with others: that two methods with a common one agree is partly by construction."""


class Explainer:
    """Says how much each unit mattered to the target class; a frozen dataclass with its settings.

    What `attribute` returns is checked: one finite score per unit, and 0 outside the mask.
    """

    facts: ClassVar[Facts] = Facts()

    def __init_subclass__(cls) -> None:
        if "attribute" in cls.__dict__:
            cls.attribute = _checked(cls.__dict__["attribute"])  # type: ignore[method-assign]

    def attribute(self, model: Any, batch: Any, target: Target = "predicted") -> Tensor:
        """(examples, units) scores, 0 outside `batch.mask`; the model is left as it was."""
        raise NotImplementedError

    def checks(self, model: Any, batch: Any, target: Target = "predicted") -> dict[str, Tensor]:  # noqa: ARG002
        """By name, (examples,) what the method can tell of its own error; nothing, for most."""
        return {}


def _checked(attribute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(attribute)
    def checked(self: Explainer, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        import torch

        name = str(getattr(self, "__name__", type(self).__name__))
        _check_needs(self.facts, model, name)
        code = getattr(self, "code", attribute)
        ours = str(getattr(code, "__module__", "")).startswith("trueness.")
        with contextlib.nullcontext() if ours else _guarded(model, name, code):
            scores = attribute(self, model, batch, target)
        wanted = tuple(batch.mask.shape)
        if not isinstance(scores, torch.Tensor):
            found = f"an object of type {type(scores).__name__}"
            raise UserError(f"{name} returned {found} instead of a tensor of scores of shape {wanted}.")
        if scores.shape != wanted:
            raise UserError(f"{name} returned scores of shape {tuple(scores.shape)}, not {wanted}.")
        if scores.device != batch.mask.device:
            raise UserError(f"{name} returned scores on {scores.device}, not on {batch.mask.device}.")
        scores = torch.where(batch.mask, scores.detach(), 0.0)
        if bool((scores * 0).sum() != 0):  # 0 times infinity is not a number; a third of the time of isfinite
            raise UserError(f"{name} returned scores that are not finite.")
        if not ours and not self.facts.signed and bool((scores < 0).any()):
            raise UserError(f"{name} declares signed=False and returned scores below 0.")
        return scores

    return checked


@contextlib.contextmanager
def _guarded(model: Network, name: str, code: Callable[..., Any]) -> Iterator[None]:
    """For somebody else's code: its mistakes are told as its own, and the model is what it was."""
    with untouched(model, name), calling(name, code):
        yield


def _check_needs(facts: Facts, model: Network, name: str) -> None:
    """Refuse a model that does not have what an explainer looks at."""
    if "gradients" in facts.needs and not model.differentiable:
        raise Unsupported(f"{name} needs gradients; this model is a function that can only be called.")
    for need in ("attention", "layers"):
        if need in facts.needs and model.attends == "none":
            raise Unsupported(f"{name} needs attention; this model declares none.")


def explainer(
    name: str, description: str = "", *, kind: str = "text", version: int = 1, **facts: Any
) -> Callable[[Thing], Thing]:
    """Register a function `f(model, batch, target) -> scores`, or an `Explainer`, under a name, for a kind of input.

    `facts` are those of `Facts`: signed=False, random=True (then the function also takes `seed`), ... Raise `version`
    when its results change through something that is not in its own file. Studies find it in their workers if it is in
    a module or file that can be imported; see `docs/models.md`.
    """
    known = [one for module in FILLED_BY.get("kinds", ()) for one in import_module(module).KINDS]
    if known and kind not in {*known, *_OF_KIND}:
        raise UserError(f"There is no kind of input {kind!r}; {nearest(kind, known)}")

    def register(thing: Thing) -> Thing:
        for key, value in (("facts", Facts(**facts)), ("version", version)):
            if key == "version" or facts or not isinstance(thing, type):
                setattr(thing, key, value)
        first = (thing.__doc__ or "your own").strip().split("\n")[0]
        explainers_of(kind).add(name, as_explainer(thing, name), description or first, maker=thing)
        return thing

    return register


def as_explainer(thing: Any, name: str) -> Explainer:
    """What is found at an address, as an explainer: a function, a class or an instance; UserError for anything else."""
    if getattr(thing, "attribute", None) is Explainer.attribute:
        raise UserError(f"{name} has no method attribute.")
    if isinstance(thing, type) and issubclass(thing, Explainer):
        _check_takes(thing.attribute, f"{name}.attribute", "self", "model", "batch", "target")
        try:
            inspect.signature(thing).bind()
        except TypeError as error:
            raise UserError(f"{name} needs settings ({error}): write {name}[key=value].") from error
        _check_seed(thing, name, thing.facts)
        with calling(name, thing):
            return thing()
    if isinstance(thing, Explainer):
        _check_seed(type(thing), name, thing.facts)
        _check_takes(type(thing).attribute, f"{name}.attribute", "self", "model", "batch", "target")
        return thing
    if isinstance(thing, types.FunctionType | functools.partial):
        facts = getattr(thing, "facts", Facts())
        _check_takes(thing, name, "model", "batch", "target", **({"seed": 0} if facts.random else {}))
        made: Explainer = type(name, (_Function,), {"facts": facts})(thing)
        return made
    raise UserError(f"{name} is no explainer: it must be a function of model, batch and target, or an Explainer.")


def _check_seed(kind: type[Explainer], name: str, facts: Facts) -> None:
    """Refuse what draws at random and cannot be made to draw anew."""
    settable: list[str] = (
        [one.name for one in dataclasses.fields(kind) if one.init] if dataclasses.is_dataclass(kind) else []
    )
    if facts.random and "seed" not in settable:
        raise UserError(
            f"{name} declares random=True: make it a dataclass with a field seed, as other draws are made by."
        )


def _check_takes(function: Callable[..., Any], name: str, *given: str, **named: int) -> None:
    """Refuse a function that cannot be called so."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as error:
        raise UserError(f"{name} must take ({', '.join([*given, *named])}).") from error


@dataclass(frozen=True)
class _Function(Explainer):
    """A function as an explainer."""

    function: Callable[..., Tensor]
    seed: int = 0

    @property
    def code(self) -> Callable[..., Tensor]:
        """Whose code computes."""
        return self.function

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        """What the function says."""
        drawn = {"seed": self.seed} if self.facts.random else {}
        return self.function(model, batch, target, **drawn)


_OF_KIND: dict[str, Registry[Explainer]] = {}


def explainers_of(kind: str, group: str = "", noun: str = "explainer") -> Registry[Explainer]:
    """The explainers of a kind of input, by name: one registry, whoever asks for it first.

    The kind itself says how they are called, and in which `group` of entry points other packages have some.
    """
    registry = _OF_KIND.setdefault(kind, Registry(noun, adapt=as_explainer))
    if group:
        registry.group, registry.kind = group, noun
    return registry
