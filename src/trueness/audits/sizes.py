"""How much of everything an audit does: chosen from measured costs and the time there is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.boundary import quoted, short
from trueness.errors import UserError
from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.protocols.levels import LEVELS

SHORTEST = 20.0
"""Seconds below which no audit ends, whatever the model: Python and the libraries have to be loaded."""
LONGEST = 366 * 86_400
_SPARE = 0.93
"""Of the budget is planned for."""
_STARTING = 8.0
"""Seconds until the workers can begin."""
_EACH = 0.15
"""Seconds that a task takes beside its work."""
_EPOCHS = 6
"""In which a model usually learns planted evidence."""
_EPOCHS_MASKED = 3
ENOUGH = 300
"""Texts below which no model learns what the audited one does."""
RETRAINED = (0.25, 0.5, 0.75)
"""Shares of words that are hidden before a model is trained again."""
_SLOW = 0.25
"""Of all explaining: a method that would take a larger share is asked about fewer texts."""
_PATIENCE = 20.0
"""Seconds of work that all texts may take a method, whatever its share."""

_RICH = {"some": 100, "single": 30, "draws": 5, "found": 100, "levels": list(LEVELS), "slow": 60}
_POOR = {"some": 36, "single": 30, "draws": 4, "found": 30, "levels": [0.2, 0.5], "slow": 30}
_NOTHING = {"companion": 0, "relatives": 0, "retrained": 0, "layerwise": 0, "smooth": 0, "bounded": 0}
_MORE = {**_RICH, "relatives": 60, "retrained": 0}
_MOST = {"texts": 500, "seeds": 5, "pool": 1500, "companion": 150, "layerwise": 20, "smooth": 3, "bounded": 10}
RUNGS: tuple[dict[str, Any], ...] = (
    {**_MORE, **_MOST, "retrained": 3},
    {**_MORE, **_MOST},
    {**_MORE, "texts": 300, "seeds": 4, "pool": 1000, "companion": 100, "layerwise": 10, "smooth": 3, "bounded": 10},
    {**_MORE, "texts": 300, "seeds": 4, "pool": 1000, "companion": 100, "layerwise": 10, "smooth": 3, "bounded": 0},
    {**_MORE, "texts": 250, "seeds": 4, "pool": 800, "companion": 100, "layerwise": 10, "smooth": 0, "bounded": 0},
    {**_RICH, **_NOTHING, "texts": 200, "seeds": 3, "pool": 700, "companion": 80, "layerwise": 5},
    {**_RICH, **_NOTHING, "texts": 200, "seeds": 3, "pool": 700},
    {**_RICH, **_NOTHING, "texts": 150, "seeds": 3, "pool": 600, "some": 60, "found": 60},
    {**_POOR, **_NOTHING, "texts": 150, "seeds": 3, "pool": 500, "some": 60},
    {**_POOR, **_NOTHING, "texts": 100, "seeds": 3, "pool": 400},
    {**_POOR, **_NOTHING, "texts": 60, "seeds": 3, "pool": 300},
    {**_POOR, **_NOTHING, "texts": 150, "seeds": 1, "pool": 0},
    {**_POOR, **_NOTHING, "texts": 60, "seeds": 1, "pool": 0},
    {**_POOR, **_NOTHING, "texts": 30, "seeds": 1, "pool": 0},
)
"""From all that is worth doing to the least that can decide anything; without a budget the third."""
USUAL = 2


@dataclass(frozen=True)
class Sizes:
    """What an audit will do."""

    settings: Mapping[str, Any]
    """Of the study."""
    seconds: float
    """Estimated."""
    left_out: tuple[str, ...]


def parse_budget(text: str | float) -> float:
    """Seconds: 90, 90s, 10m, 1.5h."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|sec|m|min|h)?\s*", str(text))
    if match is None:
        raise UserError(f"The budget {quoted(text)} is no length of time; write 90s, 10m or 1.5h.")
    seconds = float(match[1]) * {"m": 60, "min": 60, "h": 3600}.get(match[2] or "s", 1)
    if seconds < SHORTEST:
        raise UserError(f"A budget of {seconds:g} s is too small: no audit takes less than {SHORTEST:g} s.")
    if seconds > LONGEST:
        raise UserError(f"A budget of {short(text)} is longer than a year; leave the budget out.")
    return seconds


