"""The audit: which explanations of one's own classifier may be shown?"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from pydantic import ValidationError

from trueness import carried, engine
from trueness.api.audited import QUESTION, AuditPlan, AuditRun, check_done, read_audit
from trueness.api.bar import listening
from trueness.api.executors import Here, open_executor
from trueness.api.studies import DEFAULT_STORE
from trueness.audits import sizes as sizing
from trueness.audits import tasks
from trueness.audits.probe import probe
from trueness.audits.reading import opened
from trueness.audits.rule import FEWEST
from trueness.audits.study import AuditStudy, plan, read_task
from trueness.audits.subject import family_of, kept_model, named, subject
from trueness.audits.tasks import LOOKED
from trueness.audits.trials import INFORMATIVE
from trueness.audits.verdict import Judged
from trueness.boundary import because, quoted
from trueness.engine import Listener, ProgressFile, Store, Task, TimeUpError
from trueness.engine.encoding import digest
from trueness.errors import UserError
from trueness.explainers.contract import Explainer
from trueness.kinds import KINDS, kind_of
from trueness.kinds.contract import Kind
from trueness.plugins import Reference, importable, made_here
from trueness.registry import nearest
from trueness.stats.ties import LEVEL

if TYPE_CHECKING:
    from trueness.api.explaining import AnyExplainer

_TO_COME = 4
"""Checks of an explainer for which models have to be trained."""
_ENDING = 3.0
"""Seconds of a budget that are kept for the verdicts and the report."""
_OVER = "the budget was over before they were; the same command goes on"
_PROBED = 6
"""Examples that costs are measured on."""
_LOADED = (
    *("torch", "pandas", "pyarrow.parquet", "scipy.stats", "safetensors.torch"),
    *(
        "trueness.audits.assemble",
        "trueness.audits.examples",
        "trueness.audits.repeats",
        "trueness.audits.trained_tasks",
    ),
    *("trueness.protocols.best_order", "trueness.protocols.ground_truth.trial", "trueness.protocols.randomisation"),
)
"""What the tasks of every audit import."""


class AuditSizes(TypedDict, total=False):
    """How much of everything an audit does, where it is not to choose itself; `AuditStudy` says what each one is."""

    examples: int
    """Examples that are explained (300)."""
    fewer_examples: Mapping[str, int]
    """Slow explainers, each with how many examples it is asked about."""
    repeat_examples: int
    """Examples that methods which draw at random explain once more (100)."""
    edit_examples: int
    """Examples explained again after a harmless edit (100)."""
    alone_examples: int
    """Examples explained alone as well as in a batch (30)."""
    shuffled_examples: int
    """Examples explained under random weights (50)."""
    shuffles: int
    """Random orders of the weights (5)."""
    layerwise_examples: int
    """Examples explained while layers are randomised one after another (10)."""
    noise_draws: int
    """Draws of noise that explanations under random weights are averaged over (3)."""
    hidden_shares: Sequence[float]
    """Shares of the units that are hidden."""
    training_examples: int
    """Examples that models are trained on (1000); with fewer than 100 none is."""
    train_models: bool
    """False: no model is trained."""
    epochs: int
    """Passes over the data in training, at most."""
    planted_models: int
    """Models trained on planted evidence (4)."""
    planted_examples: int
    """Examples in which planted evidence is looked for (100)."""
    companion_examples: int
    """Examples explained on a model trained with units hidden (100); 0: no such model."""
    relative_examples: int
    """Examples explained on a model from another seed, and on one of random labels (60); 0: neither."""
    retrained_models: int
    """Seeds of Recursive ROAR, which takes long (0)."""
    searched_examples: int
    """Small examples for which the best and the worst order of units is searched (10)."""
    shown_examples: int
    """Examples in the report (5)."""


_TOLD = tuple(name for name in AuditSizes.__annotations__ if name not in ("train_models", "shown_examples"))
"""Sizes that a report tells."""


@dataclass(frozen=True)
class _Request:
    """What is to be audited, as tasks carry it."""

    kind: Kind
    model: Path | str
    common: Mapping[str, Any]
    """The settings of the study that are no sizes."""
    explainers: Sequence[str]
    sizes: Mapping[str, Any]
    budget: float | None
    planned: Callable[[AuditPlan], None] | None


def audit(
    model: Any,
    data: Any,
    *,
    explainers: AnyExplainer | Sequence[AnyExplainer] | None = None,
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
    **sizes: Unpack[AuditSizes],
) -> AuditRun:
    """Put a classifier's explanations on trial, and say which may be shown: `tn.audit("my_model/", "reviews.csv")`.

    `model` is a folder (Hugging Face or ours), a classifier in any form that `tn.load_model` takes, or the address of a
    function, `mine.py:predict`. What was made in a notebook is sent to `workers` of this machine; with 0 of them this
    process computes. Among `explainers`, "default" is the usual set. `data` is whatever
    `tn.load_dataset` takes; labels are optional; `columns` names text_column, label_column, text_b_column, split where
    they cannot be guessed. `budget` (`"10m"`) chooses how much is done; `planned` hears of it before the work starts.
    `sizes` are those of `AuditSizes`, such as `examples=300`. Running again continues.
    """
    begin = time.monotonic()
    if family is not None and not isinstance(family, str):
        raise UserError("Workers import a family by its address: name it, such as mine.py:network.")
    seconds = None if budget is None else sizing.parse_budget(budget)
    asked = _named_now(sizes)
    place = Path(store)
    where = kept_model(model, place, data)
    on_trial = subject(where)
    kind = kind_of(on_trial, data)
    modules = (*_LOADED, *kind.models.modules(on_trial))
    if executor is None and not (place / "runs").is_dir():
        engine.begin(modules)  # processes need not wait for what is done here meanwhile
    family = family_of(on_trial, family, data)
    chosen = _chosen(kind, on_trial, explainers, family)
    looked = None if isinstance(data, str | Path) else _looked(kind, on_trial, family, data, columns or {})
    source = str(data) if looked is None else named(looked, kind)
    common: dict[str, Any] = {
        "kind": "audit",
        "name": "audit",
        "title": f"Audit of {on_trial.name if isinstance(on_trial, Path) else on_trial}",
        "question": QUESTION,
        "paper": "trueness",
        "models": [str(where)],
        "family": family,
        "datasets": [source],
        "columns": dict(columns or {}),
    }
    request = _Request(kind, on_trial, common, chosen, _checked_sizes(common, chosen, asked), seconds, planned)
    if (done := _done_before(request, place, listener)) is not None:
        return _audit_of(*done, begin)
    with contextlib.ExitStack() as stack:
        if executor is None:
            engine.begin(modules)
        made = made_here([on_trial, *chosen])
        pool = stack.enter_context(open_executor(executor, workers, devices, modules, made))
        if executor is None:
            _open_everywhere(pool, request)
        read = _read(request, looked, place)
        stored = Store.open(store, create=True, durable=durable)
        hears = stack.enter_context(listening(listener))
        watched = stack.enter_context(ProgressFile(stored, "audit", common["title"], hears))
        slots = getattr(pool, "slots", None) or getattr(pool, "_max_workers", None) or 1
        check_done(engine.run([read], stored, Here()))
        LOOKED.clear()
        left = _Left(begin, seconds)
        study, left_out = _recorded(stored, request, read) or _sized(stored, pool, request, read, slots, left)
        cheap = None
        if seconds is not None and study.train_models:
            cheap = study.model_copy(update={"train_models": False, "request_digest": ""})
            study, left_out = _cheap_first(study, left_out, stored, pool, watched, left)
        target = plan(study)
        try:
            check_done(engine.run([target], stored, pool, listener=watched, seconds=left()))
        except TimeUpError:
            if cheap is None:
                raise left.over("its trials were done") from None
            # Without the digest of the request, so that the same command goes on with the rest.
            study, target = cheap, plan(cheap)
            left_out = (*left_out, f"no models were trained: {_OVER}")
        if executor is None:  # all that was to be done is in the store: processes need not end in good order
            pool.shutdown(cancel_futures=True)
    return _audit_of(study, left_out, stored, target, begin)


def _audit_of(study: AuditStudy, left_out: Sequence[str], stored: Store, target: Task, begin: float) -> AuditRun:
    """The audit that the run left, which is recorded."""
    stored.record_run("audit", target.key, {**json.loads(study.model_dump_json()), "left_out": list(left_out)})
    shown = {name: getattr(study, name) for name in _TOLD}
    took = {"seconds": time.monotonic() - begin, "settings": shown}
    return read_audit(stored, target, left_out).model_copy(update=took)


@dataclass(frozen=True)
class _Left:
    """The seconds of a budget that are left for tasks; None where there is no budget."""

    begin: float
    budget: float | None

    def __call__(self) -> float | None:
        return None if self.budget is None else max(0.0, self.begin + self.budget - _ENDING - time.monotonic())

    def over(self, before: str) -> UserError:
        """What to say where it is over before anything can be said of the explainers."""
        more = "the same command goes on where it stopped; or give more, or fewer explainers"
        return UserError(f"The budget of {self.budget:g} s was over before {before}: {more}.")


def _open_everywhere(pool: Executor, request: _Request) -> None:
    """Let every process begin by opening the model, while the plan is made; what fails is told by who needs it."""
    kind, family = KINDS.reference(request.kind.name), request.common["family"]
    if isinstance(request.model, Path) and not any(isinstance(one, Reference) for one in (kind, family)):
        for _ in range(getattr(pool, "slots", 0)):
            pool.submit(opened, kind, request.model, family)


def explainers_of(
    model: str | Path,
    explainers: AnyExplainer | Sequence[AnyExplainer] | None,
    family: str | None = None,
    data: Any = None,
) -> list[str]:
    """The names of an audit's explainers and foils, before it is run."""
    on_trial = subject(model)
    kind = kind_of(on_trial, data)
    chosen = _chosen(kind, on_trial, explainers, family)
    return [*chosen, *(foil for foil in kind.foils if foil not in chosen)]


