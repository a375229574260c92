"""Ratings: what people make of explanations of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueness.api.studies import DEFAULT_STORE
from trueness.engine import DamagedObjectError, Store
from trueness.errors import UserError

if TYPE_CHECKING:
    from trueness.browser.runs import Run
    from trueness.ratings import Mode
    from trueness.ratings.session import Session


def rating(
    study: str,
    *,
    store: str | Path = DEFAULT_STORE,
    mode: Mode = "pairwise",
    items: int = 40,
    methods: Sequence[str] = (),
    seed: int = 0,
    begin: bool = True,
) -> tuple[Run, Session]:
    """The newest run of a study or audit that keeps texts, and its rating: begun here, or gone on with.

    Without `begin` it must have been begun, and nothing is written.
    """
    from trueness.browser.runs import runs_of
    from trueness.ratings.session import open_session

    place = Store.open(store)
    known = runs_of(place)
    named = [
        run for key, run in known.items() if run.told("name") == study or (len(study) >= 6 and key.startswith(study))
    ]
    if not named:
        there = ", ".join(sorted({run.told("name") for run in known.values()})) or "none"
        raise UserError(f"The store {place.path} holds no finished run of {study}; there are: {there}.")
    unreadable = []
    for run in named:
        try:
            with run.opened():
                # A rating has foils of its own: those of an audit are not asked about.
                usual = [one.explainer for audit in run.audits for one in audit.explainers if not one.foil]
                texts = len(run.instances)
        except (UserError, DamagedObjectError) as error:
            unreadable.append(f" {run.key[:10]} cannot be read: {error}")
            continue
        if texts:
            given = list(methods) or [name for name in run.instances.methods if name in usual]
            made = open_session(
                place.path,
                run.instances,
                result=run.key,
                mode=mode,
                items=items,
                seed=seed,
                methods=given,
                begin=begin,
            )
            return run, made
    raise UserError(
        f"No run of {study} in {place.path} keeps texts with their explanations; audit a model, or run agreement."
        f"{''.join(unreadable[:1])}"
    )
