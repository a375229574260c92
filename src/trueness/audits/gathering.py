"""From what the tasks of an audit left to an `Audit`: measurements of every explainer, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits import notes
from trueness.audits.judging import in_order, judge, no_better
from trueness.audits.measured import Line, Measurements
from trueness.audits.trials import (
    ATTENTION,
    DEPENDS,
    INFORMATIVE,
    MOVED,
    PLANTED,
    REMOVAL,
    REPEATS,
    best_found,
    lines_of,
    no_order,
)
from trueness.audits.verdict import Audit, Curve, ExampleText
from trueness.engine import Stored
from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.protocols.faithfulness import Removal
from trueness.protocols.similarity import flat
from trueness.stats.undefined import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-6
"""Probabilities that differ by less are the same."""
_FEW_MODELS = 3
"""Models with planted evidence below which a warning is due."""


def gather(
    inputs: Mapping[str, list[Stored]],
    explainers: Sequence[str],
    foils: Sequence[str],
    levels: Sequence[float],
    missing_planted: str,
    *,
    planted_required: bool,
    about: Mapping[str, str],
) -> Audit:
    """One model's audit."""
    explainers, foils = list(map(str, explainers)), list(map(str, foils))
    (texts,) = inputs["texts"]
    told = texts.read("about")
    said = dict(zip(explainers, inputs["explained"], strict=True))
    refused = {name: one.read("refused")["reason"] for name, one in said.items() if one.holds("refused")}
    asked = [name for name in explainers if name not in refused]
    at = {name: number for number, name in enumerate(explainers)}
    removed = {name: Removal(**inputs["removed"][at[name]].read("removal")) for name in asked}
    detection, planted_notes = _detection(inputs["trials"], asked)
    constant = _constant(texts, removed)
    learned, companion_notes = notes.companion(inputs["companion"])
    found = {
        name: Measurements(
            cost=removed[name].cost,
            soft_cost=removed[name].soft_cost,
            **_changes(inputs["randomised"][at[name]]),
            stranger=_stranger(inputs["stranger"], at[name]),
            ceiling=said[name].read("repeats")["ceiling"],
            alone=said[name].read("repeats")["alone"],
            edited=said[name].read("repeats")["edited"],
            flat=np.zeros(0, dtype=bool) if constant else _flat(said[name]),
            random=TEXT_EXPLAINERS[name].facts.random,
            detection=detection.get(name),
            need=_of(inputs["attention"][at[name]], "need"),
            **(_companion(inputs["companion"], at[name], asked, at) if learned else {}),
            notes={
                DEPENDS: notes.layers(inputs["randomised"][at[name]]),
                REPEATS: notes.alike_twin(inputs["twin"], at[name]),
                PLANTED: planted_notes,
                REMOVAL: (
                    *companion_notes,
                    *notes.softly_hidden(removed, name),
                    *notes.between_bounds(inputs["bounded"], name),
                    *notes.retrained(inputs["retrained"], name, asked=name not in foils),
                ),
                ATTENTION: notes.attention(inputs["attention"][at[name]]),
                INFORMATIVE: notes.agreement(name, said, asked, foils),
            },
        )
        for name in asked
    }
    if inputs["trials"] and not detection:
        missing_planted = "no model of this architecture learned to use the planted evidence: give more texts"
    lines = lines_of(
        found,
        foils,
        missing_planted=missing_planted,
        planted_required=planted_required,
        trained=len(inputs["trials"]),
    )
    impossible = dict.fromkeys(
        f"{line.trial}: {line.missing}"
        for some in lines.values()
        for line in some
        if line.missing and not line.required
    )
    if constant:  # whatever is measured of such a model is rounding
        lines = {name: [_silent(line, constant) for line in some] for name, some in lines.items()}
    judged, ties = in_order(judge(lines, foils, told["rows"]), found)
    return Audit(
        **about,
        classes=tuple(told["classes"]),
        texts=max(len(one.cost) for one in found.values()) if found else 0,
        accuracy=told["accuracy"],
        explainers=tuple(judged),
        ties=tuple(ties),
        left_out=tuple(
            [f"{name}: {reason}" for name, reason in refused.items()]
            + ([f"{PLANTED}: {missing_planted}"] if not detection and planted_required else [])
            + list(impossible)
            + ([] if learned else [companion_notes[0].rstrip(".")])
        ),
        warnings=(
            *([constant] if constant else []),
            *told["warnings"],
            *(f"{name} {why}" for name, one in found.items() if name not in foils and (why := no_order(one))),
            *(f"{name}: {why.rstrip('.')}" for name in asked for why in said[name].read("told")["warnings"]),
            *_no_better(texts, told["accuracy"]),
            *([] if constant else _warnings(judged, found, len(inputs["trials"]))),
        ),
        notes=tuple(told["notes"]),
        curves=tuple(curve_of(name, one, levels) for name, one in removed.items()),
        examples=tuple(ExampleText(**one) for one in inputs["examples"][0].read("examples")),
    )


def texts_beside(stored: Stored) -> dict[str, pd.DataFrame]:
    """Of the audits of a study: every text with every method's scores, as `strips`."""
    import pandas as pd

    parts = []
    for key in stored.meta["inputs"]["audits"]:
        audit = stored.store.get(key)
        for one in audit.meta["inputs"].get("examples", ()):  # an audit of images has none
            examples = stored.store.get(one)
            if examples.holds("strips"):  # older audits kept none
                about = audit.read("audit")
                parts.append(examples.read("strips").assign(dataset=about["data"], model=about["model"]))
    some = [part for part in parts if len(part)]
    return {"strips": pd.concat(some, ignore_index=True)} if some else {}


