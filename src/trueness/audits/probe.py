"""What an audit would cost here: everything is tried on a few examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from trueness.audits.reading import opened, probabilities, unpacked, warned
from trueness.engine import Stored, task
from trueness.errors import Unsupported, UserError
from trueness.kinds import KINDS
from trueness.plugins import Reference

_LONG = 0.5
"""Seconds that one measurement may take: examples of many units would take a budget before it begins."""
_REPEATS = 2
"""Measurements, of which the shorter counts: other programs run as well."""
_MEASURED = 1 << 20
"""Weights whose shuffling is timed."""


@task("audit/probe", version=3)
def probe(
    inputs: Mapping[str, Stored],
    *,
    kind: str,
    model: Path | str,
    family: str | None,
    explainers: Sequence[str],
    examples: int,
) -> dict[str, Any]:
    """How long this machine takes: seconds to open the model, and per example to look, to learn, and by each method."""
    import numpy as np

    from trueness.models.network import inspecting
    from trueness.protocols.randomisation import explained, layers_of

    begin = perf_counter()
    classifier, registry = opened(kind, model, family), KINDS[kind].explainers
    opening = perf_counter() - begin
    network = classifier.network
    first, *_ = unpacked(kind, inputs["read"]).splits.values()
    some = first.pick(range(min(4 * examples, len(first))))
    lengths = classifier.coded(some).sizes.astype(float)
    # As large as examples are in the mean: cost grows faster than size, so that the middle would be too cheap.
    order = np.argsort(np.abs(lengths - np.sqrt((lengths**2).mean())), kind="stable")
    some = some.pick(order)
    split = classifier.coded(some.labelled(np.zeros(len(some), dtype=int)))
    splits = [split.only(range(number)) for number in (1, examples, len(split)) if number <= len(split)]

    def learn(examples: Any) -> None:
        import torch

        for _, batch in examples.to_explain():
            with torch.enable_grad():
                network(batch).logits.sum().backward()
        network.zero_grad(set_to_none=True)

    def look(examples: Any) -> None:
        with inspecting(network):
            for _, batch in examples.in_order():
                network(batch).logits.cpu()

    trains = network.differentiable and KINDS[kind].relatives is not None
    layers = layers_of(network) if network.differentiable else []
    costs: dict[str, Any] = {"open": opening, "refused": {}, "broken": {}, "explainers": {}, "random": [], "calls": {}}
    costs |= {"layers": len(layers), "units": float(lengths.mean()), "shuffle": _shuffle(layers)}
    probabilities(classifier, some.pick([0]))  # refuses outputs that are not finite
    costs["look"] = _cost(look, splits)[1]
    costs["learn_call"], costs["learn"] = (1.2 * part for part in (_cost(learn, splits) if trains else (0.0, 0.0)))
    for name in explainers:
        try:
            with warned():  # the audit itself tells
                found = _cost(lambda examples: explained(network, examples, registry[name]), splits)  # noqa: B023
            costs["calls"][str(name)], costs["explainers"][str(name)] = found
            costs["random"] += [str(name)] if registry[name].facts.random else []
        except Unsupported as error:
            costs["refused"][str(name)] = str(error)
        except UserError as error:
            if not isinstance(name, Reference):
                raise
            costs["broken"][str(name)], costs["explainers"][str(name)] = str(error), 0.0
    return {"costs": costs}


def _cost(ask: Callable[[Any], object], splits: Sequence[Any]) -> tuple[float, float]:
    """Seconds of a call, and of each example in it: on one example, then on ever more, while that is soon done."""
    one, *others = splits
    taken = _seconds(ask, one)
    if taken > _LONG:  # not even once more, after what only the first time takes
        return 0.0, taken
    number, alone = 1, min(_seconds(ask, one) for _ in range(_REPEATS))
    taken = alone
    for more in others:
        if taken * len(more) / number > _LONG:
            break
        number, taken = len(more), min(_seconds(ask, more) for _ in range(_REPEATS))
    each = max((taken - alone) / (number - 1), 0.02 * alone) if number > 1 else alone
    return max(alone - each, 0.0), each


def _seconds(ask: Callable[[Any], object], examples: Any) -> float:
    begin = perf_counter()
    ask(examples)
    return perf_counter() - begin


def _shuffle(layers: Sequence[Any]) -> float:
    """Seconds to put all weights into random order, from those of the smallest part that takes a while."""
    import torch

    number = sum(weight.numel() for layer in layers for weight in layer.weights)
    some = min(number, _MEASURED)
    return _seconds(torch.randperm, some) * number / some if some else 0.0
