"""Studies: run, plan, open, compare."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from trueness import engine, report, studies
from trueness.api.devices import check_device
from trueness.engine import Listener, LocalExecutor, ProgressFile, Store, Stored, Summary, Survey, TasksFailedError
from trueness.errors import UserError
from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score
from trueness.report import vectors
from trueness.report.measurement import first
from trueness.studies import KINDS, Study, load_study
from trueness.studies.schema import RECORDED

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_STORE = Path("runs")


@dataclass(frozen=True, repr=False)
class StudyRun:
    """A study that has run: its result, and where it is kept. In a notebook it shows its claims, scores and figures."""

    study: Study
    stored: Stored = field(repr=False)
    result: Result = field(repr=False)
    summary: Summary | None = field(default=None, repr=False)
    notice: str = ""
    """Where this is not exactly the run that was asked for: in which settings it differs."""

    def __repr__(self) -> str:
        verdicts = Counter(claim.verdict for claim in self.claims)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        return f"<StudyRun {self.study.name}: {len(self.scores)} scores; claims: {shown or 'none'}>"

    @property
    def scores(self) -> tuple[Score, ...]:
        """Values with interval, direction, null value and n."""
        return self.result.scores

    @property
    def warnings(self) -> tuple[ResultWarning, ...]:
        """Reasons to trust the result less."""
        return self.result.warnings

    @property
    def abstentions(self) -> tuple[Abstention, ...]:
        """What could not be answered."""
        return self.result.abstentions

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The paper's conclusions, checked."""
        return self.result.claims

    def to_pandas(self) -> pd.DataFrame:
        """The per-instance records."""
        return self.result.to_pandas()

    def compare(self) -> dict[str, Any]:
        """Our values beside the published ones."""
        return {**report.compare(self.study, self.result), "vectors": vectors.coverage(self.stored)}

    def plot(self, out: str | Path | None = None) -> report.Figure:
        """The first figure, which a notebook shows; `out` is where to write it: .png, .svg or .pdf."""
        return first(list(KINDS[self.study.kind].figures(self.result)), out)

    def report(self, out: str | Path | None = None, *, no_text: bool = False) -> list[Path]:
        """Write the HTML report and its figures; returns the files, the HTML first. Texts can be left out."""
        path = Path(out) if out is not None else self.stored.store.path / f"{self.study.name}.html"
        return report.write_report(self.study, self.stored, path, no_text=no_text)

    def to_json(self) -> dict[str, Any]:
        """Scores, warnings, abstentions, claims, and what the run did."""
        tasks = None
        if self.summary is not None:
            keys = ("total", "cached", "computed", "found", "damaged", "seconds")
            tasks = {key: getattr(self.summary, key) for key in keys}
        where = {"study": self.study.name, "store": str(self.stored.store.path), "result": self.stored.key}
        return {**where, "tasks": tasks, "vectors": vectors.coverage(self.stored), **self.result.to_json()}

    def _repr_html_(self) -> str:
        drawn = KINDS[self.study.kind].figures(self.result)
        pictures = "".join(figure.drawn("svg").decode() for figure in drawn)
        return f"<h3>{escape(self.study.title)}</h3>{pictures}{self.result._repr_html_()}"


def run(
    study: str | Path | Study,
    *,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    devices: Sequence[str] = ("cpu",),
    executor: Executor | str | None = None,
    listener: Listener | None = None,
    durable: bool = False,
    **settings: Any,
) -> StudyRun:
    """Run a study and return its result; what the store already holds is not computed again.

    `settings` override the study file: `seeds=5`, `data={"train": 1000}`. `workers` processes (default: one per core)
    share the `devices` in turn. Instead, `executor` names another engine, `parsl:FILE` or `dask:ADDRESS`, or is any
    PEP 3148 executor. With `durable`, every result is on the disk before it counts, and survives a power cut.
    """
    loaded = _load(study, settings)
    target = studies.plan(loaded)
    with open_executor(executor, workers, devices) as chosen:
        place = Store.open(store, create=True, durable=durable)
        with ProgressFile(place, loaded.name, loaded.title, listener) as watched:
            summary = engine.run([target], place, chosen, listener=watched)
    if not summary.complete:
        raise TasksFailedError(summary)
    place.record_run(loaded.name, target.key, _plain(loaded))
    stored = place.get(target.key)
    return StudyRun(loaded, stored, report.read_result(loaded, stored), summary)