def _named_now(given: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes by the names that they have now; UserError for what is none."""
    found = sizing.by_new_names(given)
    known = list(AuditSizes.__annotations__)
    for name in found:
        if name not in known:
            raise UserError(f"An audit has no size {name!r}; {nearest(name, known)}")
    return found


def _checked_sizes(common: Mapping[str, Any], chosen: Sequence[str], asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, as the study reads it; what no study takes is refused before any work."""
    try:
        study = AuditStudy(**{**common, **asked, "explainers": chosen})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"The size {where} of an audit is not {quoted(first['input'])}: {first['msg']}.") from error
    return {name: getattr(study, name) for name in asked}


def _chosen(kind: Kind, model: Path | str, explainers: Any, family: str | None) -> list[str]:
    """Names as tasks carry them; "default" stands for the usual set."""
    given = explainers if isinstance(explainers, list | tuple) else ["default"] if explainers is None else [explainers]
    found: list[str] = []
    for one in given or ["default"]:
        some = kind.usual(model, family) if isinstance(one, str) and one == "default" else [one]
        found += [_reference(kind, item) for item in some]
    names: dict[str, str] = {}
    for name in found:
        if getattr(names.setdefault(name, name), "sources", ()) != getattr(name, "sources", ()):
            raise UserError(f"Two different explainers are called {name}: give one of them another __name__.")
    return list(names)


