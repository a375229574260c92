"""How much of everything an audit does: chosen from measured costs and the time there is."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueness.boundary import quoted, short
from trueness.errors import UserError
from trueness.kinds.contract import Words
from trueness.protocols.levels import LEVELS

SHORTEST = 20.0
"""Seconds below which no audit ends, whatever the model: Python and the libraries have to be loaded."""
LONGEST = 366 * 86_400
_SPARE = 0.93
"""Of the budget is planned for."""
_STARTING = 8.0
"""Seconds until the workers can begin, where nobody says how many have passed."""
_ENDING = 3.0
"""Seconds for verdicts and the report."""
_AT_ONCE = 1 << 12
"""Units of a call: examples beyond them are another one."""
_BATCH = 32
"""Examples of a step of training."""
_LEARNED = 0.7
"""Of the examples that models are trained on; the others are for development and tests."""
_EACH = 0.15
"""Seconds that a task takes beside its work."""
LEAST_POOL = 100
"""Examples below which no models are trained."""
ENOUGH = 300
"""Examples below which no model learns what the audited one does."""
RETRAINED = (0.25, 0.5, 0.75)
"""Shares of units that are hidden before a model is trained again."""
_SLOW = 0.25
"""Of all explaining: a method that would take a larger share is asked about fewer examples."""
_PATIENCE = 20.0
"""Seconds of work that all examples may take a method, whatever its share."""

PLANTED_ON = 500
"""Examples that a model with planted evidence sees at most: many small models tell more than a few large ones."""
FEWEST_PLANTED = 10
"""Models below which not even perfect scores pass *finds planted evidence*, see `docs/statistics-of-verdicts.md`."""

_FULL = {"some": 250, "alone_examples": 50, "shuffles": 8, "planted_examples": 60, "hidden_shares": list(LEVELS)}
_FULL["slow"] = 60
_SMALL = {"some": 60, "alone_examples": 50, "shuffles": 6, "planted_examples": 40, "hidden_shares": [0.2, 0.5]}
_SMALL["slow"] = 30
_NO_MORE = dict.fromkeys(
    ("companion_examples", "relative_examples", "retrained_models", "layerwise_examples", "noise_draws"), 0
) | {"searched_examples": 0}
_ALL = {"companion_examples": 150, "relative_examples": 60, "retrained_models": 0, "layerwise_examples": 20}
_ALL |= {"noise_draws": 3, "searched_examples": 10}


def _rung(base: Mapping[str, Any], examples: int, models: int, training: int, **more: Any) -> dict[str, Any]:
    return {
        **{**base, **_NO_MORE, "examples": examples, "planted_models": models, "training_examples": training},
        **more,
    }


RUNGS: tuple[dict[str, Any], ...] = (
    _rung(_FULL, 500, 20, 1500, **{**_ALL, "retrained_models": 3}),
    _rung(_FULL, 500, 20, 1500, **_ALL),
    _rung(_FULL, 500, 20, 1500, companion_examples=150),
    _rung(_FULL, 300, 15, 1000, companion_examples=100),
    _rung(_FULL, 250, 15, 800, companion_examples=100),
    _rung(_FULL, 200, 15, 700, companion_examples=80),
    _rung(_FULL, 200, 12, 700),
    _rung(_SMALL, 150, 12, 500),
    _rung(_SMALL, 100, 10, 400),
    _rung(_SMALL, 60, 10, 300),
    _rung(_SMALL, 150, 1, 0),
    _rung(_SMALL, 60, 1, 0),
    _rung(_SMALL, 30, 1, 0),
)
"""From all that is worth doing to the least that can decide anything; without a budget the fourth.

What decides comes first: layer-by-layer shuffles, noise, searches and relatives tell more, and decide nothing.
"""
USUAL = 3


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


def settings_of(rung: Mapping[str, Any], rows: int, pool: int) -> dict[str, Any]:
    """The study's settings on a rung, with so many examples to explain, and so many to train models on."""
    examples = min(rung["examples"], rows)
    training = min(rung["training_examples"], pool)
    some = max(30, min(rung["some"], examples))
    kept = ("alone_examples", "shuffles", "hidden_shares", "planted_models", "layerwise_examples", "noise_draws")
    return {
        **{name: rung[name] for name in (*kept, "searched_examples", "retrained_models")},
        "examples": examples,
        "training_examples": training,
        "repeat_examples": some,
        "edit_examples": some,
        "shuffled_examples": min(some, 40),
        "planted_examples": max(30, min(rung["planted_examples"], int(0.15 * training))),
        "companion_examples": min(rung["companion_examples"], examples) if pool >= ENOUGH else 0,
        "relative_examples": min(rung["relative_examples"], some) if pool >= ENOUGH else 0,
    }