def dry_run(data: str | Path, **settings: Any) -> StudyRun:
    """Plant evidence in your texts, train models that must use it, and rank explainers by how surely they find it.

    `data` is a dataset's name, a file or a folder; settings as of `run("dry-run")`: `models`, `plantings`,
    `explainers`, `seeds`, `store`, `workers`, `devices`.
    """
    from trueness.data.image_datasets import IMAGE_DATASETS, is_images

    of_images = str(data) in IMAGE_DATASETS or is_images(Path(data))
    return run("ground-truth-images" if of_images else "dry-run", datasets=str(data), **settings)


def open_executor(
    executor: Executor | str | None, workers: int | None, devices: Sequence[str]
) -> contextlib.AbstractContextManager[Executor]:
    """What computes the tasks; a given executor stays open."""
    if isinstance(executor, str):
        if workers is not None or tuple(devices) != ("cpu",):
            raise UserError(f"{executor} has its own workers and devices; leave out both settings.")
        return engine.open_engine(executor)
    return _local(workers, devices) if executor is None else contextlib.nullcontext(executor)


def _local(workers: int | None, devices: Sequence[str]) -> LocalExecutor:
    if workers is not None and not isinstance(workers, int):
        raise UserError(f"The number of workers must be a whole number, not {workers!r}.")
    number = workers if workers is not None else engine.cores()
    if number < 1:
        raise UserError(f"The number of workers must be at least 1, not {number}.")
    if not devices:
        raise UserError("At least one device must be named, such as cpu or cuda:0.")
    for device in devices:
        check_device(device)
    return LocalExecutor([devices[index % len(devices)] for index in range(number)])


def _load(study: str | Path | Study, settings: Mapping[str, Any]) -> Study:
    if isinstance(study, Study):
        if settings:
            raise UserError("Settings apply to a study's name or file, not to one that is loaded already.")
        return study
    return load_study(study, settings)


def _plain(study: Study) -> dict[str, Any]:
    return dict(json.loads(study.model_dump_json()))


@dataclass(frozen=True)
class Plan:
    """What running a study would do."""

    study: Study
    tasks: dict[str, dict[str, int]]
    """Task name to how many there are in all, in the store, and to be computed."""
    damaged: tuple[str, ...]
    workers: int
    seconds: float | None
    """Estimated seconds until the end; None where no task of the plan has run in this store."""
    critical_path: float | None
    """Estimated seconds of the longest chain of tasks: no number of workers is faster."""
    guessed: tuple[str, ...]
    """Tasks to be computed of which none has run, so that other tasks' times stand for theirs."""
    in_vain: float | None = None
    """Seconds for which the study was tried without any task coming to its end."""
    simulated: Mapping[int, float] = field(default_factory=dict)
    """The same estimate for other numbers of workers, each with a core or device of its own."""

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {
            "study": self.study.name,
            "tasks": self.tasks,
            "total": sum(row["total"] for row in self.tasks.values()),
            "cached": sum(row["cached"] for row in self.tasks.values()),
            "damaged": list(self.damaged),
            "workers": self.workers,
            "seconds": self.seconds,
            "critical_path_seconds": self.critical_path,
            "tried_in_vain_seconds": self.in_vain,
            "guessed": list(self.guessed),
            "simulated": {str(number): seconds for number, seconds in self.simulated.items()},
        }


