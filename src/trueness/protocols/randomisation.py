"""Does an explanation depend on the model? Its weights are put into a random order, and the explanation is asked again.

Adebayo et al. (2018): an explanation that stays the same when the weights are random does not explain the model. Layers
are randomised one after another from the top or from the bottom, or all at once; from the top alone misleads, since
lower layers keep the sizes of what they pass on (Binder et al. 2023). `smooth` averages over noisy embeddings
first, and `complexity` gives the efficient variant (Hedstroem et al. 2024): the rise of an explanation's entropy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import nn

from trueness.data.inputs import Split
from trueness.explainers.contract import Explainer
from trueness.models.network import Network, inspecting
from trueness.protocols.similarity import similarity
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["all at once", "top-down", "bottom-up"]
ORDERS: tuple[Order, ...] = get_args(Order)
BINS = 100
"""Of the histogram whose entropy is an explanation's complexity."""


@dataclass(frozen=True)
class Layer:
    """Weights that are randomised together."""

    name: str
    weights: tuple[nn.Parameter, ...]


def layers_of(network: Network) -> list[Layer]:
    """The layers of a network from bottom to top: numbered blocks, and the modules around them."""
    found: dict[str, list[nn.Parameter]] = {}
    for name, weight in network.named_parameters():
        modules = name.split(".")[:-1]
        number = next((place for place, part in enumerate(modules) if part.isdigit()), None)
        if number is not None:
            modules = modules[: number + 1]
        elif len(modules) > 2:
            modules = modules[:-1]
        found.setdefault(".".join(modules), []).append(weight)
    return [Layer(name, tuple(weights)) for name, weights in found.items()]


@contextlib.contextmanager
def randomised(layers: Sequence[Layer], seed: int) -> Iterator[None]:
    """The entries of every weight in random order: the same values elsewhere. Restored, also after an error."""
    with one_by_one(seed) as shuffle:
        for layer in layers:
            shuffle(layer)
        yield


@contextlib.contextmanager
def one_by_one(seed: int) -> Iterator[Callable[[Layer], None]]:
    """Inside, each layer that is given joins those whose weights are in random order. All are restored at the end."""
    generator = torch.Generator().manual_seed(seed)
    kept: list[tuple[nn.Parameter, torch.Tensor]] = []

    def shuffle(layer: Layer) -> None:
        for weight in layer.weights:
            kept.append((weight, weight.detach().clone()))
            with torch.no_grad():
                order = torch.randperm(weight.numel(), generator=generator).to(weight.device)
                weight.copy_(weight.flatten()[order].view_as(weight))

    try:
        yield shuffle
    finally:
        with torch.no_grad():
            for weight, before in reversed(kept):
                weight.copy_(before)


def explained(
    network: Network, split: Split, explainer: Explainer, *, smooth: int = 0, noise: float = 0.05
) -> tuple[Floats, Bools]:
    """(examples, units) scores of the classes that the split is labelled with, and the mask.

    With `smooth`, their mean over so many draws of noise.
    """
    mask = mask_of(split)
    scores = np.zeros(mask.shape)
    for draw in range(max(smooth, 1)):
        with network.noisy(noise, draw) if smooth else contextlib.nullcontext():
            for rows, batch in split.to_explain():
                found = explainer.attribute(network, batch, "gold").double().cpu().numpy()
                scores[rows, : found.shape[1]] += found / max(smooth, 1)
    return scores, mask


def mask_of(split: Split) -> Bools:
    """(examples, units) which units are explained."""
    mask = np.zeros((len(split), int(split.sizes.max())), dtype=bool)
    for rows, batch in split.in_order():
        mask[rows, : batch.mask.shape[1]] = batch.mask.cpu().numpy()
    return mask


def _outputs(network: Network, split: Split) -> Floats:
    """(examples, classes) probabilities."""
    found = np.zeros((len(split), network.classes))
    with inspecting(network):
        for rows, batch in split.in_order(1 << 13):
            found[rows] = network(batch).logits.double().softmax(dim=-1).cpu().numpy()
    return found


def redrawn(explainer: Explainer) -> Explainer | None:
    """The same method with other draws; None where it draws nothing."""
    if not explainer.facts.random:
        return None
    drawing: Any = explainer
    other: Explainer = replace(drawing, seed=drawing.seed + 1)
    return other


