"""The audit: which explanations of one's own classifier may be shown?"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from trueness import engine
from trueness.api.audited import QUESTION, AuditPlan, check_done, read_audit
from trueness.api.executors import open_executor
from trueness.api.explaining import several
from trueness.api.forms import of_images, refuse_numbers
from trueness.api.models import described
from trueness.api.studies import DEFAULT_STORE
from trueness.audits import sizes as sizing
from trueness.audits.judging import FEWEST
from trueness.audits.probe import probe
from trueness.audits.study import FOILS, AuditStudy, plan, texts_of
from trueness.audits.subject import (
    check_labels,
    default_explainers,
    family_of,
    kept_data,
    kept_images,
    kept_model,
    subject,
    training_of,
)
from trueness.audits.trials import INFORMATIVE
from trueness.audits.verdict import Audit, Judged
from trueness.boundary import because, quoted
from trueness.engine import Listener, ProgressFile, Store
from trueness.engine.encoding import digest
from trueness.errors import UserError
from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.kinds.image.data.images import ImageDataset
from trueness.registry import nearest
from trueness.stats.ties import LEVEL

if TYPE_CHECKING:
    from trueness.api.explaining import AnyExplainer

_TO_COME = 4
"""Checks of an explainer for which models have to be trained."""
_PROBED = 6
"""Texts that costs are measured on."""
_SHOWN = (
    *("texts", "fewer", "again", "edits", "single", "randomised", "draws", "layerwise", "smooth", "levels"),
    *("pool", "found", "seeds", "companion", "relatives", "retrained", "bounded"),
)
"""Sizes that a report tells."""
_SETTABLE = (*_SHOWN, "shown", "trained")


def audit(
    model: Any,
    data: Any,
    *,
    explainers: Sequence[AnyExplainer] | None = None,
    budget: str | float | None = None,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    devices: Sequence[str] = ("cpu",),
    executor: Executor | str | None = None,
    listener: Listener | None = None,
    planned: Callable[[AuditPlan], None] | None = None,
    family: str | None = None,
    columns: Mapping[str, str] | None = None,
    durable: bool = False,
    **asked: Any,
) -> Audit:
    """Put a classifier's explanations on trial, and say which may be shown: `tn.audit("my_model/", "reviews.csv")`.

    `model` is a folder (Hugging Face or ours), a classifier, a pair of Hugging Face model and tokeniser, or a function
    from texts to probabilities that workers can import, `mine.py:predict`. Among `explainers`, "default" is the usual
    set. `data` is a file, folder, dataset's name, DataFrame, `datasets.Dataset` or list; labels are optional; `columns`
    names text_column, label_column, text_b_column where they cannot be guessed. `budget` (`"10m"`) chooses how much is
    done; `planned` hears of it before the work starts. Other keywords are sizes of the study: `texts=300`, `seeds=4`.
    Running again continues.
    """
    refuse_numbers(data, "tn.audit")
    if family is not None and not isinstance(family, str):
        raise UserError("Workers import a family by its address: name it, such as mine.py:network.")
    explainers = several(explainers) or None
    if of_images(model):
        from trueness.api.image_audits import audit_images

        if columns:
            raise UserError(f"An audit of images reads no columns: leave out {', '.join(sorted(columns))}.")
        if budget is not None:
            raise UserError("An audit of images has no budget: choose its sizes, such as images=50, planted=3.")
        computing = partial(open_executor, executor, workers, devices)
        keeping = partial(Store.open, store, create=True, durable=durable)
        data = kept_images(data, Path(store)) if isinstance(data, ImageDataset) else data
        if not isinstance(data, str | Path):
            raise UserError(
                f"A model of images needs a dataset of images, its name or its folder; not {described(data)}."
            )
        model = Path(kept_model(model, Path(store)))
        return audit_images(model, data, explainers, computing, keeping, listener, planned, family, asked)
    begin = time.monotonic()
    seconds = None if budget is None else sizing.parse_budget(budget)
    place = Path(store)
    place_model = kept_model(model, place)
    kind = subject(place_model, family)
    family = family_of(kind, family)
    place_data, texts = kept_data(data, place, columns or {})
    if len(texts.texts) < FEWEST:
        few = f"{texts.name} has {len(texts.texts)} texts: an audit needs {FEWEST} at least"
        raise UserError(f"{few}{because(texts.notes)}.")
    check_labels(kind, family, texts)
    chosen = _named(explainers or ["default"], default_explainers(kind, family))
    request = {
        "model": kind,
        "family": family,
        "data": texts_key(texts),
        "explainers": chosen,
        "columns": dict(columns or {}),
        "budget": seconds,
        "asked": asked,
        "version": 2,
    }
    common: dict[str, Any] = {
        "kind": "audit",
        "name": "audit",
        "title": f"Audit of {_name(place_model)}",
        "question": QUESTION,
        "paper": "trueness",
        "models": [str(place_model)],
        "family": family,
        "datasets": [place_data],
        "columns": dict(columns or {}),
        "foils": [foil for foil in FOILS if foil not in chosen],
    }
    sizes = _checked_sizes(common, chosen, len(texts.texts), asked)
    common["asked"] = digest(request)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(open_executor(executor, workers, devices))
        stored = Store.open(store, create=True, durable=durable)
        watched = stack.enter_context(ProgressFile(stored, "audit", common["title"], listener))
        slots = getattr(pool, "slots", None) or getattr(pool, "_max_workers", None) or 1
        known = _recorded(stored, common, chosen)
        if known is None:
            known = _sized(stored, pool, kind, common, chosen, texts, seconds, slots, sizes, planned)
        study, left_out = known
        if seconds is not None and study.trained:
            study, left_out = _cheap_first(study, left_out, stored, pool, watched)
        target = plan(study)
        check_done(engine.run([target], stored, pool, listener=watched))
    stored.record_run("audit", target.key, {**json.loads(study.model_dump_json()), "left_out": list(left_out)})
    shown = {name: getattr(study, name) for name in _SHOWN}
    took = {"seconds": time.monotonic() - begin, "settings": shown}
    return read_audit(stored, target, left_out).model_copy(update=took)


def _checked_sizes(
    common: Mapping[str, Any], chosen: Sequence[str], rows: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """What was asked for, as the study reads it; what no study takes is refused before any work."""
    for name in asked:
        if name not in _SETTABLE:
            raise UserError(f"An audit has no size {name!r}; {nearest(name, list(_SETTABLE))}")
    sizes = {**sizing.settings_of(sizing.RUNGS[sizing.USUAL], max(rows, FEWEST)), **asked}
    try:
        study = AuditStudy(**{**common, **sizes, "explainers": chosen})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"The size {where} of an audit is not {quoted(first['input'])}: {first['msg']}.") from error
    return {name: getattr(study, name) for name in asked}


def explainers_of(model: Any, explainers: Sequence[AnyExplainer] | None, family: str | None = None) -> list[str]:
    """The names of an audit's explainers and foils, before it is run."""
    if of_images(model):
        from trueness.api.image_audits import names_of

        return names_of(explainers)
    chosen = _named(explainers or ["default"], default_explainers(subject(model, family), family))
    return [*chosen, *(foil for foil in FOILS if foil not in chosen)]