def plan(
    study: str | Path | Study,
    *,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    probe: float | None = None,
    **settings: Any,
) -> Plan:
    """The tasks a study expands to, what the store holds of them, and how long the rest takes.

    How long is known from tasks that have run. With `probe`, where none has, the study runs for so many seconds; what
    it finishes stays in the store.
    """
    loaded = _load(study, settings)
    path = Path(store)
    tried = probe is not None and _probed(loaded, path, workers, probe)
    place = Store.open(path) if path.is_file() or (path.is_dir() and any(path.iterdir())) else None
    found = engine.survey([studies.plan(loaded)], place)
    total = Counter(task.type.name for task in found.tasks)
    needed = Counter(task.type.name for task in found.needed.values())
    slots = workers or engine.cores()
    timed = bool(found.intact) or not found.needed
    measured = {task.type.name for task in found.tasks if task.key in found.intact}
    longest = max(engine.chains(found.tasks, found.timing, found.needed).values(), default=0.0) if timed else None
    seconds = engine.ends_after(found.tasks, found.timing, found.needed, slots) if timed else None
    return Plan(
        study=loaded,
        tasks={
            name: {"total": count, "cached": count - needed[name], "to_compute": needed[name]}
            for name, count in total.items()
        },
        damaged=tuple(error.key for error in found.damaged),
        workers=slots,
        seconds=seconds,
        critical_path=longest,
        guessed=tuple(name for name in needed if name not in measured),
        in_vain=probe if tried and not timed else None,
        simulated=_simulated(found) if timed and found.needed else {},
    )


def _probed(study: Study, path: Path, workers: int | None, seconds: float) -> bool:
    """Run a study for some seconds, unless the store knows how long its tasks take; whether it did."""
    target = studies.plan(study)
    place = Store.open(path, create=True)
    if engine.survey([target], place).intact:
        return False
    with contextlib.suppress(engine.TimeUpError), _local(workers, ("cpu",)) as executor:
        engine.run([target], place, executor, seconds=seconds)
    return True


def _simulated(found: Survey) -> dict[int, float]:
    """Seconds with 10, 100 and 1,000 workers that do not slow one another, as on several machines."""
    timing = copy(found.timing)
    timing.crowding = 0.0
    return {number: engine.ends_after(found.tasks, timing, found.needed, number) for number in (10, 100, 1000)}


def open_run(study: str | Path, *, store: str | Path = DEFAULT_STORE, **settings: Any) -> StudyRun:
    """The finished run of a study in a store.

    With settings, or where the study was run as it stands: exactly that run. Otherwise the newest run of that name, and
    `notice` says which settings differ.
    """
    place = Store.open(store)
    loaded = load_study(study, settings)
    records = place.runs(loaded.name)
    key = _key(loaded, records)
    notice = ""
    if key is None or not place.has(key):
        if settings or not records:
            exactly = " with exactly these settings (repeat every --set of the run, or none for the newest)"
            raise UserError(
                f"The store {place.path} holds no finished run of {loaded.name}{exactly if settings else ''}; "
                "run it there first."
            )
        asked, loaded = loaded, _recorded(records[-1], place)
        key = str(records[-1]["result"])
        differ = ", ".join(sorted(_differences(_plain(asked), _plain(loaded))))
        notice = f"showing the newest run of {loaded.name}, which differs from the study file in: {differ}"
    stored = place.get(key)
    try:
        result = report.read_result(loaded, stored)
    except engine.DamagedObjectError as error:
        raise UserError(f"The result in {place.path} cannot be used ({error}); run the study again.") from error
    return StudyRun(loaded, stored, result, notice=notice)


def _key(study: Study, records: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of a study's result; where its data are not on this machine, that of a recorded run of it."""
    try:
        return studies.plan(study).key
    except UserError:
        same = [str(record["result"]) for record in records if record["study"] == _plain(study)]
        return same[-1] if same else None


def _recorded(record: Mapping[str, Any], place: Store) -> Study:
    try:
        return KINDS[record["study"]["kind"]].schema.model_validate(record["study"], context=RECORDED)
    except (ValidationError, UserError, KeyError, TypeError) as error:
        raise UserError(
            f"The newest run in {place.path} was made by another version of trueness; run it again."
        ) from error


def _differences(first: Mapping[str, Any], second: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted keys in which two studies differ."""
    for key in first.keys() | second.keys():
        a, b = first.get(key), second.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _differences(a, b, f"{prefix}{key}.")
        elif a != b:
            yield f"{prefix}{key}"


def compare(study: str | Path, *, store: str | Path = DEFAULT_STORE, **settings: Any) -> dict[str, Any]:
    """Our values beside the published ones, and the paper's conclusions as checked claims."""
    return open_run(study, store=store, **settings).compare()
