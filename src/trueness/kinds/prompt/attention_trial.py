"""Is the attention needed that is shown as a reason? The passage that it points to is cut off from all that follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness.explainers.contract import Explainer
from trueness.kinds.contract import Finding, KindTrial
from trueness.kinds.prompt.data.prompts import PromptExamples

NEEDED = 0.05
"""Change of the probability of the answer, as the mean over its tokens."""


def attention_matters(
    model: Any, examples: PromptExamples, explainer: Explainer
) -> tuple[Sequence[Finding], Sequence[str]]:
    """Of explainers that show attention, on models that read prompt and answer in one go; nothing of others."""
    from trueness.models.network import inspecting
    from trueness.protocols.randomisation import explained

    reader = getattr(model.network, "reader", None)
    if "attention" not in explainer.facts.machinery or reader is None or reader.apart:
        return (), ()
    split = model.coded(examples)
    split = split.labelled(np.zeros(len(examples), dtype=int))
    scores, mask = explained(model.network, split, explainer)
    values, beside = np.full(len(examples), np.nan), []
    with inspecting(model.network):
        for row, coded in enumerate(split.coded):
            units = np.flatnonzero(mask[row])
            if len(units) < 2:
                continue
            order = units[np.argsort(-scores[row][units], kind="stable")]
            said = coded.answers[max(examples[row].label, 0) if model.labels else 0]
            whole, first, last = (_probability(model, coded, said, unit) for unit in (None, order[0], order[-1]))
            values[row] = abs(whole - first)
            beside.append(abs(whole - last))
    about = (
        "change of the answer's probability when nothing behind it can attend to the unit that attention ranks first"
    )
    note = [f"Cut off from the unit that it ranks last, the answer changes by {np.mean(beside):.2f}."] if beside else []
    return [Finding("cut off", about, values, NEEDED)], note


def _probability(model: Any, coded: Any, answer: Sequence[int], unit: int | None) -> float:
    """Of an answer, as the geometric mean over its tokens, where no later token attends to those of a unit."""
    import torch

    network = model.network
    read = torch.tensor([[*coded.tokens, *answer[:-1]]], device=network.device)
    count = read.shape[1]
    allowed = torch.ones(count, count, dtype=torch.bool, device=network.device).tril()
    if unit is not None:
        cut = torch.tensor([number == unit for number in coded.unit], device=network.device)
        behind = torch.arange(count, device=network.device) > int(cut.nonzero().max())
        allowed[behind.nonzero(), cut.nonzero()[:, 0]] = False
    lowest = torch.finfo(network.dtype).min
    added = torch.zeros(count, count, dtype=network.dtype, device=network.device).masked_fill(~allowed, lowest)
    with torch.no_grad():
        said = network.model(input_ids=read, attention_mask=added[None, None], use_cache=False).logits[0]
    own = said[-len(answer) :].float().log_softmax(dim=-1).gather(1, read.new_tensor(answer)[:, None])
    return float(own.mean().exp())


ATTENTION = KindTrial(
    "attention matters",
    "Does the answer need this attention?",
    "Nothing behind the passage that attention ranks first is allowed to attend to it any more. Where the answer stays "
    "as likely as it was, attention cannot be the reason for it.",
    (
        "Jain and Wallace (2019): Attention is not Explanation. NAACL. arXiv 1902.10186.",
        "Geva et al. (2023): Dissecting Recall of Factual Associations in Auto-Regressive Language Models. EMNLP. "
        "arXiv 2304.14767.",
    ),
    attention_matters,
)
