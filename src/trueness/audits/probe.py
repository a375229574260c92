"""What an audit would cost here: everything is tried on a few examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueness.audits.reading import opened, probabilities, unpacked, warned
from trueness.engine import Stored, task
from trueness.errors import Unsupported, UserError
from trueness.kinds import KINDS
from trueness.plugins import Reference


@task("audit/probe", version=2)
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
    from time import perf_counter

    import numpy as np

    from trueness.protocols.randomisation import explained, layers_of

    begin = perf_counter()
    classifier, registry = opened(kind, model, family), KINDS[kind].explainers
    costs: dict[str, Any] = {
        "open": perf_counter() - begin,
        "refused": {},
        "broken": {},
        "explainers": {},
        "random": [],
    }
    network = classifier.network
    first, *_ = unpacked(kind, inputs["read"]).splits.values()
    some = first.pick(range(min(4 * examples, len(first))))
    some = some.labelled(probabilities(classifier, some).argmax(axis=1))
    lengths = classifier.coded(some).sizes.astype(float)
    # As large as examples are in the mean: cost grows faster than size, so that the middle would be too cheap.
    order = np.argsort(np.abs(lengths - np.sqrt((lengths**2).mean())), kind="stable")
    few = some.pick(order[:examples])
    split = classifier.coded(few)
    costs["layers"] = len(layers_of(network)) if network.differentiable else 0

    def seconds(work: Any) -> float:
        work()  # what only the first time takes is no measure
        begin = perf_counter()
        work()
        return (perf_counter() - begin) / len(few)

    def learn() -> None:
        import torch

        for _, batch in split.to_explain():
            with torch.enable_grad():
                network(batch).logits.sum().backward()
        network.zero_grad(set_to_none=True)

    costs["units"] = float(lengths.mean())
    costs["look"] = seconds(lambda: probabilities(classifier, few))
    trains = network.differentiable and KINDS[kind].relatives is not None
    costs["learn"] = 1.2 * seconds(learn) if trains else 0.0
    for name in explainers:
        try:
            with warned():  # the audit itself tells
                costs["explainers"][str(name)] = seconds(lambda: explained(network, split, registry[name]))  # noqa: B023
            costs["random"] += [str(name)] if registry[name].facts.random else []
        except Unsupported as error:
            costs["refused"][str(name)] = str(error)
        except UserError as error:
            if not isinstance(name, Reference):
                raise
            costs["broken"][str(name)], costs["explainers"][str(name)] = str(error), 0.0
    return {"costs": costs}