def parts(settings: Mapping[str, Any], costs: Mapping[str, Any], words: Words) -> dict[str, float]:
    """Seconds of work, on one worker, by what they are for; what a model costs to train is 0 where none is.

    Each call of a method or of the model costs something, whatever the number of its examples.
    """
    hiding = f"hiding {words.units}"
    look, found = costs["look"], {"explaining": 0.0, "random weights": 0.0, hiding: 0.0, "training": 0.0}
    found |= {"planted evidence": 0.0, "relatives": 0.0, "retraining": 0.0, "other": costs["open"]}
    levels, calls = len(settings["hidden_shares"]), costs.get("calls", {})
    hidden = 1 + 2 * levels + 8
    models = settings["planted_models"] if costs["trains"] and settings["training_examples"] >= LEAST_POOL else 0

    def asked(name: str, number: int, times: int = 1) -> float:
        """Seconds to ask a method about so many examples, so many times."""
        least = 1 + number * costs["units"] // _AT_ONCE if number else 0
        return float(times * (costs["explainers"][name] * number + calls.get(name, 0.0) * least))

    orders = (settings["shuffles"] + 2 * bool(settings["layerwise_examples"])) * bool(costs["layers"])
    found["random weights"] += orders * costs.get("shuffle", 0.0)
    for name in costs["explainers"]:
        number = min(settings["examples"], settings.get("fewer_examples", {}).get(name, settings["examples"]))
        repeated = min(settings["repeat_examples"], number) if name in costs["random"] else 0
        found["explaining"] += asked(name, number) + asked(name, repeated)
        found["explaining"] += asked(name, min(settings["edit_examples"], number))
        found["explaining"] += asked(name, 1, min(settings["alone_examples"], number))
        layers = 2 * costs["layers"] + 2 * settings["noise_draws"]
        if costs["layers"]:
            found["random weights"] += asked(name, min(settings["shuffled_examples"], number), settings["shuffles"])
            found["random weights"] += asked(name, settings["layerwise_examples"], layers)
        found[hiding] += look * number * hidden
        found["planted evidence"] += asked(name, settings["planted_examples"], models)
        if models:
            some = min(settings["companion_examples"], number)
            found["relatives"] += asked(name, some) + look * some * (1 + 2 * levels)
            found["relatives"] += asked(name, min(settings["relative_examples"], number), 2)
            retrained = settings["retrained_models"] * len(RETRAINED)
            found["retraining"] += asked(name, settings["training_examples"], retrained)
        found["other"] += 5 * _EACH
    found[hiding] += look * settings["examples"] * (2 * costs["units"] + 5 * hidden)  # the best order
    found["other"] += 4 * _EACH * models
    if models:
        some = min(settings["companion_examples"], settings["examples"])
        found["relatives"] += look * some * (2 * costs["units"] + 5 * hidden)
    if settings["searched_examples"]:
        found[hiding] += settings["searched_examples"] * look * 1500

    def learning(examples: int) -> float:
        """Seconds of a pass over so many examples, of which some are for development and tests."""
        learned = _LEARNED * examples
        return float(learned * costs["learn"] + costs.get("learn_call", 0.0) * (1 + learned // _BATCH))

    passes, masked = costs["passes"]
    found["training"] += models * learning(min(settings["training_examples"], PLANTED_ON)) * passes
    if models:
        trained = bool(settings["companion_examples"]) + 2 * bool(settings["relative_examples"])
        again = 2 + len(RETRAINED) * len(costs["explainers"])
        pass_of_all = learning(settings["training_examples"])
        found["training"] += pass_of_all * masked * trained
        found["retraining"] += pass_of_all * masked * again * settings["retrained_models"]
    return found


def estimate(settings: Mapping[str, Any], costs: Mapping[str, Any], workers: int) -> float:
    """Seconds that such an audit takes, with what has passed already."""
    work = sum(parts(settings, costs, Words()).values())
    # The last tasks leave workers idle, and models are trained one by one.
    return float(costs.get("spent", _STARTING) + costs["open"] + _ENDING + 1.15 * work / workers)


def choose(
    costs: Mapping[str, Any],
    rows: int,
    pool: int,
    workers: int,
    *,
    budget: float | None,
    asked: Mapping[str, Any],
    words: Words,
) -> Sizes:
    """The most that fits into the budget; without one, what is usual. `asked` are sizes that were given."""
    beyond = asked.get("examples", 0) - rows
    most = {"examples": rows, "training_examples": pool}
    asked = {**asked, **{name: min(asked[name], least) for name, least in most.items() if name in asked}}
    costs = {**costs, "trains": costs["trains"] and asked.get("train_models", True)}
    rungs = RUNGS if budget is not None else RUNGS[USUAL : USUAL + 1]
    least = 0.0
    for rung in rungs:
        settings = {**settings_of(rung, rows, pool), **asked}
        fewer = _fewer(settings, costs, rung["slow"])
        settings["fewer_examples"] = {**fewer, **asked.get("fewer_examples", {})}
        least = estimate(settings, costs, workers)
        if budget is None or least <= _SPARE * budget:
            told = [*_left_out(settings, rows, pool, costs, words, budget=budget, asked=asked)]
            told += _cannot_show(settings, costs, workers, rows, pool, budget)
            more = f"{beyond:,} of {beyond + rows:,} {words.examples} were not explained: there are only {rows:,}"
            return Sizes(settings, least, (*([more] if beyond > 0 else []), *told))
    sizes = " with these sizes" if asked else ""
    raise UserError(
        f"A budget of {budget:g} s is too small: the smallest audit of this model{sizes} takes about "
        f"{least / _SPARE:.0f} s here; give more, fewer explainers, or another device."
    )


def _cannot_show(
    settings: Mapping[str, Any], costs: Mapping[str, Any], workers: int, rows: int, pool: int, budget: float | None
) -> list[str]:
    """That no method can be shown with so few models, and with which budget one could."""
    if not costs["trains"] or _shows(settings):
        return []
    able = [found for rung in RUNGS if _shows(found := settings_of(rung, rows, pool))]
    if budget is None or not able:
        return [f"no method can be shown: that takes {FEWEST_PLANTED} models with planted evidence at least"]
    enough = min(estimate(found, costs, workers) for found in able) / _SPARE
    return [f"with {_minutes(budget)} no method can be shown; about {_minutes(max(enough, budget + 1))} can"]


def _shows(settings: Mapping[str, Any]) -> bool:
    """Whether there are models enough for planted evidence to be found."""
    return bool(settings["planted_models"] >= FEWEST_PLANTED and settings["training_examples"] >= LEAST_POOL)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{math.ceil(seconds / 60)} minutes"


def _fewer(settings: Mapping[str, Any], costs: Mapping[str, Any], least: int) -> dict[str, int]:
    """Slow methods are asked about fewer examples, so that none takes much more than its share."""
    each = costs["explainers"]
    total, number = sum(each.values()), settings["examples"]
    return {
        name: max(least, int(number * _SLOW * total / cost))
        for name, cost in each.items()
        if cost > _SLOW * total and len(each) > 4 and number > least and cost * number > _PATIENCE
    }


def _left_out(
    settings: Mapping[str, Any],
    rows: int,
    pool: int,
    costs: Mapping[str, Any],
    words: Words,
    *,
    budget: float | None,
    asked: Mapping[str, Any],
) -> Sequence[str]:
    usual, examples = "the budget" if budget is not None else "the usual size", words.examples

    def why(name: str, enough: int = 0) -> str:
        return f"there are too few {examples}" if pool < enough else "as asked" if name in asked else usual

    notes = []
    if settings["examples"] < rows:
        most = "examples" not in asked and settings["examples"] == RUNGS[0]["examples"]
        reason = f"no more are unless asked for, --set examples={rows}" if most else why("examples")
        notes.append(f"{rows - settings['examples']:,} of {rows:,} {examples} were not explained ({reason})")
    for name, number in settings.get("fewer_examples", {}).items():
        if number < settings["examples"]:
            notes.append(f"{name} is slow and was asked about {number} {examples}")
    if "train_models" in asked and not asked["train_models"]:
        told = f"neither with planted evidence, nor with hidden {words.units}, nor again (as asked)"
        notes.append(f"no model was trained: {told}")
    trains = costs["trains"]
    few = settings["training_examples"] < LEAST_POOL  # of which all models would be trained
    if trains and (few or not settings["planted_models"]):
        notes.append(f"no models were trained on planted evidence ({why('training_examples', LEAST_POOL)})")
    for name, told in (
        ("companion_examples", f"no companion was trained with hidden {words.units}"),
        ("relative_examples", "no model was trained from another seed, nor on random labels"),
    ):
        if trains and (few or not settings[name]):
            notes.append(f"{told} ({why('training_examples' if few else name, ENOUGH)})")
    if costs["layers"] and not settings["layerwise_examples"]:
        notes.append(f"weights were randomised all at once, not layer by layer ({why('layerwise_examples')})")
    if trains and costs["retrains"] and not few and not settings["retrained_models"]:
        more = "--set retrained_models=3 does, and takes long"
        notes.append(f"no model was trained again without the {words.units} called important (Recursive ROAR): {more}")
    return notes


OLD_NAMES = {
    **{"texts": "examples", "images": "examples", "fewer": "fewer_examples", "again": "repeat_examples"},
    **{"edits": "edit_examples", "single": "alone_examples", "randomised": "shuffled_examples", "draws": "shuffles"},
    **{"layerwise": "layerwise_examples", "smooth": "noise_draws", "levels": "hidden_shares"},
    **{"pool": "training_examples", "trained": "train_models", "seeds": "planted_models", "planted": "planted_models"},
    **{"found": "planted_examples", "companion": "companion_examples", "relatives": "relative_examples"},
    **{"retrained": "retrained_models", "bounded": "searched_examples", "shown": "shown_examples"},
}
"""What settings were called before: they still work."""


def by_new_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their names; those of earlier versions are told of."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        now = OLD_NAMES.get(name, name)
        if now != name and now in given:
            now = name  # both names are given, of which the old one means something else
        if now != name:
            warnings.warn(f"The setting {name} of an audit is called {now} now.", FutureWarning, stacklevel=4)
        several = name == "seeds" and now != name and isinstance(value, list | tuple)
        found[now] = len(value) if several else value
    return found