def _reference(kind: Kind, item: Any) -> str:
    """The name of an explainer, as tasks carry it; what only this process has is carried to its workers."""
    known = kind.explainers
    if (maker := known.only_here(item)) is not None:
        return known.carry(maker, item)
    if isinstance(item, str) or importable(item):
        return known.reference(known.name_of(item))
    given = getattr(item, "__name__", "") if isinstance(item, Explainer) else ""
    return known.carry(item, given or f"{carried.MODULE}:{carried.called(item)}")


def _looked(kind: Kind, model: Path | str, family: str | None, data: Any, columns: Mapping[str, str]) -> Any:
    """The data as the model reads them; UserError where no audit could be made of them."""
    classifier = kind.models.open(model, "cpu", family)
    found, words = tasks.looked(kind, data, classifier, columns), kind.words
    first, *_ = found.splits.values()
    if len(first) < FEWEST:
        few = f"{found.name} has {len(first)} {words.examples}: an audit needs {FEWEST} at least"
        raise UserError(f"{few}{because(found.notes)}.")
    if len(classifier.classes) < 2:
        raise UserError(f"{model} has one class: there is nothing to explain between classes.")
    labels = set(first.labels.tolist())
    if len(labels) == 1 and min(labels) >= 0:
        same = f"All {words.examples} of {found.name} have the label {classifier.classes[labels.pop()]!r}"
        raise UserError(f'{same}: give {words.examples} of two classes, or leave the labels out (label_column="").')
    return found


def _done_before(
    request: _Request, place: Path, listener: Listener | None
) -> tuple[AuditStudy, tuple[str, ...], Store, Task] | None:
    """A finished audit of the same things, all of which is in the store, unharmed: nothing has to be started."""
    if not (place / "runs").is_dir():
        return None
    stored = Store.open(place)
    known = _recorded(stored, request, _read_task(request))
    if known is None or not stored.has((target := plan(known[0])).key):
        return None
    found = engine.survey([target], stored)
    if found.needed or found.damaged:
        return None
    with listening(listener) as hears:
        hears.planned(len(found.tasks), len(found.tasks))
    return *known, stored, target