def _named(explainers: Sequence[AnyExplainer], usual: Sequence[str]) -> list[str]:
    """Names as tasks carry them; "default" stands for the usual set."""
    found: list[str] = []
    for one in explainers:
        given = usual if isinstance(one, str) and one == "default" else [one]
        found += [TEXT_EXPLAINERS.reference(TEXT_EXPLAINERS.name_of(item)) for item in given]
    return list(dict.fromkeys(found))


def _cheap_first(
    study: AuditStudy, left_out: tuple[str, ...], store: Store, pool: Executor, listener: Listener | None
) -> tuple[AuditStudy, tuple[str, ...]]:
    """The trials that need no training; where these decide every verdict, no model is trained."""
    cheap = study.model_copy(update={"trained": False})
    target = plan(cheap)
    check_done(engine.run([target], store, pool, listener=listener))
    found = [one for one in read_audit(store, target).explainers if not one.foil]
    if not all(failed_for_good(one, _TO_COME * len(found)) for one in found):
        return study, left_out
    why = "no models were trained: every explainer failed a trial that needs none, and no other could change that"
    return cheap, (*left_out, why)


def failed_for_good(one: Judged, to_come: int) -> bool:
    """Whether it failed a trial that all checks have to pass, also if so many checks more are corrected for.

    Holm's correction multiplies a p-value by at most 1 + `to_come` more then. *Informative* needs one check of several,
    which may be one to come.
    """
    return any(
        trial.required
        and trial.name != INFORMATIVE
        and trial.answer == "fail"
        and check.answer == "fail"
        and check.p_value is not None
        and check.p_value * (1 + to_come) < LEVEL
        for trial in one.trials
        for check in trial.checks
    )


