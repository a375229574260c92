"""Sentences that stand beside the trials of an audit. They tell more than a threshold; no verdict rests on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.audits.trials import picture
from trueness.data.dataset import SHARES
from trueness.engine import Stored
from trueness.kinds.contract import Words
from trueness.protocols.best_order import Reference
from trueness.protocols.faithfulness import Removal
from trueness.protocols.ground_truth.trial import usage
from trueness.protocols.result import Result
from trueness.protocols.roar.curves import FAITHFULNESS
from trueness.protocols.similarity import similarity
from trueness.stats.thresholds import Ratio, ratio_of

if TYPE_CHECKING:
    import pandas as pd


def companion(stored: Sequence[Stored], words: Words) -> tuple[bool, tuple[str, ...]]:
    """Whether the model trained with hidden units learned what the audited one says, and how much of it."""
    every = [one.read("learned") for one in stored if one.holds("learned")]
    if not every:
        return True, ()
    told = max(every, key=lambda one: int(one["examples"]))
    some, trained = f"{told['examples']} {words.examples}", f"a model trained with {words.units} hidden"
    says = f"it names the class that your model names in {told['right']:.0%} of {some} explained on it"
    if told["enough"]:
        return True, (f"The companion, {trained}, says what your model says: {says}.",)
    if told["guessed"] == 1:
        one = f"your model names one class in all {some} explained on it"
        why = f"cannot be asked: {one}, so that nothing shows whether it learned anything"
    else:
        guess = f"always the most frequent class would do so in {told['guessed']:.0%}"
        why = f"learned too little to be asked: {says}, {guess}"
    return False, (f"The companion, {trained}, {why}.",)


def unlearned(facts: Sequence[Mapping[str, Any]], words: Words) -> str:
    """Why no model shows that it used planted evidence: it learned too little of it, or too few examples can show it.

    Of all examples `SHARES[2]` are set aside, by which it is shown.
    """
    best = max(facts, key=lambda one: float(one["accuracy"]))
    right, guessed, n = best["accuracy"], best["bound"], best["n"]
    told = (
        f"the best of {len(facts)} names {right:.0%} of {n} {words.examples} set aside, where {guessed:.0%} is a guess"
    )
    why = f"no model of this architecture learned to use the planted evidence: {told}"
    enough = next((more for more in range(n, 20 * n) if usage(round(right * more), more, guessed)["proven"]), 0)
    if not enough or right <= guessed:
        return f"{why}; more passes (--set epochs=...) may help, or other {words.examples}"
    return f"{why}: about {math.ceil(enough / SHARES[2] / 10) * 10:,} {words.examples} in all would show so much"


def alike_twin(stored: Stored | None, words: Words) -> tuple[str, ...]:
    """How alike explanations of two models are that say the same; none of them need be wrong where they differ."""
    if stored is None or not stored.holds("compared"):
        return ()
    found = stored.read("compared")
    same = found["same"]
    alike = ratio_of(picture(found["similarity"][same]), picture(found["ceiling"][same]), least=0.0)
    if alike is None:
        return ()
    return (
        f"Correlation with the explanation of a model trained from another seed to say the same, on {alike.n} "
        f"{words.examples} where it does: {_ends(alike)} of that under another draw. It decides nothing: such a model "
        "may have other reasons.",
    )


def retrained(stored: Sequence[Stored], name: str, words: Words, *, asked: bool) -> tuple[str, ...]:
    """Recursive ROAR: what is lost when models are trained again without the units; foils are not asked."""
    if not stored or not asked:
        return ()
    result = Result.from_payloads(stored[0].everything())
    for score in result.scores:
        if score.quantity == FAITHFULNESS["recursive"] and score.method == name:
            wide = "" if score.low is None or score.high is None else f" ({score.low:.2f} to {score.high:.2f})"
            ends, several = f"{score.value:.2f}{wide}", "1 seed" if score.n == 1 else f"{score.n} seeds"
            return (
                f"Trained again without the {words.units} called important (Recursive ROAR, {several}), more is lost "
                f"than without random ones by {ends} of what random ones cost. It is no threshold: seeds are few.",
            )
    why = next((one.reason for one in result.abstentions), "nothing could be told")
    return (f"Trained again without the {words.units} called important (Recursive ROAR): {why.rstrip('.')}.",)


def layers(table: pd.DataFrame | None) -> tuple[str, ...]:
    """What layers, smoothing and complexity show; the verdict rests on all weights at once."""
    if table is None:
        return ()
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


def softly_hidden(removed: Removal, reference: Reference, words: Words) -> tuple[str, ...]:
    """What hiding costs where units are hidden at random by their scores, of the best found."""
    found = ratio_of(removed.soft_cost, reference.soft_cost[: len(removed.cost)])
    if found is None:
        return ()
    more = "the more often the higher their score"
    return (f"{words.units.capitalize()} hidden at random, {more}: {_ends(found)} of the best found.",)


def _ends(found: Ratio) -> str:
    """A ratio with its interval, 95 %."""
    return f"{found.value:.2f} ({found.lower(0.025):.2f} to {found.upper(0.025):.2f})"


def between_bounds(stored: Sequence[Stored], name: str, words: Words) -> tuple[str, ...]:
    """Where comprehensiveness lies between the worst and the best order that a search finds."""
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
    ends = f"the worst (0) and the best order (1) of {len(inside)} {words.examples} of few {words.units}"
    return (f"Comprehensiveness lies at {inside.mean():.2f} between {ends}, {how}.",)


def agreement(name: str, said: Mapping[str, Stored], asked: Sequence[str], foils: Sequence[str]) -> tuple[str, ...]:
    """How alike it is to the other methods: agreement is not validity."""
    own = said[name].read("scores")
    alike = {}
    for other in asked:
        if other == name or other in foils:
            continue
        beside = said[other].read("scores")
        part = tuple(slice(min(sizes)) for sizes in zip(own["mask"].shape, beside["mask"].shape, strict=True))
        both = [np.abs(one["scores"][part].astype(np.float64)) for one in (own, beside)]
        found = similarity(both[0], both[1], own["mask"][part])
        if np.isfinite(found).any():  # examples of one unit have none
            alike[other] = float(np.nanmean(found))
    if not alike:
        return ()
    most, least = max(alike, key=alike.__getitem__), min(alike, key=alike.__getitem__)
    return (
        f"Its magnitudes correlate with those of {most} by {alike[most]:.2f} and with those of {least} by "
        f"{alike[least]:.2f}. Methods that agree may both be wrong.",
    )