def _read_task(request: _Request) -> Task:
    study = AuditStudy(**{**request.common, **request.sizes, "explainers": request.explainers})
    (source,) = study.datasets
    return read_task(study, request.model, source)


def _read(request: _Request, looked: Any, place: Path) -> Task:
    """The task that reads the data. They are read here, before there is a store, unless they were read before."""
    read, source, common = _read_task(request), request.common["datasets"][0], request.common
    if not (place.is_dir() and any(place.iterdir()) and Store.open(place).has(read.key)):
        if looked is None:
            looked = _looked(request.kind, request.model, common["family"], source, common["columns"])
        LOOKED[str(Path(source))] = looked
    return read


def _digest(request: _Request, read: Task) -> str:
    """Of what was asked for: things are the same if they hold the same, whatever they are called."""
    sizes = dict(request.sizes)
    return digest([read.key, list(request.explainers), request.budget, sizes, 3])


def _recorded(store: Store, request: _Request, read: Task) -> tuple[AuditStudy, tuple[str, ...]] | None:
    """The study of a finished audit of the same things: its sizes are not chosen again."""
    wanted = _digest(request, read)
    for record in reversed(store.runs("audit")):
        found = dict(record["study"])
        if found.get("request_digest") == wanted:
            try:
                left_out = tuple(map(str, found.pop("left_out", ())))
                able = [name for name in request.explainers if name in found.get("explainers", ())]
                return AuditStudy.model_validate({**found, **request.common, "explainers": able}), left_out
            except (TypeError, ValueError):  # of another version, or damaged
                return None
    return None


def _sized(
    store: Store, pool: Executor, request: _Request, read: Task, slots: int, left: _Left
) -> tuple[AuditStudy, tuple[str, ...]]:
    """The study: a few examples are explained to see what everything costs, then the sizes are chosen."""
    kind, model, family = request.kind, request.model, request.common["family"]
    foils = [foil for foil in kind.foils if foil not in request.explainers]
    how = {"kind": read.parameters["kind"], "model": model, "family": family, "examples": _PROBED}
    measured = probe({"read": read}, explainers=[*request.explainers, *map(kind.explainers.reference, foils)], **how)
    try:
        check_done(engine.run([measured], store, pool, seconds=left()))
    except TimeUpError:
        raise left.over("every explainer was tried on one example") from None
    costs, about = store.get(measured.key).read("costs"), store.get(read.key).read("told")
    refused = {name: why for name, why in costs["refused"].items() if name in request.explainers}
    able = [name for name in request.explainers if name not in refused]
    broken = costs["broken"]
    if not set(able) - set(broken):
        why = "; ".join(dict.fromkeys([*refused.values(), *broken.values()]))
        raise UserError(f"None of the explainers works for this model: {why}")
    like = None if kind.relatives is None else kind.relatives.like(model, family)
    costs["trains"] = like is not None
    costs["retrains"] = like is not None and kind.relatives is not None and kind.relatives.retraining(like) is not None
    costs["passes"] = (0.0, 0.0) if like is None or kind.relatives is None else kind.relatives.passes(like)
    costs["spent"] = spent = time.monotonic() - left.begin
    usual = {} if kind.sizes is None or request.budget is not None else dict(kind.sizes(model))
    if "examples" in usual:
        usual["examples"] = min(usual["examples"], about["rows"])
    asked: dict[str, Any] = {"budget": request.budget, "asked": {**usual, **request.sizes}, "words": kind.words}
    found = sizing.choose(costs, about["rows"], about["pool"], slots, **asked)
    if request.planned is not None:
        request.planned(
            AuditPlan(
                Path(request.common["models"][0]).name,
                about["data"],
                tuple(able),
                tuple(foils),
                found.settings,
                kind.words,
                found.seconds - spent,
                sizing.parts(found.settings, costs, kind.words),
                found.left_out,
                refused,
                tuple(about["notes"]),
            )
        )
    left_out = (*(f"{name}: {why}" for name, why in refused.items()), *found.left_out)
    settings = {**request.common, **found.settings, "request_digest": _digest(request, read)}
    return AuditStudy(**settings, explainers=able), left_out


def _cheap_first(
    study: AuditStudy, left_out: tuple[str, ...], store: Store, pool: Executor, listener: Listener | None, left: _Left
) -> tuple[AuditStudy, tuple[str, ...]]:
    """The trials that need no training; where these decide every verdict, no model is trained."""
    cheap = study.model_copy(update={"train_models": False})
    target = plan(cheap)
    try:
        check_done(engine.run([target], store, pool, listener=listener, seconds=left()))
    except TimeUpError:
        raise left.over("the trials that need no training were done") from None
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