def texts_key(texts: Any) -> str:
    """What the texts are, whatever they were read from."""
    return digest([[one.text, one.text_b, one.label] for one in texts.texts])


def _name(model: str | Path) -> str:
    return Path(model).name if isinstance(model, Path) else str(model)


def _recorded(
    store: Store, common: Mapping[str, Any], chosen: Sequence[str]
) -> tuple[AuditStudy, tuple[str, ...]] | None:
    """The study of a finished audit of the same things: its sizes are not chosen anew.

    Things are the same if they hold the same; where they lie and what they are called is as in `common` and `chosen`.
    """
    for record in reversed(store.runs("audit")):
        found = dict(record["study"])
        if found.get("asked") == common["asked"]:
            try:
                left_out = tuple(map(str, found.pop("left_out", ())))
                able = [name for name in chosen if name in found.get("explainers", ())]
                return AuditStudy.model_validate({**found, **common, "explainers": able}), left_out
            except (TypeError, ValueError):  # of another version, or damaged
                return None
    return None


def _sized(
    store: Store,
    pool: Executor,
    kind: Path | str,
    common: Mapping[str, Any],
    chosen: Sequence[str],
    texts: Any,
    budget: float | None,
    slots: int,
    asked: Mapping[str, Any],
    planned: Callable[[AuditPlan], None] | None,
) -> tuple[AuditStudy, tuple[str, ...]]:
    """The study: a few texts are explained to see what everything costs, then the sizes are chosen."""
    rows = len(texts.texts)
    small = {**sizing.settings_of(sizing.RUNGS[-1], rows), "texts": max(FEWEST, min(rows, 4 * _PROBED)), "pool": 0}
    first = AuditStudy(**{**common, **small, "seeds": [0], "explainers": chosen})
    names = [*first.explainers, *first.foils]
    looked = texts_of(first, kind, first.datasets[0])
    how = {"model": kind, "family": first.family, "explainers": names, "texts": _PROBED}
    measured = probe({"texts": looked}, **how)
    check_done(engine.run([measured], store, pool))
    costs = store.get(measured.key).read("costs")
    refused = {name: why for name, why in costs["refused"].items() if name in chosen}
    able = [name for name in first.explainers if name not in costs["refused"]]
    if not able:
        raise UserError(f"None of the explainers works for this model: {'; '.join(refused.values())}")
    trains = training_of(kind, first.family) is not None
    found = sizing.choose(costs, rows, slots, trains=trains, budget=budget, asked=asked)
    notes = store.get(looked.key).read("about")["notes"]
    if planned is not None:
        planned(
            AuditPlan(
                Path(first.models[0]).name,
                texts.name,
                tuple(able),
                tuple(first.foils),
                found.settings,
                found.seconds,
                sizing.parts(found.settings, costs, trains=trains),
                found.left_out,
                refused,
                tuple(notes),
            )
        )
    left_out = (*(f"{name}: {why}" for name, why in refused.items()), *found.left_out)
    return AuditStudy(**{**common, **found.settings, "explainers": able}), left_out
