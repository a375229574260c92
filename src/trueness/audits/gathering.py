"""From what the tasks of an audit left to an `Audit`: measurements of every explainer, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits.judging import in_order, judge, no_better
from trueness.audits.trials import (
    ALIKE,
    ATTENTION,
    COST,
    DEPENDS,
    INFORMATIVE,
    MOVED,
    PLANTED,
    REMOVAL,
    REPEATS,
    Measurements,
    best_found,
    lines_of,
)
from trueness.audits.verdict import Audit, Curve, ExampleText
from trueness.engine import Stored
from trueness.explainers import TEXT_EXPLAINERS
from trueness.protocols.faithfulness import Removal
from trueness.protocols.result import Result
from trueness.protocols.roar.curves import FAITHFULNESS
from trueness.protocols.similarity import similarity
from trueness.stats.marks import ratio_against
from trueness.stats.undefined import Floats

if TYPE_CHECKING:
    import pandas as pd

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
    found = {
        name: Measurements(
            cost=removed[name].cost,
            soft_cost=removed[name].soft_cost,
            **_changes(inputs["randomised"][at[name]]),
            stranger=_stranger(inputs["stranger"], at[name]),
            ceiling=said[name].read("repeats")["ceiling"],
            alone=said[name].read("repeats")["alone"],
            edited=said[name].read("repeats")["edited"],
            random=TEXT_EXPLAINERS[name].facts.random,
            detection=detection.get(name),
            need=_of(inputs["attention"][at[name]], "need"),
            **_companion(inputs["companion"], at[name], asked, at),
            notes={
                DEPENDS: _layer_notes(inputs["randomised"][at[name]]),
                REPEATS: _twin(inputs["twin"], at[name]),
                PLANTED: planted_notes,
                REMOVAL: (
                    *_soft(removed, name),
                    *_bounds(inputs["bounded"], name),
                    *_retrained(inputs["retrained"], name, asked=name not in foils),
                ),
                ATTENTION: _attention_notes(inputs["attention"][at[name]]),
                INFORMATIVE: _agreement(name, said, asked, foils),
            },
        )
        for name in asked
    }
    if inputs["trials"] and not detection:
        missing_planted = "no model of this architecture learned to use the planted evidence: give more texts"
    lines = lines_of(found, foils, missing_planted=missing_planted, planted_required=planted_required)
    judged, ties = in_order(judge(lines, foils), found)
    return Audit(
        **about,
        classes=tuple(told["classes"]),
        texts=max(len(one.cost) for one in found.values()) if found else 0,
        accuracy=told["accuracy"],
        explainers=tuple(judged),
        ties=tuple(ties),
        left_out=tuple(
            [f"{name}: {reason}" for name, reason in refused.items()]
            + ([f"{PLANTED}: {missing_planted}"] if not detection else [])
        ),
        warnings=(*_no_better(texts, told["accuracy"]), *_warnings(judged, found, len(inputs["trials"]))),
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


def _changes(stored: Stored) -> dict[str, Any]:
    """(texts,) by how much all weights at once change the explanation, mean over sets; and the model's output."""
    if not stored.holds("records"):
        return {"change": np.zeros(0), "moved": 0.0}
    table = stored.read("records")
    rows = table[(table["order"] == "all at once") & (table["smooth"] == 0)]
    change = (rows["ceiling"] - rows["similarity"]).groupby(rows["instance"]).mean()
    return {"change": change.to_numpy(dtype=np.float64), "moved": float(rows["output change"].mean())}


def _stranger(stored: Sequence[Stored], place: int) -> Floats | None:
    """(texts,) by how much random labels change the explanation; None where the model's output hardly differs."""
    if not stored or not stored[place].holds("compared"):
        return None
    found = stored[place].read("compared")
    change: Floats = found["ceiling"] - found["similarity"]
    return change if float(found["moved"].mean()) >= MOVED else None


