"""What an explainer and a protocol may ask of a classifier, whatever kind of input it reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from trueness.errors import Unsupported, UserError

if TYPE_CHECKING:
    from trueness.data.inputs import Batch

Attends = Literal["one", "layers", "uniform", "frozen", "none"]
"""Which attention a model has: one of its own over the units, layers of it, equal weights, weights given from outside,
or none."""


@dataclass(frozen=True)
class Answer:
    """What a forward pass gives at least."""

    logits: Tensor
    """(examples, classes)"""


class Network(nn.Module):
    """A classifier. Called with a batch it gives a prediction, whose `logits` are (examples, classes).

    What gradients are taken of has the shape (examples, units, size): the embedding of a token, the colours of a pixel,
    one feature.
    """

    recurrent = False
    """Whether cuDNN must be in training mode to differentiate it."""
    attends: Attends = "none"
    differentiable = True
    """Whether predictions can be differentiated by what it reads; a function that is only called cannot."""
    family = ""
    """The name of the family that made it, and `shape` what it was made with."""
    shape: Mapping[str, Any]
    cpu_bytes = 256 << 20
    """The most that one batch takes on a CPU where nobody says."""

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.shape["classes"])

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights, which scores have as well."""
        return next(self.parameters()).dtype

    def values(self, batch: Any) -> Tensor:
        """(examples, units, size) what it reads of a batch, as numbers that gradients can be taken of."""
        raise NotImplementedError

    def blank(self, batch: Any, baseline: str) -> Tensor:  # noqa: ARG002  # the same for all batches
        """What a unit without information is, in a shape that fits `values`; by default zero."""
        if baseline != "zero":
            raise self.unknown("baselines", baseline, "zero")
        return torch.zeros((), dtype=self.dtype, device=self.device)

    def others(self, batch: Any) -> Tensor:  # noqa: ARG002  # where there are some
        """(some, units, size) the values of other examples, for explainers that start from them."""
        raise Unsupported("These examples have no others of the same shape to start from.")

    def shown(self, batch: Batch, hiding: str, groups: Tensor) -> Batch:  # noqa: ARG002  # where there are several ways
        """The batch as its hidden units will be shown; units of one of the `groups` (examples, units) go together."""
        if hiding != "usual":
            raise self.unknown("hiding", hiding, "usual")
        return batch

    @staticmethod
    def unknown(setting: str, value: str, *known: str) -> UserError:
        """What to say of a setting that this kind of network does not know."""
        return UserError(f"{setting} should be {' or '.join(known)} for this model, not {value!r}.")

    def logits(self, batch: Any, *, values: Tensor | None = None) -> Tensor:
        """(examples, classes), given `values` in the place of the batch's own."""
        raise NotImplementedError

    def forward(self, *batch: Any, **given: Any) -> Any:
        """Predict a batch; given values take the place of its own."""
        return Answer(self.logits(*batch, **given))

    def to_units(self, per_value: Tensor, batch: Any) -> Tensor:
        """(examples, units) scores of the units that are explained, from those of what is read; 0 outside the mask."""
        scores: Tensor = per_value * batch.mask
        return scores

    def size_of(self, gradient: Tensor) -> Tensor:
        """(examples, units) how large the gradient of each unit is: its L2 norm."""
        size: Tensor = (gradient * gradient).sum(dim=-1).sqrt()
        return size

    def spread(self, values: Tensor, batch: Any) -> Tensor:
        """(examples,) the unit in which noise is measured: the standard deviation of the explained values."""
        inside = batch.mask[..., None]
        count = (batch.mask.sum(dim=-1) * values.shape[-1]).clamp(min=1).to(values.dtype)
        mean = (values * inside).sum(dim=(1, 2)) / count
        deviation: Tensor = (((values - mean[:, None, None]).square() * inside).sum(dim=(1, 2)) / count).sqrt()
        return deviation

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # some depend on it
        """About how many numbers a look at an example of so many units holds for each of them: to bound memory."""
        return (8 if gradients else 4) * (1 + sum(len(weight) for weight in self.parameters() if weight.dim()))

    def numbers_for_logits(self, width: int, *, gradients: bool = False) -> int:
        """The same of `logits`, which may hold less."""
        return self.numbers_per_token(width, gradients=gradients)

    def most_at_once(self, width: int, device: str) -> int:
        """How many examples of so many units are worth a batch: with more a CPU's caches are full."""
        return (4096 if device == "cpu" else 1 << 17) // width

    def noisy(self, share: float, seed: int) -> contextlib.AbstractContextManager[None]:
        """What it reads with normal noise of a share of its range; then as it was."""
        raise NotImplementedError


class ModuleNetwork(Network):
    """A module that reads numbers less their mean, over their deviation; noise comes in before that."""

    module: nn.Module
    mean: Tensor
    deviation: Tensor

    def __init__(self, module: nn.Module, family: str, mean: Tensor, deviation: Tensor, *, kept: bool) -> None:
        """`kept` says whether mean and deviation are saved with the weights."""
        super().__init__()
        self.module, self.family = module, family
        self.register_buffer("mean", mean, persistent=kept)
        self.register_buffer("deviation", deviation, persistent=kept)
        self._noise: tuple[float, int] | None = None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.mean.device

    @property
    def dtype(self) -> torch.dtype:
        """The precision of what it reads."""
        return self.mean.dtype

    @contextlib.contextmanager
    def noisy(self, share: float, seed: int) -> Iterator[None]:
        """What it reads with normal noise of a share of its range; then as it was."""
        self._noise = (share, seed)
        try:
            yield
        finally:
            self._noise = None

    def with_noise(self, values: Tensor, extent: Tensor | float) -> Tensor:
        """The values with the noise that `noisy` asks for, of a share of their `extent`."""
        if self._noise is None:
            return values
        share, seed = self._noise
        noise = torch.randn(values.shape, generator=torch.Generator().manual_seed(seed))
        return values + share * extent * noise.to(values)


def check_outputs(model: Network, outputs: Tensor) -> Tensor:
    """The same (examples, classes) outputs; refuse NaN and infinity, from which all that follows would be made up."""
    wrong = int((~outputs.isfinite()).any(dim=-1).sum())
    if wrong:
        raise UserError(
            f"The outputs of the model {model.family or type(model).__name__} are NaN or infinite for {wrong} of "
            f"{len(outputs)} examples; use another model, or train this one again with a smaller learning rate."
        )
    return outputs


def _parts(model: nn.Module) -> list[nn.Module]:
    """The model and all its parts.

    `modules` and `parameters` find the same, but take three times as long: half a millisecond of each look.
    """
    found: dict[nn.Module, None] = {}
    todo: list[nn.Module | None] = [model]
    while todo:
        one = todo.pop()
        if one is not None and one not in found:
            found[one] = None
            todo += one._modules.values()
    return list(found)


@contextlib.contextmanager
def inspecting(model: Network, *, gradients: bool = False) -> Iterator[None]:
    """Look at a model with or without gradients, never of its parameters; all is restored, also after an exception.

    cuDNN differentiates recurrent layers in training mode only; our recurrent models have no dropout, so that nothing
    else changes. A transformer has, and is always looked at in evaluation mode.
    """
    parts = _parts(model)
    given = [one for part in parts for one in part._parameters.values()] if gradients else []
    learned = [one for one in given if one is not None and one.requires_grad]
    wanted = gradients and model.recurrent
    others = [part for part in parts if part.training is not wanted]
    for part in others:
        part.training = wanted
    for parameter in learned:
        parameter.requires_grad = False
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        for part in others:
            part.training = not wanted
        for parameter in learned:
            parameter.requires_grad = True