def _of(stored: Stored, name: str) -> dict[str, Any]:
    return dict(stored.read(name)) if stored.holds(name) else {}


def _flat(stored: Stored) -> Bools:
    kept = stored.read("scores")
    return flat(kept["scores"].astype(np.float64), kept["mask"])


def _changes(stored: Stored) -> dict[str, Any]:
    """(draws, texts) by how much all weights at once change the explanation, of one draw (texts,); and the output."""
    if not stored.holds("records"):
        return {"change": np.zeros(0), "moved": 0.0}
    table = stored.read("records")
    rows = table[(table["order"] == "all at once") & (table["smooth"] == 0)]
    fall = rows.assign(fall=rows["ceiling"] - rows["similarity"]).pivot(index="seed", columns="instance", values="fall")
    change = fall.to_numpy(dtype=np.float64)
    return {"change": change if len(change) > 1 else change[0], "moved": float(rows["output change"].mean())}


def _stranger(stored: Sequence[Stored], place: int) -> Floats | None:
    """(texts,) by how much random labels change the explanation; None where the model's output hardly differs."""
    if not stored or not stored[place].holds("compared"):
        return None
    found = stored[place].read("compared")
    change: Floats = found["ceiling"] - found["similarity"]
    return change if float(found["moved"].mean()) >= MOVED else None


def _detection(trials: Sequence[Stored], asked: Sequence[str]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """(models, texts) AUROC of each method, of models that used the evidence."""
    tables = [stored.read("records") for stored in trials if stored.holds("records")]
    accuracies = [stored.read("facts")["accuracy"] for stored in trials]
    shown = ", ".join(f"{value:.2f}" for value in accuracies)
    told = (f"{len(tables)} of {len(trials)} models had to use the planted evidence (accuracy {shown}).",)
    found = {}
    for name in asked:
        rows = [
            table[table["method"] == name].sort_values("instance")["AUROC"].to_numpy(dtype=np.float64)
            for table in tables
            if (table["method"] == name).any()
        ]
        if rows:
            found[name] = np.stack(rows)
    return found, told if trials else ()


def _companion(stored: Sequence[Stored], place: int, asked: Sequence[str], at: Mapping[str, int]) -> dict[str, Any]:
    if not stored or not stored[place].holds("removal"):
        return {}
    costs = [stored[at[name]].read("removal")["cost"] for name in asked if stored[at[name]].holds("removal")]
    own = stored[place].read("removal")["cost"]
    return {"companion": own, "companion_best": best_found(costs)[: len(own)]}


def _silent(line: Line, reason: str) -> Line:
    return replace(line, models=0, checks=[replace(check, found=None, reason=reason) for check in line.checks])


def _constant(texts: Stored, removed: Mapping[str, Removal]) -> str:
    """What is to be said of a model whose output is the same for all texts, whatever is hidden; nothing of others."""
    spread = float(np.ptp(texts.read("said")["probability"], axis=0).max())
    falls = [abs(one.whole[:, None] - left) for one in removed.values() for left in (one.important, one.unimportant)]
    if max([spread, *(float(fall.max(initial=0)) for fall in falls)]) > ROUNDING:
        return ""
    return "the model says the same of every text, with and without hidden words, so that there is nothing to explain"


def _no_better(texts: Stored, accuracy: float | None) -> list[str]:
    if accuracy is None:
        return []
    table = texts.read("texts")
    labels = table["label"][table["judged"] & (table["label"] >= 0)]
    return no_better(accuracy, labels.to_numpy())


def _warnings(judged: Sequence[Any], found: Mapping[str, Measurements], models: int) -> list[str]:
    told = []
    # What others have to beat cannot beat itself: of a foil that sees no model, all trials but that one count.
    shown = [
        one.explainer
        for one in judged
        if one.foil
        and not one.explainer.startswith("blurred")
        and all(trial.answer == "pass" for trial in one.trials if trial.required and trial.name != INFORMATIVE)
    ]
    if shown:
        told.append(
            f"{', '.join(shown)}, which sees no model, passed every required trial but “{INFORMATIVE}”: on these texts "
            "what passed the others may know as little"
        )
    if 0 < models < _FEW_MODELS:
        told.append(f"evidence was planted for {models} models: with fewer than {_FEW_MODELS} its interval is wide")
    costs = {one.explainer: float(found[one.explainer].cost.mean()) for one in judged if one.explainer in found}
    best = max(costs, key=costs.__getitem__, default="")
    if any(one.foil and one.explainer == best for one in judged):
        told.append(f"the foil {best} costs most when hidden: no method of this audit ranks words better than it")
    return told


def curve_of(name: str, found: Removal, levels: Sequence[float]) -> Curve:
    """What is left of the probability as more is hidden."""
    whole = float(found.whole.mean())
    return Curve(
        explainer=name,
        hidden=(0.0, *map(float, levels)),
        important_first=(whole, *map(float, found.important.mean(axis=0))),
        unimportant_first=(whole, *map(float, found.unimportant.mean(axis=0))),
    )