def _twin(stored: Sequence[Stored], place: int) -> tuple[str, ...]:
    """How alike explanations of two models are that say the same; none of them need be wrong where they differ."""
    if not stored or not stored[place].holds("compared"):
        return ()
    found = stored[place].read("compared")
    same = found["same"]
    alike = ratio_against(found["similarity"][same], found["ceiling"][same], ALIKE)
    if alike is None:
        return ()
    ends = f"{alike.value:.2f} ({alike.low:.2f} to {alike.high:.2f})"
    return (
        f"Correlation with the explanation of a model trained from another seed to say the same, on {alike.n} texts "
        f"where it does: {ends} of that under another draw. It is no mark: such a model may have other reasons.",
    )


def _retrained(stored: Sequence[Stored], name: str, *, asked: bool) -> tuple[str, ...]:
    """Recursive ROAR: what is lost when models are trained again without the words; foils are not asked."""
    if not stored or not asked:
        return ()
    result = Result.from_payloads(stored[0].everything())
    for score in result.scores:
        if score.quantity == FAITHFULNESS["recursive"] and score.method == name:
            wide = "" if score.low is None or score.high is None else f" ({score.low:.2f} to {score.high:.2f})"
            ends = f"{score.value:.2f}{wide}"
            return (
                f"Trained again without the words called important (Recursive ROAR, {score.n} seeds), more is lost "
                f"than without random ones by {ends} of what random ones cost. It is no mark: seeds are few.",
            )
    why = next((one.reason for one in result.abstentions), "nothing could be told")
    return (f"Trained again without the words called important (Recursive ROAR): {why.rstrip('.')}.",)


def _layer_notes(stored: Stored) -> tuple[str, ...]:
    """What layers, smoothing and complexity show; the verdict rests on all weights at once."""
    if not stored.holds("records"):
        return ()
    table = stored.read("records")
    notes = []
    for order in ("top-down", "bottom-up"):
        rows = table[table["order"] == order]
        if len(rows):
            by_step = rows.groupby("step")["similarity"].mean()
            shown = ", ".join(f"{value:.2f}" for value in by_step)
            notes.append(f"Layers randomised {order}, one more each time: correlation with itself {shown}.")
    smooth = table[(table["order"] == "all at once") & (table["smooth"] > 0)]
    if len(smooth):
        draws = int(smooth["smooth"].iloc[0])
        notes.append(f"Averaged over {draws} draws of noise, all weights at once: {smooth['similarity'].mean():.2f}.")
    rise = table[(table["order"] == "all at once") & (table["smooth"] == 0)]["complexity rise"].dropna()
    if len(rise):
        notes.append(f"The explanation's entropy changes by {rise.mean():+.0%} when all weights are random.")
    return tuple(notes)


def _detection(trials: Sequence[Stored], asked: Sequence[str]) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """(models, texts) AUROC of each method, of models that used the evidence."""
    tables = [stored.read("records") for stored in trials if stored.holds("records")]
    accuracies = [stored.read("facts")["accuracy"] for stored in trials]
    shown = ", ".join(f"{value:.2f}" for value in accuracies)
    notes = (f"{len(tables)} of {len(trials)} models had to use the planted evidence (accuracy {shown}).",)
    found = {}
    for name in asked:
        rows = [
            table[table["method"] == name].sort_values("instance")["AUROC"].to_numpy(dtype=np.float64)
            for table in tables
            if (table["method"] == name).any()
        ]
        if rows:
            found[name] = np.stack(rows)
    return found, notes if trials else ()


def _companion(stored: Sequence[Stored], place: int, asked: Sequence[str], at: Mapping[str, int]) -> dict[str, Any]:
    if not stored or not stored[place].holds("removal"):
        return {}
    costs = [stored[at[name]].read("removal")["cost"] for name in asked if stored[at[name]].holds("removal")]
    own = stored[place].read("removal")["cost"]
    return {"companion": own, "companion_best": best_found(costs)[: len(own)]}


def _soft(removed: Mapping[str, Removal], name: str) -> tuple[str, ...]:
    found = ratio_against(
        removed[name].soft_cost,
        best_found([one.soft_cost for one in removed.values()])[: len(removed[name].cost)],
        COST,
    )
    if found is None:
        return ()
    ends = f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
    return (f"Words hidden at random, the more often the higher their score: {ends} of the best found.",)


