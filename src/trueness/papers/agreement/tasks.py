"""The task that asks many methods about the same texts of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.kinds.text.models.opening import load_model
from trueness.kinds.text.tasks import read_dataset, read_model

PUBLISHED = "@court2022"
"""How explainers are named that compute what the paper's code does."""


@task("agreement/explained", version=6)
def explained(
    inputs: Mapping[str, Stored],
    *,
    names: Sequence[str],
    variant: str,
    instances: int,
    again: int,
    examples: int,
    seed: int,
    given: Path | None,
) -> dict[str, Any]:
    """What every method says of some test examples of one model."""
    import numpy as np
    import torch

    from trueness.data.dataset import drawn_examples
    from trueness.kinds.text.data.batches import EncodedSplit
    from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
    from trueness.kinds.text.models.pairs import joined
    from trueness.protocols.agreement.explaining import explain_all

    data = read_dataset(inputs["dataset"])
    texts = data.splits["test"] if "test" in data.splits else next(iter(data.splits.values()))
    chosen = drawn_examples(texts, instances)
    published = variant == "as-published"
    model = read_model(inputs["model"], seed) if given is None else load_model(given, current_device())
    model = joined(model.explaining_special() if published else model)
    network = model.network
    split = EncodedSplit(chosen, model.coder, current_device())
    suffix = PUBLISHED if published else ""
    asked = {name: f"{name}{suffix}" if f"{name}{suffix}" in TEXT_EXPLAINERS else name for name in names}
    methods = {other: TEXT_EXPLAINERS[other] for other in asked.values()}
    found = explain_all(network, split, methods, refuse=False)
    redrawn: dict[str, Any] = {}
    if again:
        few = EncodedSplit(chosen[:again], model.coder, current_device())
        known = {name: methods[name] for name in found.scores}
        redrawn |= explain_all(network, few, known, redraw=True, refuse=False).scores
    plain = {other: name for name, other in asked.items()}
    with torch.no_grad():
        predicted = [int(network(split.batch([row])).logits.argmax()) for row in range(min(examples, len(chosen)))]
    batches = [batch for _, batch in split.in_order()]
    facts: dict[str, Any] = {
        "methods": [plain[name] for name in found.scores],
        "refused": {plain[name]: reason for name, reason in found.refused.items()},
        "unsigned": [plain[name] for name in found.scores if not methods[name].facts.signed],
        "pairs": data.pairs,
        "checks": {},
        "examples": [
            {
                "instance": row,
                "words": model.words_of(chosen[row]),
                "predicted": data.classes[predicted[row]] if predicted[row] < len(data.classes) else predicted[row],
                "gold": data.classes[chosen[row].label],
            }
            for row in range(len(predicted))
        ],
    }
    for name, other in asked.items():
        if other in found.scores:
            some = [methods[other].checks(network, batch) for batch in batches]
            checks = {check: float(torch.cat([one[check] for one in some]).mean()) for check in some[0]}
            facts["checks"] |= {name: checks} if checks else {}
    scores, second = (
        {plain[name]: values.astype(np.float32) for name, values in some.items()} for some in (found.scores, redrawn)
    )
    return {"scores": {**scores, "mask": found.mask}, "facts": facts, **({"again": second} if second else {})}


def read_scores(stored: Stored) -> tuple[dict[str, Any], Any]:
    """The scores of every method, in the order they were asked for, and the mask."""
    found = stored.read("scores")
    return {name: found[name] for name in stored.read("facts")["methods"]}, found["mask"]
