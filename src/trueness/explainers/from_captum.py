"""Captum's methods as explainers: `tn.explainers.captum(IntegratedGradients, n_steps=50)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from trueness.data.inputs import Batch
from trueness.errors import Unsupported, UserError
from trueness.explainers.contract import Need
from trueness.explainers.gradients import ends
from trueness.explainers.outside import Outside, imported
from trueness.models.network import Network, inspecting
from trueness.registry import nearest

_DRAWING = (
    "GradientShap",
    "LayerGradientShap",
    "NoiseTunnel",
    "ShapleyValueSampling",
    "Lime",
    "KernelShap",
    "LimeBase",
)
_WITHOUT_SIGN = ("Saliency",)
_GIVEN = ("inputs", "target", "additional_forward_args", "feature_mask", "return_convergence_delta")
"""Arguments of `attribute` that are ours to give."""


@dataclass(frozen=True, kw_only=True)
class FromCaptum(Outside):
    """What Captum computes of a model's values (by default), of the output of one of its layers, or by hiding units."""

    make: Callable[..., Any]
    """From a forward function, and a layer where there is one, to an object of Captum."""
    layer: str = ""
    """Of the network, whose output is explained."""
    hides: bool = False
    """Whether it asks about hidden units, and needs no gradients."""

    @property
    def machinery(self) -> tuple[str, ...]:
        """Which computations it shares with others."""
        return ("masking",) if self.hides else ("gradient",)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What of a model it looks at."""
        return () if self.hides else ("gradients",)

    def of_one(self, model: Network, one: Batch, target: int) -> Tensor:
        """(1, units)."""
        if self.hides:
            return super().of_one(model, one, target)
        with inspecting(model, gradients=True):
            forward = _Forward(model, one)
            if self.layer:
                return self._of_layer(forward, target)
            values, blank = (part.detach() for part in ends(model, one, "zero"))
            found = self._attributed(self._made_of(forward), values, blank, target)
            return model.to_units(found.sum(dim=-1), one)

    def _made_of(self, *parts: Any) -> Any:
        return self.make(*parts)

    def _of_layer(self, forward: _Forward, target: int) -> Tensor:
        """The example goes by a number, 1 for the whole and 0 for the wholly hidden one: the layer has the values."""
        layer = _layer(forward.network, self.layer)
        whole = torch.ones(1, 1, device=forward.network.device)
        found = self._attributed(self._made_of(forward, layer), whole, torch.zeros_like(whole), target)
        one = forward.batch
        if found.shape[:2] != (1, one.width):
            raise Unsupported(
                f"{self.__name__}: the layer {self.layer} gives {tuple(found.shape[1:])} numbers of an example, not a "
                f"row for each of its {one.width} values."
            )
        return forward.network.to_units(found.flatten(2).sum(dim=-1), one)

    def _attributed(self, method: Any, values: Tensor, blank: Tensor, target: int) -> Tensor:
        takes = inspect.signature(method.attribute).parameters
        given = dict(self.settings)
        inner = inspect.signature(getattr(method, "attribution_method", method).attribute).parameters
        if "baselines" in inner and "baselines" not in given:
            given["baselines"] = blank
        if "target" in takes or "kwargs" in takes:
            given["target"] = target
        found: Tensor = method.attribute(values.requires_grad_(), **given)
        return found

    def of_groups(
        self,
        ask: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]],
        count: int,
        where: npt.NDArray[np.float64],  # noqa: ARG002  # it knows no neighbours but those in a row
    ) -> npt.NDArray[np.float64]:
        """A row of ones is explained before one of zeros: kept and hidden."""

        def forward(kept: Tensor) -> Tensor:
            return torch.from_numpy(ask(kept.detach().cpu().numpy()))

        method = self._made_of(forward)
        given = dict(self.settings)
        if "baselines" in inspect.signature(method.attribute).parameters:
            given.setdefault("baselines", 0)
        found: npt.NDArray[np.float64] = method.attribute(torch.ones(1, count), **given).detach().double().numpy()[0]
        return found


class _Forward(nn.Module):
    """One example's logits from values in the place of its own, or from the numbers 1 and 0: whole, and hidden."""

    def __init__(self, network: Network, batch: Batch) -> None:
        super().__init__()
        self.network, self.batch = network, batch

    def forward(self, given: Tensor) -> Tensor:
        """(copies, classes)."""
        copies = self.batch.rows(torch.zeros(len(given), dtype=torch.long, device=given.device))
        if given.dim() == 2:
            hidden = (given < 0.5) & copies.mask
            return self.network.logits(copies.hide(hidden))
        return self.network.logits(copies, values=given)