def _bounds(stored: Sequence[Stored], name: str) -> tuple[str, ...]:
    if not stored:
        return ()
    about, values = stored[0].read("about"), stored[0].read("bounded")
    if name not in about["explainers"]:
        return ()
    inside = values[str(about["explainers"].index(name))]
    inside = inside[np.isfinite(inside)]
    if not len(inside):
        return ()
    how = f"{about['exact']} of them searched completely, the others by a beam"
    ends = f"the worst (0) and the best order (1) of {len(inside)} short texts"
    return (f"Comprehensiveness lies at {inside.mean():.2f} between {ends}, {how}.",)


def _attention_notes(stored: Stored) -> tuple[str, ...]:
    notes = []
    if stored.holds("layers"):
        shown = ", ".join(
            f"{float(np.mean(values)):.2f}"
            for _, values in sorted(stored.read("layers").items(), key=lambda item: int(item[0].split("_")[1]))
        )
        notes.append(f"The output changes when one layer's attention is made uniform by (first to last layer) {shown}.")
    if stored.holds("about") and not stored.read("about")["exact"]:
        notes.append(
            "With more than two classes the other attention is one that was found; there may be stronger ones."
        )
    return tuple(notes)


def _agreement(name: str, said: Mapping[str, Stored], asked: Sequence[str], foils: Sequence[str]) -> tuple[str, ...]:
    """How alike it is to the other methods: agreement is not validity."""
    own = said[name].read("scores")
    alike = {}
    for other in asked:
        if other == name or other in foils:
            continue
        beside = said[other].read("scores")
        part = tuple(slice(min(sizes)) for sizes in zip(own["mask"].shape, beside["mask"].shape, strict=True))
        both = [np.abs(one["scores"][part].astype(np.float64)) for one in (own, beside)]
        alike[other] = float(np.nanmean(similarity(both[0], both[1], own["mask"][part])))
    if not alike:
        return ()
    most, least = max(alike, key=alike.__getitem__), min(alike, key=alike.__getitem__)
    return (
        f"Its magnitudes correlate with those of {most} by {alike[most]:.2f} and with those of {least} by "
        f"{alike[least]:.2f}. Methods that agree may both be wrong.",
    )


def _no_better(texts: Stored, accuracy: float | None) -> list[str]:
    if accuracy is None:
        return []
    table = texts.read("texts")
    labels = table["label"][table["judged"] & (table["label"] >= 0)]
    return no_better(accuracy, labels.to_numpy())


def _warnings(judged: Sequence[Any], found: Mapping[str, Measurements], models: int) -> list[str]:
    notes = []
    # What others have to beat cannot beat itself: of a foil that sees no model, all trials but that one count.
    shown = [
        one.explainer
        for one in judged
        if one.foil
        and not one.explainer.startswith("blurred")
        and all(trial.answer == "pass" for trial in one.trials if trial.required and trial.name != INFORMATIVE)
    ]
    if shown:
        notes.append(
            f"{', '.join(shown)} passed every trial it could: this audit tells nothing apart, trust no verdict of it"
        )
    if 0 < models < _FEW_MODELS:
        notes.append(f"evidence was planted for {models} models: with fewer than {_FEW_MODELS} its interval is wide")
    costs = {one.explainer: float(found[one.explainer].cost.mean()) for one in judged if one.explainer in found}
    best = max(costs, key=costs.__getitem__, default="")
    if any(one.foil and one.explainer == best for one in judged):
        notes.append(f"the foil {best} costs most when hidden: no method of this audit ranks words better than it")
    return notes


def curve_of(name: str, found: Removal, levels: Sequence[float]) -> Curve:
    """What is left of the probability as more is hidden."""
    whole = float(found.whole.mean())
    return Curve(
        explainer=name,
        hidden=(0.0, *map(float, levels)),
        important_first=(whole, *map(float, found.important.mean(axis=0))),
        unimportant_first=(whole, *map(float, found.unimportant.mean(axis=0))),
    )
