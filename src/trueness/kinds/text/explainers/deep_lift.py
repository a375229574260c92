"""DeepLIFT (Shrikumar et al. 2017) and Deep SHAP: a text against a baseline, difference by difference.

Every operation of the model is given a rule by which the difference of its output is shared among its inputs, so that
nothing is lost on the way: the scores sum to the difference of the logits. Operations of one input take the slope
between both points (the rescale rule); products share by the mean of the other factor; softmax and layer norms are made
of these. Captum's hooks see modules only, and take plain gradients for products, softmax in functions and layer norms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer, Facts, Target
from trueness.explainers.gradients import ends
from trueness.explainers.outputs import chosen_class
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.models.network import TextNetwork
from trueness.models.network import inspecting
from trueness.models.packing import every_example, in_batches

_NEAR = 1e-3  # inputs and (relatively) outputs nearer than this: the quotient of two roundings would be noise
_COPIES = 3  # of every text in a batch: itself, its baseline, and about as much again for the rules
_MISSED = 0.02  # of the change of the logit (of 1, where that is less): more is no rounding


class _OneInput(torch.autograd.Function):
    """A function of single numbers; the first half of a batch is the text, the second half its baseline."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        found = function(values)
        ctx.save_for_backward(values, found)
        ctx.function = function
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (end, start), (said, before) = (values.chunk(2) for values in ctx.saved_tensors)
        change, step = end - start, said - before
        # False for the difference of two infinities, too.
        near = _NEAR * torch.maximum(said.abs(), before.abs())
        far = (change.abs() >= _NEAR) | ((step.abs() >= near) & (change != 0) & change.isfinite())
        with torch.enable_grad():
            middle = ((end + start) / 2).detach().requires_grad_()
            (slope,) = torch.autograd.grad(ctx.function(middle).sum(), middle)
        slope = torch.where(far, step / torch.where(far, change, 1.0), slope)
        return _of_the_text(gradients[0].chunk(2)[0] * slope), None


class _Product(torch.autograd.Function):
    """A function linear in each of two inputs: each difference counts with the mean of the other input."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, function: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        ctx.save_for_backward(first, second)
        ctx.function = function
        return function(first, second)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        with torch.enable_grad():
            middles = [(torch.add(*values.chunk(2)) / 2).detach().requires_grad_() for values in ctx.saved_tensors]
            first, second = torch.autograd.grad(ctx.function(*middles), middles, gradients[0].chunk(2)[0])
        return _of_the_text(first), _of_the_text(second), None


def _of_the_text(shared: Tensor) -> Tensor:
    """The gradient of both halves: nothing is shared among the baseline's inputs."""
    return torch.cat([shared, torch.zeros_like(shared)])


_one: Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor] = _OneInput.apply
_product: Callable[[Tensor, Tensor, Callable[[Tensor, Tensor], Tensor]], Tensor] = _Product.apply


class _LogSumExp(torch.autograd.Function):
    """The logarithm of a sum of exponentials, over the last dimension.

    By the rules for exp, sum and log an input counts with the logarithmic mean of its exponential at both points over
    that of the sum. Step by step these overflow where attention at the text and at its baseline are far apart.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        found = torch.logsumexp(values, dim=-1, keepdim=True)
        ctx.save_for_backward(values, found)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (end, start), (said, before) = (values.chunk(2) for values in ctx.saved_tensors)
        most = torch.maximum(said, before)
        each = _logarithmic_mean(end - most, start - most)
        return _of_the_text(gradients[0].chunk(2)[0] * each / _logarithmic_mean(said - most, before - most))


def _logarithmic_mean(first: Tensor, second: Tensor) -> Tensor:
    """(exp(first) - exp(second)) / (first - second), for numbers of 0 or less."""
    upper, apart = torch.maximum(first, second), (first - second).abs()
    # expm1 loses nothing of a small difference; 0 for the exponentials of two infinities.
    apart = torch.where(upper.isfinite(), apart, 0.0)
    return upper.exp() * torch.where(apart > 0, -torch.expm1(-apart) / torch.where(apart > 0, apart, 1.0), 1.0)


def _softmax(values: Tensor, dim: int = -1) -> Tensor:
    last = values.movedim(dim, -1)
    whole: Tensor = _LogSumExp.apply(last)  # type: ignore[no-untyped-call]
    return _one(last - whole, torch.exp).movedim(-1, dim)


def _layer_norm(values: Tensor, shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    over = tuple(range(-len(shape), 0))
    centred = values - values.mean(dim=over, keepdim=True)
    variance = _one(centred, torch.square).mean(dim=over, keepdim=True)
    found = _product(centred, _one(variance + eps, torch.rsqrt), torch.mul)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


class _Rules(TorchFunctionMode):
    """Replaces the operations of a model by ones that share differences."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        # What depends on the text: weights are frozen while the rules are in force.
        varying = [isinstance(value, Tensor) and value.requires_grad for value in args[:3]] + [False] * 3
        found: Any
        if name in _SINGLE and varying[0]:
            found = _one(args[0], lambda values: func(values, *args[1:], **options))
        elif name == "softmax" and varying[0]:
            dim = options.get("dim", args[1] if len(args) > 1 else -1)
            found = _softmax(args[0], -1 if dim is None else dim)
        elif name == "layer_norm" and varying[0]:
            given = dict(zip(("normalized_shape", "weight", "bias", "eps"), args[1:], strict=False)) | options
            found = _layer_norm(
                args[0], given["normalized_shape"], given.get("weight"), given.get("bias"), given.get("eps", 1e-5)
            )
        elif name in _LINEAR_IN_BOTH and varying[0] and varying[1]:
            found = _product(args[0], args[1], lambda first, second: func(first, second, *args[2:], **options))
        elif name in _QUOTIENTS and varying[1]:
            inverse = _one(args[1], torch.reciprocal)
            found = _product(args[0], inverse, torch.mul) if varying[0] else args[0] * inverse
        elif name == "einsum" and varying[1] and varying[2]:
            found = _product(args[1], args[2], lambda first, second: func(args[0], first, second))
        else:
            found = func(*args, **options)
        return found


