"""Which passage does an answer come from, and which explanation can tell? Planted facts among plain sentences.

For each case the used passage is known by an edit (see `scenes`). An explanation is measured three ways: how often it
ranks a used passage first; how often the used one stands above its rival (the passage that contradicts it, looks like
it, or says the same); and the chance that a used passage outranks any other (AUROC).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.errors import Unsupported
from trueness.explainers.contract import Explainer
from trueness.kinds.prompt.data.prompts import PromptExamples
from trueness.kinds.prompt.data.rows import cited_in
from trueness.kinds.prompt.data.sentences import bare_examples
from trueness.kinds.prompt.scenes import Scene, SceneName, decided, followed, planted_scene

if TYPE_CHECKING:
    import pandas as pd

    from trueness.stats.undefined import Floats

CITE = "Answer in one short sentence and cite the passage that you use by its number in brackets, such as [2]."
MEASURES = ("first", "above rival", "AUROC")


def planted(
    name: SceneName, cases: int, passages: int, *, sentences: int = 1, alike: bool = True, seed: int = 0
) -> list[Scene]:
    """So many cases of one scene."""
    bare = bare_examples(cases, passages, sentences=sentences, seed=seed)
    return [planted_scene(one, name, row, seed, alike=alike) for row, one in enumerate(bare)]


def measured(
    model: Any, scenes: Sequence[Scene], explainers: Mapping[str, Explainer], *, cite: bool = False
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """One row per decided case and explainer, and facts: how many cases were decided, and where the used ones stand.

    With `cite` the model is asked for citations, too, and those of its own answers are measured.
    """
    import pandas as pd

    from trueness.protocols.randomisation import explained

    known = decided(model, scenes)
    facts: dict[str, Any] = {"cases": len(scenes), "decided": len(known)}
    rows: list[dict[str, Any]] = []
    if known:
        known = _with_rivals(model, known)
        facts["one copy alone"] = sum(one.name == "redundant" and one.rival >= 0 for one in known)
        prompts = PromptExamples([one.prompt for one in known])
        split = model.coded(prompts, units="passages").labelled(np.zeros(len(known), dtype=int))
        for name, explainer in explainers.items():
            try:
                scores, mask = explained(model.network, split, explainer)
            except Unsupported as error:
                facts.setdefault("refused", {})[name] = str(error)
                continue
            rows += _rows(known, name, [each[inside] for each, inside in zip(scores, mask, strict=True)])
        if cite:
            rows += _rows(known, "citations", _cited(model, prompts))
    return pd.DataFrame(rows), facts


def _with_rivals(model: Any, known: Sequence[Scene]) -> list[Scene]:
    """Of two that say the same, the copy that the answer follows alone stands first, where there is one."""
    same = [one for one in known if one.name == "redundant"]
    alone = {one.row: copies for one, copies in zip(same, followed(model, same), strict=True)}
    return [
        replace(one, planted=(*alone[one.row], *rival), rival=rival[0])
        if len(alone.get(one.row, ())) == 1
        and (rival := [place for place in one.planted if place not in alone[one.row]])
        else one
        for one in known
    ]


def _rows(known: Sequence[Scene], name: str, scores: Sequence[Floats]) -> Iterator[dict[str, Any]]:
    for one, values in zip(known, scores, strict=True):
        used = np.zeros(len(values), dtype=bool)
        used[list(one.used)] = True
        top = np.isclose(values, values.max(), rtol=1e-9, atol=0.0)
        above = values[used][:, None] - values[~used][None, :]
        yield {
            "case": one.row,
            "explainer": name,
            "place": one.planted[0] / (len(values) - 1),
            "first": float(top[used].sum() / top.sum()),
            "above rival": _above(one, values),
            "AUROC": float((above > 0).mean() + (above == 0).mean() / 2),
        }


def _above(scene: Scene, values: Floats) -> float:
    """1 where the used passage stands above its rival, 0.5 for equal scores; not a number without a rival."""
    if scene.rival < 0:
        return float("nan")
    apart = values[scene.planted[0]] - values[scene.rival]
    return 0.5 if apart == 0 else float(apart > 0)


def _cited(model: Any, prompts: PromptExamples) -> list[Floats]:
    """What the model cites when it is asked to."""
    asked = PromptExamples(replace(one, answer=None, instruction=CITE) for one in prompts)
    found = []
    for one in model.answered(asked):
        cited = one.citations if one.citations is not None else cited_in(str(one.answer))
        found.append(np.array([float(number in cited) for number in range(len(one.contexts))]))
    return found


def summary(cases: pd.DataFrame, by: Sequence[str] = ("explainer",)) -> pd.DataFrame:
    """Means of each measure with Student's 95 % intervals over cases, and how many cases."""
    import pandas as pd

    from trueness.stats import t_interval
    from trueness.stats.intervals import within
    from trueness.stats.undefined import Undefined

    rows = []
    for key, group in cases.groupby(list(by), sort=False):
        for measure in MEASURES:
            values = group[measure].dropna().to_numpy(dtype=np.float64)
            if not len(values):
                continue
            named = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
            found = within(t_interval(values), 0.0, 1.0)
            ends = [None if isinstance(end, Undefined) else float(end) for end in (found.low, found.high)]
            about = {"value": float(values.mean()), "low": ends[0], "high": ends[1], "n": len(values)}
            rows.append({**named, "measure": measure, **about})
    return pd.DataFrame(rows)
