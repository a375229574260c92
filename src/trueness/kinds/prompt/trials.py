"""Trials that only models of prompts have: is the used passage found, are cited passages used?"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness.explainers.contract import Explainer
from trueness.kinds.contract import Finding, KindTrial
from trueness.kinds.prompt.data.prompts import PromptExamples
from trueness.kinds.prompt.scenes import Scene, SceneName, decided, followed, scenes_of
from trueness.stats.undefined import Floats

FOUND = 0.75
"""Of the used passage: above three of four others; in a conflict at the top in three of four scenes."""
LOST = 0.25
"""By how much more dropping the cited passages lowers the probability of the answer than dropping as many others."""
TRIED: tuple[SceneName, ...] = ("unique", "conflict", "redundant")
_MEASURES = {
    "unique": "chance that the one passage with the planted fact outranks another one (AUROC)",
    "conflict": "share of the scenes in which, of two passages that contradict one another and one that repeats their "
    "values, the used one is at the top",
    "redundant": "chance that a passage with the planted fact, which two have, outranks one without it (AUROC)",
}
_NULL = {"unique": 0.5, "conflict": 1 / 3, "redundant": 0.5}
_DECIDED: weakref.WeakKeyDictionary[Any, dict[Any, list[Scene]]] = weakref.WeakKeyDictionary()
"""Of each network the scenes that are decided: every explainer is asked about the same ones."""


def finds_used(model: Any, examples: PromptExamples, explainer: Explainer) -> tuple[Sequence[Finding], Sequence[str]]:
    """In each scene, how well the passage is found that the answer comes from; nothing for label words."""
    if model.labels or not any(one.contexts for one in examples):
        return (), ()
    findings, notes = [], []
    for name in TRIED:
        planted = scenes_of(examples, name)
        scenes = _decided(model, examples, name)
        values = np.full(len(examples), np.nan)
        if scenes:
            values[[one.row for one in scenes]] = found_in(model, scenes, explainer)
        findings.append(Finding(name, _MEASURES[name], values, FOUND, null=_NULL[name]))
        notes.append(f"{name}: in {len(scenes)} of {len(planted)} scenes the answer followed the planted value.")
    scenes = _decided(model, examples, "redundant")
    if scenes:
        alone = sum(len(copies) == 1 for copies in followed(model, scenes))
        notes.append(f"redundant: in {alone} of {len(scenes)} scenes the answer followed one copy alone.")
    return findings, notes


def found_in(model: Any, scenes: Sequence[Scene], explainer: Explainer) -> Floats:
    """(scenes,) From 0 to 1: where the used passages rank by an explainer, among those that can be confused with them.

    In a conflict 1 for the used one at the top, shared with what has the same score; else the AUROC among all passages.
    """
    from trueness.protocols.randomisation import explained

    split = model.coded(PromptExamples([one.prompt for one in scenes]), units="passages")
    scores, mask = explained(model.network, split.labelled(np.zeros(len(scenes), dtype=int)), explainer)
    return np.array([_rank(one, each[inside]) for one, each, inside in zip(scenes, scores, mask, strict=True)])


def _rank(scene: Scene, scores: Floats) -> float:
    if scene.name == "conflict":
        among = np.array([*scene.planted, *([scene.alike] if scene.alike >= 0 else [])])
        top = np.isclose(scores[among], scores[among].max(), rtol=1e-9, atol=0.0)
        return float(top[0] / top.sum())
    used = np.zeros(len(scores), dtype=bool)
    used[list(scene.planted)] = True
    above = scores[used][:, None] - scores[~used][None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def _decided(model: Any, examples: PromptExamples, name: SceneName) -> list[Scene]:
    known = _DECIDED.setdefault(model.network, {})
    key = (name, tuple((one.question, one.contexts) for one in examples))
    if key not in known:
        known[key] = decided(model, scenes_of(examples, name))
    return known[key]


def cited_are_used(
    model: Any, examples: PromptExamples, explainer: Explainer
) -> tuple[Sequence[Finding], Sequence[str]]:
    """Of what an answer cites: whether the answer falls more without it than without as many others."""
    from trueness.kinds.prompt.explainers.citations import Citations

    if not isinstance(explainer, Citations):
        return (), ()
    split = model.coded(examples, units="passages").labelled(np.zeros(len(examples), dtype=int))
    values, told = np.full(len(examples), np.nan), {"none": 0, "all": 0}
    for row, one in enumerate(examples):
        cited = set(one.citations or ())
        others = [number for number in range(len(one.contexts)) if number not in cited]
        if not cited or not others:
            told["all" if cited else "none"] += 1
            continue
        rng = np.random.default_rng([row, *b"uncited"])
        as_many = rng.choice(others, min(len(cited), len(others)), replace=False).tolist()
        lost = [_left(model, split, row, gone) for gone in (sorted(cited), as_many)]
        values[row] = np.clip(lost[1] - lost[0], 0.0, 1.0)
    measure = "how much less probable the answer is without the cited passages than without as many others"
    notes = [
        f"{told['none']} of {len(examples)} answers cite no passage, {told['all']} cite all: neither can be tried.",
        "Two looks at each answer; passages that are neither cited nor dropped stay.",
    ]
    return [Finding("dropped", measure, values, LOST)], notes


def _left(model: Any, split: Any, row: int, gone: Sequence[int]) -> float:
    """The probability of the answer without some passages."""
    import torch

    from trueness.models.network import inspecting

    batch = split.batch([row])
    where = torch.zeros_like(batch.mask)
    where[0, list(gone)] = True
    with inspecting(model.network):
        return float(model.network.logits(batch.hide(where)).double().softmax(dim=-1)[0, 0])


USED = KindTrial(
    "finds the used passage",
    "Does it find the passage that the answer comes from?",
    "Facts are planted into your own passages: in one of them, in two that contradict one another, in two that say the "
    "same. Which passage the answer comes from is known by an edit: its value is changed, and the answer follows. "
    "Where it does not, the scene is left out. No model judges.",
    (
        "Zhou et al. (2022): Do Feature Attribution Methods Correctly Attribute Features? AAAI. arXiv 2104.14403.",
        "Cohen-Wang et al. (2024): ContextCite: Attributing Model Generation to Context. NeurIPS. arXiv 2409.00729.",
    ),
    finds_used,
)
CITED = KindTrial(
    "cited passages are used",
    "Does the answer need what it cites?",
    "The passages that an answer cites are taken away, then as many that it does not cite. An answer that comes from "
    "what it cites changes more without it.",
    ("DeYoung et al. (2020): ERASER: A Benchmark to Evaluate Rationalized NLP Models. ACL. arXiv 1911.03429.",),
    cited_are_used,
)
TRIALS = (USED, CITED)
