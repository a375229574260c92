"""The audit of a classifier of images."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness import engine
from trueness.api.audited import QUESTION, AuditPlan, check_done, read_audit
from trueness.audits.image_audit import FOILS, USUAL, missing_images, plan_images
from trueness.audits.judging import FEWEST
from trueness.audits.verdict import Audit
from trueness.engine import Listener, ProgressFile, Store
from trueness.errors import UserError
from trueness.kinds import open_model
from trueness.kinds.image.data.datasets import load_images
from trueness.kinds.image.explainers.contract import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.tasks import images_task
from trueness.plugins import Reference
from trueness.registry import nearest

if TYPE_CHECKING:
    from trueness.api.explaining import AnyExplainer


def audit_images(
    model: Path,
    data: Any,
    explainers: Sequence[AnyExplainer] | None,
    pool: Callable[[], contextlib.AbstractContextManager[Executor]],
    place: Callable[[], Store],
    listener: Listener | None,
    planned: Callable[[AuditPlan], None] | None,
    family: str | None,
    asked: Mapping[str, Any],
) -> Audit:
    """The audit of a classifier of images, with its own sizes. Running again continues."""
    begin = time.monotonic()
    sizes: dict[str, int] = {"images": 100, "randomised": 50, "draws": 8, "planted": 3, "epochs": 20}
    least = {"images": FEWEST, "randomised": FEWEST, "draws": 2, "planted": 0, "epochs": 1}
    for name, value in asked.items():
        if name not in sizes:
            raise UserError(f"An audit of images has no size {name!r}; {nearest(name, list(sizes))}")
        if not isinstance(value, int) or isinstance(value, bool) or value < least[name]:
            raise UserError(f"The size {name} of an audit is a whole number, {least[name]} or more, not {value!r}.")
    sizes |= asked
    network: Any = open_model(model, family=family).network
    side, kind = network.size[0], _kind(network.family, family)
    loaded, dataset = load_images(str(data), side), str(data)
    if len(loaded.default_split()) < FEWEST:
        number = len(loaded.default_split())
        raise UserError(f"{loaded.name} has {number} test images: an audit needs {FEWEST} at least; add some.")
    names = names_of(explainers)
    pixels = images_task(dataset, side)
    at = {"model": str(model), "dataset": dataset}
    how = {name: size for name, size in sizes.items() if name not in ("images", "randomised")}
    how |= {"shown": sizes["images"], "shuffled": sizes["randomised"]}
    target = plan_images(model, kind, pixels, names, at=at, **how)
    title = f"Audit of {model.name}"
    if planned is not None:
        there = len(loaded.default_split())
        left_out = tuple(missing_images(sizes["images"], there))
        planned(_plan(model.name, dataset, names, {**sizes, "images": min(sizes["images"], there)}, left_out))
    with contextlib.ExitStack() as stack:
        workers, stored = stack.enter_context(pool()), place()
        watched = stack.enter_context(ProgressFile(stored, "audit", title, listener))
        check_done(engine.run([target], stored, workers, listener=watched))
    study = {
        **{"kind": "audit", "name": "audit", "title": title, "question": QUESTION, "paper": "trueness"},
        **{"models": [str(model)], "datasets": [dataset], "explainers": names, "family": family, **sizes},
    }
    stored.record_run("audit", target.key, study)
    return read_audit(stored, target).model_copy(update={"seconds": time.monotonic() - begin})


def names_of(explainers: Sequence[AnyExplainer] | None) -> list[str]:
    """The explainers and foils of an audit of images, as tasks carry them."""
    given = [*(explainers or USUAL), *FOILS]
    return [*dict.fromkeys(IMAGE_EXPLAINERS.reference(IMAGE_EXPLAINERS.name_of(one)) for one in given)]


def _kind(known: str, given: str | None) -> str | None:
    """The family as tasks carry it: workers are told of one from outside the package, also if none was given here."""
    found = IMAGE_MODELS.reference(known if given is None else IMAGE_MODELS.name_of(given))
    return None if given is None and not isinstance(found, Reference) else found


def _plan(
    model: str, data: str, names: Sequence[str], sizes: Mapping[str, int], left_out: tuple[str, ...]
) -> AuditPlan:
    """What is about to be done; how long it takes is not known before parts of it are done."""
    foils = tuple(name for name in names if name in FOILS)
    others = tuple(name for name in names if name not in FOILS)
    note = f"models of the same kind with a planted artefact: {sizes['planted']}, of at most {sizes['epochs']} epochs"
    return AuditPlan(model, data, others, foils, sizes, None, {}, left_out, {}, (note,))
