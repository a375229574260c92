"""Trials that only models of prompts have: is the used passage found, are cited passages used?"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness.explainers.contract import Explainer
from trueness.kinds.contract import Finding, KindTrial
from trueness.kinds.prompt.attention_trial import ATTENTION
from trueness.kinds.prompt.data.prompts import PromptExamples
from trueness.kinds.prompt.data.rows import cited_in
from trueness.kinds.prompt.scenes import Scene, SceneName, decided, followed, scenes_of
from trueness.stats.undefined import Floats

FOUND = 0.75
"""Of the scenes: those in which the passage that it ranks first is one that the answer comes from."""
LOST = 0.25
"""By how much more dropping the cited passages lowers the probability of the answer than dropping as many others."""
TRIED: tuple[SceneName, ...] = ("unique", "conflict", "redundant")
_WHERE = {
    "unique": "one passage has the planted fact",
    "conflict": "two passages contradict one another, and a third has their values of other things",
    "redundant": "two passages have the same fact, and either will do",
}
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
        measure = f"share of the scenes in which it ranks a passage first that the answer comes from: {_WHERE[name]}"
        chance = [len(one.used) / len(one.prompt.contexts) for one in planted]
        findings.append(Finding(name, measure, values, FOUND, null=float(np.mean(chance)) if chance else 0.0))
        notes.append(f"{name}: in {len(scenes)} of {len(planted)} scenes the answer followed the planted value.")
    scenes = _decided(model, examples, "redundant")
    if scenes:
        alone = sum(len(copies) == 1 for copies in followed(model, scenes))
        notes.append(f"redundant: in {alone} of {len(scenes)} scenes the answer followed one copy alone.")
    return findings, notes


def found_in(model: Any, scenes: Sequence[Scene], explainer: Explainer) -> Floats:
    """(scenes,) 1 where a used passage has the highest score, 0 where another one has; those of one score share it."""
    from trueness.kinds.prompt.explainers.told import Citations
    from trueness.protocols.randomisation import explained

    prompts = PromptExamples([one.prompt for one in scenes])
    if isinstance(explainer, Citations):
        prompts = _with_citations(model, prompts)
    split = model.coded(prompts, units="passages")
    scores, mask = explained(model.network, split.labelled(np.zeros(len(scenes), dtype=int)), explainer)
    return np.array([_first(one, each[inside]) for one, each, inside in zip(scenes, scores, mask, strict=True)])


def _with_citations(model: Any, prompts: PromptExamples) -> PromptExamples:
    """The same with what the model cites when it answers these questions itself."""
    own = model.answered(PromptExamples(replace(one, answer=None) for one in prompts))
    cited = [one.citations if one.citations is not None else cited_in(str(one.answer)) for one in own]
    there = [tuple(n for n in some if n < len(one.contexts)) for some, one in zip(cited, prompts, strict=True)]
    return PromptExamples(replace(one, citations=some) for one, some in zip(prompts, there, strict=True))


def _first(scene: Scene, scores: Floats) -> float:
    top = np.isclose(scores, scores.max(), rtol=1e-9, atol=0.0)
    return float(top[list(scene.used)].sum() / top.sum())


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
    from trueness.kinds.prompt.explainers.told import Citations

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
TRIALS = (USED, CITED, ATTENTION)