_ACTIVATIONS = ("tanh", "relu", "gelu", "sigmoid", "silu", "elu", "leaky_relu", "softplus", "logsigmoid", "erf")
_POWERS = ("exp", "log", "sqrt", "rsqrt", "square", "pow", "__pow__", "reciprocal", "abs", "__abs__")
_SINGLE = frozenset([*_ACTIVATIONS, *_POWERS])
_LINEAR_IN_BOTH = frozenset(["mul", "multiply", "__mul__", "__rmul__", "matmul", "__matmul__", "bmm"])
_QUOTIENTS = frozenset(["div", "divide", "true_divide", "__truediv__"])


def _against(
    model: TextNetwork, batch: Batch, chosen: Tensor, end: Tensor, start: Tensor, max_bytes: int | None, name: str
) -> Tensor:
    """(batch, tokens): how the difference of the chosen logits between two embeddings is shared among the tokens."""
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        raise Unsupported(
            f"{name} cannot pass an LSTM, whose gates are inside one operation; use integrated-gradients or "
            "gradient-shap."
        )
    scores = end.new_zeros(batch.tokens.shape)

    def work(index: Tensor, texts: Batch) -> tuple[Tensor, Tensor]:
        width, place = texts.tokens.shape[1], torch.arange(len(index), device=index.device)
        there, back = end[index, :width], start[index, :width]
        with inspecting(model, gradients=True):
            embeddings = torch.cat([there, back]).requires_grad_()
            with _Rules():  # every operation must be seen: attention is not fused
                logits = model(texts.rows(place.repeat(2)), embeddings=embeddings).logits
            said = logits.gather(1, chosen[index].repeat(2)[:, None])[:, 0]
            (multiplier,) = torch.autograd.grad(said[: len(index)].sum(), embeddings)
        part = (multiplier[: len(index)] * (there - back)).sum(dim=-1)
        return part * texts.mask, (said[: len(index)] - said[len(index) :]).detach()

    looks: dict[str, Any] = {"max_bytes": max_bytes, "gradients": True, "weights": True, "copies": _COPIES}
    for index, (part, change) in in_batches(model, batch, every_example(batch), work, **looks):
        scores[index, : part.shape[1]] = part
        missed = (part.sum(dim=-1) - change).abs() / change.abs().clamp(min=1)
        if not float(missed.max()) <= _MISSED:  # nor where it is no number
            raise Unsupported(
                f"{name} does not know every operation of this model: its scores miss {float(missed.max()):.0%} of the "
                "change of the output; use integrated-gradients or gradient-shap."
            )
    return scores


@dataclass(frozen=True)
class DeepLift(Explainer):
    """How the difference of the target's logit from the baseline is shared among the tokens: signed.

    The scores sum to that difference; where they do not, the model has an operation without a rule, and is refused.
    """

    facts = Facts(needs=("gradients",), machinery=("rescale",))

    baselines: str = "zero"
    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        chosen = chosen_class(model, batch, target)
        return _against(model, batch, chosen, *ends(model, batch, self.baselines), self.max_bytes, "deep-lift")


@dataclass(frozen=True)
class DeepShap(Explainer):
    """DeepLIFT averaged over baselines of random words of the vocabulary: signed (Lundberg and Lee 2017)."""

    facts = Facts(random=True, needs=("gradients",), machinery=("rescale",))

    n_samples: int = 20
    seed: int = 0
    max_bytes: int | None = None

    def attribute(self, model: TextNetwork, batch: Batch, target: Target = "predicted") -> Tensor:
        chosen = chosen_class(model, batch, target)
        end = model.embed(batch).detach()
        table = model.embedding.weight.detach()
        drawn = torch.zeros(self.n_samples, *batch.tokens.shape, dtype=torch.long)
        lengths = batch.text.lengths.tolist()
        for row, (length, generator) in enumerate(zip(lengths, batch.generators(self.seed), strict=True)):
            drawn[:, row, :length] = torch.randint(len(table), (self.n_samples, length), generator=generator)
        total = end.new_zeros(batch.tokens.shape)
        for tokens in drawn.to(end.device):
            start = torch.where(batch.mask[..., None], table[tokens], end)
            total += _against(model, batch, chosen, end, start, self.max_bytes, "deep-shap")
        return total / self.n_samples
