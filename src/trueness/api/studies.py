"""Studies: run, open, compare."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from trueness import engine, report, studies
from trueness.api.bar import listening
from trueness.api.executors import open_executor
from trueness.boundary import because
from trueness.engine import Listener, ProgressFile, Store, Stored, Summary, TasksFailedError
from trueness.errors import UserError
from trueness.plugins import told_by
from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score
from trueness.report import vectors
from trueness.report.measurement import first
from trueness.studies import KINDS, Study, load_study
from trueness.studies.schema import RECORDED

if TYPE_CHECKING:
    import pandas as pd

    from trueness.kinds.contract import Kind

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
    loaded = loaded_study(study, settings)
    target = studies.plan(loaded)
    with open_executor(executor, workers, devices) as chosen:
        place = Store.open(store, create=True, durable=durable)
        with listening(listener) as hears, ProgressFile(place, loaded.name, loaded.title, hears) as watched:
            summary = engine.run([target], place, chosen, listener=watched)
    if not summary.complete:
        raise TasksFailedError(summary)
    place.record_run(loaded.name, target.key, _plain(loaded))
    stored = place.get(target.key)
    return StudyRun(loaded, stored, report.read_result(loaded, stored), summary)


def dry_run(
    data: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    models: Sequence[str] | str | None = None,
    explainers: Sequence[str] | str | None = None,
    seeds: int | None = None,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    devices: Sequence[str] = ("cpu",),
    executor: Executor | str | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> StudyRun:
    """Plant evidence in your data, train models that must use it, and rank explainers by how surely they find it.

    Args:
        data: a dataset's name, a file or a folder, of any kind.
        columns: text_column, text_b_column, label_column, where they cannot be guessed.
        models: what is trained, by name.
        explainers: what is ranked, by name.
        seeds: how many models are trained of each.
        store: the folder of results; running again continues.
        workers: how many processes; by default one per core.
        devices: what these share: cpu, cuda:0.
        executor: another engine, see `tn.run`.
        listener: hears of progress, instead of a bar.
        **settings: other keys of the study, such as `plantings` of texts.
    """
    from trueness.api.audited import check_done
    from trueness.api.models import described
    from trueness.audits.dry_run import study_of
    from trueness.kinds import kind_of_data

    if not isinstance(data, str | Path):
        raise UserError(f"A dry run needs a dataset's name, a file or a folder; not {described(data)}.")
    kind = kind_of_data(data)
    _check_enough(kind, str(data), columns)
    asked = {"columns": dict(columns) if columns else None, "models": models, "explainers": explainers, "seeds": seeds}
    settings |= {name: value for name, value in asked.items() if value is not None}
    how: dict[str, Any] = {"store": store, "workers": workers, "devices": devices}
    try:
        if kind.dry_run:
            return run(kind.dry_run, datasets=str(data), executor=executor, listener=listener, **how, **settings)
        return run(study_of(str(data), **settings), executor=executor, listener=listener, **how)
    except TasksFailedError as error:
        check_done(error.summary)
        raise


def _check_enough(kind: Kind, name: str, columns: Mapping[str, str] | None) -> None:
    """Refuse a file or folder of so few examples that nothing could be told from them."""
    from trueness.audits.rule import FEWEST

    if name in kind.data.datasets and not columns:
        return
    if name.startswith("hf:"):
        return
    found = kind.data.read(name, columns=columns)
    if (number := sum(map(len, found.splits.values()))) < FEWEST:
        examples = kind.words.examples
        raise UserError(f"{name} has {number} {examples}: a dry run needs {FEWEST} at least{because(found.notes)}.")


def loaded_study(study: str | Path | Study, settings: Mapping[str, Any]) -> Study:
    """By its name or file, with settings changed; one that is loaded stays as it is."""
    if isinstance(study, Study):
        if settings:
            raise UserError("Settings apply to a study's name or file, not to one that is loaded already.")
        return study
    return load_study(study, settings)


def _plain(study: Study) -> dict[str, Any]:
    return dict(json.loads(study.model_dump_json()))


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
        with told_by(place.path):
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