def settings_of(rung: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The study's settings on a rung, with so many texts at hand."""
    texts = min(rung["texts"], rows)
    some = max(30, min(rung["some"], texts))
    kept = ("single", "draws", "levels", "seeds", "layerwise", "smooth", "bounded", "retrained")
    return {
        **{name: rung[name] for name in kept},
        "texts": texts,
        "pool": min(rung["pool"], rows),
        "again": some,
        "edits": some,
        "randomised": min(some, 50),
        "found": max(30, min(rung["found"], int(0.15 * min(rung["pool"], rows)))),
        "companion": min(rung["companion"], texts) if rows >= ENOUGH else 0,
        "relatives": min(rung["relatives"], some) if rows >= ENOUGH else 0,
    }


def parts(settings: Mapping[str, Any], costs: Mapping[str, Any], *, trains: bool) -> dict[str, float]:
    """Seconds of work, on one worker, by what they are for."""
    look, found = costs["look"], {"explaining": 0.0, "random weights": 0.0, "hiding words": 0.0, "training": 0.0}
    found |= {"planted evidence": 0.0, "relatives": 0.0, "retraining": 0.0, "other": costs["open"]}
    levels = len(settings["levels"])
    hidden = 1 + 2 * levels + 8
    seeds = settings["seeds"] if isinstance(settings["seeds"], int) else len(settings["seeds"])
    models = seeds if trains and settings["pool"] >= 100 else 0
    for name, each in costs["explainers"].items():
        random = TEXT_EXPLAINERS[name].facts.random
        texts = min(settings["texts"], settings.get("fewer", {}).get(name, settings["texts"]))
        repeated = min(settings["again"], texts) * random + min(settings["edits"], texts) + settings["single"]
        found["explaining"] += each * (texts + repeated)
        layers = 2 * costs["layers"] + 2 * settings["smooth"]
        shaken = min(settings["randomised"], texts) * settings["draws"] + settings["layerwise"] * layers
        found["random weights"] += each * shaken if costs["layers"] else 0.0
        found["hiding words"] += look * texts * hidden
        found["planted evidence"] += models * each * settings["found"]
        if models:
            found["relatives"] += min(settings["companion"], texts) * (each + look * (1 + 2 * levels))
            found["relatives"] += 2 * min(settings["relatives"], texts) * each
            found["retraining"] += settings["retrained"] * len(RETRAINED) * settings["pool"] * each
        found["other"] += 5 * _EACH
    if settings["bounded"]:
        found["hiding words"] += settings["bounded"] * look * 1500
    learned = 0.7 * settings["pool"] * costs["learn"]
    found["training"] += models * learned * _EPOCHS
    if models:
        trained = bool(settings["companion"]) + 2 * bool(settings["relatives"])
        again = 2 + len(RETRAINED) * len(costs["explainers"])
        found["training"] += learned * _EPOCHS_MASKED * trained
        found["retraining"] += learned * _EPOCHS_MASKED * again * settings["retrained"]
    return found


def estimate(settings: Mapping[str, Any], costs: Mapping[str, Any], workers: int, *, trains: bool) -> float:
    """Seconds until such an audit ends."""
    work = sum(parts(settings, costs, trains=trains).values())
    # The last tasks leave workers idle, and models are trained one by one.
    return _STARTING + float(costs["open"]) + 1.15 * work / workers


def choose(
    costs: Mapping[str, Any], rows: int, workers: int, *, trains: bool, budget: float | None, asked: Mapping[str, Any]
) -> Sizes:
    """The most that fits into the budget; without one, what is usual. `asked` are sizes that were given."""
    beyond = asked.get("texts", 0) - rows
    asked = {**asked, **{name: min(asked[name], rows) for name in ("texts", "pool") if name in asked}}
    trains = trains and asked.get("trained", True)
    rungs = RUNGS if budget is not None else RUNGS[USUAL : USUAL + 1]
    least = 0.0
    for rung in rungs:
        settings = {**settings_of(rung, rows), **asked}
        settings["fewer"] = {**_fewer(settings, costs, rung["slow"]), **asked.get("fewer", {})}
        least = estimate(settings, costs, workers, trains=trains)
        if budget is None or least <= _SPARE * budget:
            told = _left_out(settings, rows, trains=trains, layered=costs["layers"] > 0, budget=budget, asked=asked)
            more = f"{beyond:,} of {beyond + rows:,} texts were not explained: there are only {rows:,}"
            return Sizes(settings, least, (*([more] if beyond > 0 else []), *told))
    sizes = " with these sizes" if asked else ""
    raise UserError(
        f"A budget of {budget:g} s is too small: the smallest audit of this model{sizes} takes about "
        f"{least / _SPARE:.0f} s here; give more, fewer explainers, or another device."
    )


def _fewer(settings: Mapping[str, Any], costs: Mapping[str, Any], least: int) -> dict[str, int]:
    """Slow methods are asked about fewer texts, so that none takes much more than its share."""
    each = costs["explainers"]
    total = sum(each.values())
    texts = settings["texts"]
    return {
        name: max(least, int(texts * _SLOW * total / cost))
        for name, cost in each.items()
        if cost > _SLOW * total and len(each) > 4 and texts > least and cost * texts > _PATIENCE
    }


def _left_out(
    settings: Mapping[str, Any],
    rows: int,
    *,
    trains: bool,
    layered: bool,
    budget: float | None,
    asked: Mapping[str, Any],
) -> Sequence[str]:
    usual = "the budget" if budget is not None else "the usual size"

    def why(name: str, enough: int = 0) -> str:
        return "there are too few texts" if rows < enough else "as asked" if name in asked else usual

    notes = []
    if settings["texts"] < rows:
        most = "texts" not in asked and settings["texts"] == RUNGS[0]["texts"]
        reason = f"no more are unless asked for, --set texts={rows}" if most else why("texts")
        notes.append(f"{rows - settings['texts']:,} of {rows:,} texts were not explained ({reason})")
    for name, number in settings.get("fewer", {}).items():
        if number < settings["texts"]:
            notes.append(f"{name} is slow and was asked about {number} texts")
    if "trained" in asked and not asked["trained"]:
        notes.append("no model was trained: neither with planted evidence, nor with hidden words, nor again (as asked)")
    few = settings["pool"] < 100  # of which all models would be trained
    if trains and few:
        notes.append(f"no models were trained on planted evidence ({why('pool', 100)})")
    if trains and (few or not settings["companion"]):
        reason = why("pool" if few else "companion", ENOUGH)
        notes.append(f"no companion was trained with hidden words ({reason})")
    if trains and (few or not settings["relatives"]):
        reason = why("pool" if few else "relatives", ENOUGH)
        notes.append(f"no model was trained from another seed, nor on random labels ({reason})")
    if layered and not settings["layerwise"]:
        notes.append(f"weights were randomised all at once, not layer by layer ({why('layerwise')})")
    if trains and not few and not settings["retrained"]:
        more = "--set retrained=3 does, and takes long"
        notes.append(f"no model was trained again without the words called important (Recursive ROAR): {more}")
    return notes