def _layer(network: Network, name: str) -> nn.Module:
    """The part of a network of that name, or whose name ends so; UserError where there is none, or several."""
    parts: dict[str, nn.Module] = dict(network.named_modules())
    ending = [part for part in parts if part == name or part.endswith(f".{name}")]
    if name in parts:
        return parts[name]
    if len(ending) == 1:
        return parts[ending[0]]
    many = f"several layers {name}: {', '.join(ending)}" if ending else f"no layer {name}; {nearest(name, list(parts))}"
    raise UserError(f"The network {network.family} has {many}")


def captum(method: Any, *, layer: Any = None, signed: bool | None = None, **settings: Any) -> FromCaptum:
    """A method of Captum: its class or name, a function from a forward function to an object, or an object.

    `settings` are those of its `attribute`, such as `n_steps=50`. A gradient is taken of the model's values (word
    vectors, colours, features), or of the output of a `layer`, given by its name or as the module itself. Methods that
    hide parts of an input hide units, as the model does it. Baselines are the model's blank example unless given.

    Of an object its class and its settings count, and not the forward function that it was made with: an audit also
    asks shuffled and retrained models.
    """
    library = imported("captum.attr", "captum")
    if isinstance(method, str):
        known = [name for name in library.__all__ if hasattr(getattr(library, name), "attribute")]
        if method not in known:
            raise UserError(f"Captum has no method {method!r}; {nearest(method, known)}")
        method = getattr(library, method)
    for name in _GIVEN:
        if name in settings:
            raise UserError(f"{name} is given where an explanation is asked for: leave it out.")
    make: Callable[..., Any]
    if isinstance(method, type):
        chosen, make = method, functools.partial(_made, method, {})
    elif hasattr(method, "attribute"):
        chosen, make = type(method), _like(method)
        layer = _path(method) if layer is None and hasattr(method, "layer") else layer
    elif callable(method):
        chosen, make = _kind_of(method), functools.partial(_called, method)
    else:
        raise UserError(f"Of Captum a class, its name, or an object is taken, not one of type {type(method).__name__}.")
    if issubclass(chosen, library.NeuronAttribution):
        raise UserError(f"{chosen.__name__} explains a neuron, and not what the model decides.")
    if issubclass(chosen, library.LayerAttribution) and not layer:
        raise UserError(f'{chosen.__name__} explains a layer: name it, such as layer="embedding".')
    name = chosen.__name__
    return FromCaptum(
        library="captum",
        method=chosen,
        make=make,
        settings=settings,
        layer=str(layer or ""),
        hides=issubclass(chosen, library.PerturbationAttribution),
        signed=name not in _WITHOUT_SIGN if signed is None else signed,
        random=name in _DRAWING,
    )


def _made(kind: Any, given: dict[str, Any], *parts: Any) -> Any:
    return kind(*parts, **given)


def _called(function: Callable[..., Any], *parts: Any) -> Any:
    return function(*parts)


def _kind_of(function: Callable[..., Any]) -> type:
    """The class of what a function makes of a forward function."""
    made = function(_nothing)
    if not hasattr(made, "attribute"):
        raise UserError(f"The function gives an object of type {type(made).__name__}, and none of Captum.")
    return type(made)


def _nothing(given: Tensor) -> Tensor:
    return given


def _like(method: Any) -> Callable[..., Any]:
    """How another object with the same settings is made of another forward function."""
    first, *names = [name for name in inspect.signature(type(method).__init__).parameters if name != "self"]
    if first == "attribution_method":  # NoiseTunnel, around another method
        return functools.partial(_around, type(method), _like(method.attribution_method))
    given = {}
    for name in names:
        kept = next((spelled for spelled in (name, f"_{name}") if hasattr(method, spelled)), None)
        if kept is not None and name not in ("layer", "device_ids"):
            given[name] = getattr(method, kept)
    return functools.partial(_made, type(method), given)


def _around(kind: Any, make: Callable[..., Any], *parts: Any) -> Any:
    return kind(make(*parts))


def _path(method: Any) -> str:
    """The name of the layer that an object of Captum explains."""
    forward = getattr(method, "forward_func", getattr(method, "model", None))
    whole = getattr(forward, "__self__", forward)
    names = (
        [name for name, part in whole.named_modules() if part is method.layer] if isinstance(whole, nn.Module) else []
    )
    if not names:
        raise UserError(f'{type(method).__name__}: which layer it explains cannot be told: name it, layer="embedding".')
    return str(names[0])