def complexity(scores: Floats, mask: Bools) -> Floats:
    """(examples,) entropy of the histogram of an example's scores over their range: 0 where all are the same."""
    found = np.zeros(len(scores))
    for row, (values, inside) in enumerate(zip(scores, mask, strict=True)):
        if inside.any():
            counts = np.histogram(values[inside], bins=BINS)[0]
            share = counts[counts > 0] / counts.sum()
            found[row] = -(share * np.log(share)).sum()
    return found


@dataclass(frozen=True)
class Before:
    """What is known of a method on the model as it is: scores (examples, units) of the first examples of a split.

    `ceiling` (examples,) says how alike two draws are.
    """

    explainer: Explainer
    scores: Floats
    ceiling: Floats


def randomisation(
    network: Network,
    split: Split,
    explainer: Explainer,
    *,
    orders: Sequence[Order] = ORDERS,
    seeds: Sequence[int] = (0,),
    smooth: int = 0,
    before: Floats | None = None,
    ceiling: Floats | None = None,
) -> pd.DataFrame:
    """One row per example, order, step and seed: how alike the explanations are, and how complexity rises.

    The split is labelled with the classes to explain; `before` are their scores and `ceiling` how alike two draws are,
    where these are known. `similarity` is as large as `ceiling` where an explanation ignores what was randomised: the
    ceiling is 1, or of a method that draws at random what it has in common with itself under other draws. `output
    change` is the total variation of the model's own output: where that is 0, nothing can be told. Step s of an order
    has its first s layers randomised; all at once has one step.
    """
    if before is None or ceiling is None:
        found = as_it_is(network, split, explainer, smooth=smooth, scores=before)
        before, ceiling = found.scores, found.ceiling if ceiling is None else ceiling
    one = {"": Before(explainer, before, ceiling)}
    return randomisations(network, split, one, orders=orders, seeds=seeds, smooth=smooth).drop(columns="method")


def as_it_is(
    network: Network, split: Split, explainer: Explainer, *, smooth: int = 0, scores: Floats | None = None
) -> Before:
    """What a method says of the model as it is, `scores` where these are known, and whether it says so again."""
    if scores is None:
        scores = explained(network, split, explainer, smooth=smooth)[0]
    mask, other = mask_of(split), redrawn(explainer)
    again = scores if other is None else explained(network, split, other, smooth=smooth)[0]
    return Before(explainer, scores, similarity(scores[:, : mask.shape[1]], again[:, : mask.shape[1]], mask))


def randomisations(
    network: Network,
    split: Split,
    methods: Mapping[str, Before],
    *,
    orders: Sequence[Order] = ORDERS,
    seeds: Sequence[int] = (0,),
    smooth: int = 0,
) -> pd.DataFrame:
    """The same of several methods, beside their names: the weights are put into every order once for all of them."""
    import pandas as pd

    # A method may have been asked about fewer examples than others.
    parts = {number: split.only(range(number)) for number in {len(one.scores) for one in methods.values()}}
    masks = {number: mask_of(part) for number, part in parts.items()}
    scores = {name: one.scores[:, : masks[len(one.scores)].shape[1]] for name, one in methods.items()}
    simple = {name: complexity(values, masks[len(values)]) for name, values in scores.items()}
    layers, said = layers_of(network), _outputs(network, split)
    frames = []

    def measure(about: Mapping[str, object]) -> None:
        moved = 0.5 * np.abs(_outputs(network, split) - said).sum(axis=1)
        for name, one in methods.items():
            number, before = len(one.scores), simple[name]
            after, mask = explained(network, parts[number], redrawn(one.explainer) or one.explainer, smooth=smooth)
            with np.errstate(invalid="ignore", divide="ignore"):
                rise = np.where(before > 0, (complexity(after, mask) - before) / before, np.nan)
            found = {
                "similarity": similarity(scores[name], after, mask),
                "ceiling": one.ceiling,
                "complexity rise": rise,
                "output change": moved[:number],
            }
            frames.append(pd.DataFrame({"method": name, "instance": np.arange(number), **about, **found}))

    for order in orders:
        queue = layers[::-1] if order == "top-down" else layers
        for seed in seeds:
            with one_by_one(seed) as shuffle:
                for step, layer in enumerate(queue, 1):
                    shuffle(layer)
                    if order != "all at once":
                        measure({"order": order, "step": step, "layer": layer.name, "seed": seed})
                    elif step == len(queue):
                        measure({"order": order, "step": step, "layer": "all", "seed": seed})
    return pd.concat(frames, ignore_index=True)
