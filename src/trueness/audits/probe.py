"""What an audit would cost here: everything is tried on a few texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.audits.reading import judged, probabilities, split_of, warned
from trueness.audits.subject import opened
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import Unsupported
from trueness.explainers.contract import TEXT_EXPLAINERS

if TYPE_CHECKING:
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.models.classifier import Classifier


@task("audit/probe", version=1)
def probe(
    inputs: Mapping[str, Stored], *, model: Path | str, family: str | None, explainers: Sequence[str], texts: int
) -> dict[str, Any]:
    """How long this machine takes: seconds to open the model, and per text to look, to learn, and by each method."""
    from time import perf_counter

    import numpy as np

    from trueness.protocols.randomisation import layers_of

    begin = perf_counter()
    classifier = opened(model, family, current_device())
    costs: dict[str, Any] = {"open": perf_counter() - begin, "refused": {}, "explainers": {}}
    network = classifier.network
    some = judged(inputs["texts"], classifier, 4 * texts)
    lengths = np.array([len(one.tokens) for one in some])
    # As long as texts are in the mean: cost grows faster than length, so that the middle would be too cheap.
    order = np.argsort(np.abs(lengths - np.sqrt((lengths.astype(float) ** 2).mean())), kind="stable")
    split = split_of(classifier, [some[row] for row in order[:texts]])
    costs["layers"] = len(layers_of(network)) if network.differentiable else 0

    def seconds(work: Any) -> float:
        work()  # what only the first time takes is no measure
        begin = perf_counter()
        work()
        return (perf_counter() - begin) / len(split)

    def learn() -> None:
        import torch

        for _, batch in split.to_explain():
            with torch.enable_grad():
                network(batch).logits.sum().backward()
        network.zero_grad(set_to_none=True)

    costs["look"] = seconds(lambda: probabilities(classifier, [some[row] for row in order[:texts]]))
    costs["learn"] = 1.2 * seconds(learn) if network.differentiable else 0.0
    for name in explainers:
        try:
            costs["explainers"][str(name)] = seconds(lambda: _explained(classifier, split, name))  # noqa: B023
        except Unsupported as error:
            costs["refused"][str(name)] = str(error)
    return {"costs": costs}


def _explained(classifier: Classifier, split: EncodedSplit, name: str) -> Any:
    from trueness.protocols.randomisation import explained as explain

    with warned():  # the audit itself tells
        return explain(classifier.network, split, TEXT_EXPLAINERS[name])
