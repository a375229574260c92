"""What the command line does, as functions."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from trueness import engine, report, studies
from trueness.data import TEXT_DATASETS, VECTOR_DATASETS, TextDataset, VectorDataset, load_text
from trueness.engine import Listener, LocalExecutor, Store, Stored, Summary
from trueness.errors import UserError
from trueness.explainers import VECTOR_EXPLAINERS
from trueness.models import TEXT_MODELS, VECTOR_MODELS
from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score
from trueness.registry import Registry
from trueness.report.heatmap import Explanation
from trueness.studies import KINDS, Study, builtin_studies, load_study

if TYPE_CHECKING:
    import pandas as pd

    from trueness.data import TextExample
    from trueness.models.recipes import Recipe
    from trueness.models.text_model import TextModel

DEFAULT_STORE = Path("runs")


class StudyFailedError(Exception):
    """Some tasks of a study failed; everything that does not depend on them is in the store."""

    def __init__(self, summary: Summary) -> None:
        super().__init__(summary)
        self.summary = summary

    def __str__(self) -> str:
        first, more = self.summary.failures[0], len(self.summary.failures) - 1
        also = f" ({more} more failed)" if more else ""
        return f"{first}{also}; {len(self.summary.blocked)} tasks that need it were not tried."


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
        return report.compare(self.study, self.result)

    def report(self, out: str | Path | None = None) -> list[Path]:
        """Write the HTML report and its figures; returns the files, the HTML first."""
        path = Path(out) if out is not None else self.stored.store.path / f"{self.study.name}.html"
        return report.write_report(self.study, self.stored, path)

    def to_json(self) -> dict[str, Any]:
        """Scores, warnings, abstentions, claims, and what the run did."""
        tasks = None
        if self.summary is not None:
            keys = ("total", "cached", "computed", "found", "damaged", "seconds")
            tasks = {key: getattr(self.summary, key) for key in keys}
        where = {"study": self.study.name, "store": str(self.stored.store.path), "result": self.stored.key}
        return {**where, "tasks": tasks, **self.result.to_json()}

    def _repr_html_(self) -> str:
        drawn = report.figures(self.study.kind, self.result)
        pictures = "".join(report.figure_bytes(figure, "svg").decode() for figure in drawn)
        return f"<h3>{escape(self.study.title)}</h3>{pictures}{self.result._repr_html_()}"


def run(
    study: str | Path | Study,
    *,
    store: str | Path = DEFAULT_STORE,
    workers: int | None = None,
    devices: Sequence[str] = ("cpu",),
    executor: Executor | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> StudyRun:
    """Run a study and return its result; what the store already holds is not computed again.

    `settings` override the study file: `seeds=5`, `data={"train": 1000}`. `workers` processes (default: one per core)
    share the `devices` in turn; any other PEP 3148 `executor` may take their place.
    """
    loaded = _load(study, settings)
    target = studies.plan(loaded)
    place = Store.open(store, create=True)
    if executor is not None:
        summary = engine.run([target], place, executor, listener=listener)
    else:
        with _local(workers, devices) as local:
            try:
                summary = engine.run([target], place, local, listener=listener)
            except BaseException:
                local.shutdown(cancel_futures=True)
                raise
    if not summary.complete:
        raise StudyFailedError(summary)
    place.record_run(loaded.name, target.key, _plain(loaded))
    stored = place.get(target.key)
    return StudyRun(loaded, stored, report.read_result(stored), summary)


def _local(workers: int | None, devices: Sequence[str]) -> LocalExecutor:
    if workers is not None and not isinstance(workers, int):
        raise UserError(f"The number of workers must be a whole number, not {workers!r}.")
    number = workers if workers is not None else max(1, len(os.sched_getaffinity(0)))
    if number < 1:
        raise UserError(f"The number of workers must be at least 1, not {number}.")
    if not devices:
        raise UserError("At least one device must be named, such as cpu or cuda:0.")
    for device in devices:
        _check_device(device)
    return LocalExecutor([devices[index % len(devices)] for index in range(number)])


def _check_device(device: str) -> None:
    match = re.fullmatch(r"cpu|(cuda|mps)(?::(\d+))?", device)
    if not match:
        raise UserError(f"There is no device {device!r}; use cpu, cuda:0, cuda:1, ... or mps.")
    if match[1]:
        import torch

        module = torch.cuda if match[1] == "cuda" else torch.mps
        count = module.device_count() if module.is_available() else 0
        if int(match[2] or 0) >= count:
            raise UserError(f"The device {device} is not there: torch finds {count} of that kind.")


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
        }


def plan(
    study: str | Path | Study, *, store: str | Path = DEFAULT_STORE, workers: int | None = None, **settings: Any
) -> Plan:
    """The tasks a study expands to, what the store holds of them, and how long the rest takes."""
    loaded = _load(study, settings)
    path = Path(store)
    place = Store.open(path) if path.is_file() or (path.is_dir() and any(path.iterdir())) else None
    found = engine.survey([studies.plan(loaded)], place)
    total = Counter(task.type.name for task in found.tasks)
    needed = Counter(task.type.name for task in found.needed.values())
    slots = workers or max(1, len(os.sched_getaffinity(0)))
    work = found.timing.total(needed)
    longest = (
        None if work is None else max(engine.chains(found.tasks, found.timing, found.needed).values(), default=0.0)
    )
    return Plan(
        study=loaded,
        tasks={
            name: {"total": count, "cached": count - needed[name], "to_compute": needed[name]}
            for name, count in total.items()
        },
        damaged=tuple(error.key for error in found.damaged),
        workers=slots,
        seconds=None if work is None or longest is None else max(work / slots, longest),
        critical_path=longest,
    )


def open_run(study: str | Path, *, store: str | Path = DEFAULT_STORE, **settings: Any) -> StudyRun:
    """The finished run of a study in a store.

    With settings, or where the study was run as it stands: exactly that run. Otherwise the newest run of that name, and
    `notice` says which settings differ.
    """
    place = Store.open(store)
    loaded = load_study(study, settings)
    key = studies.plan(loaded).key
    notice = ""
    if not place.has(key):
        records = place.runs(loaded.name)
        if settings or not records:
            exactly = " with exactly these settings (repeat every --set of the run, or none for the newest)"
            raise UserError(
                f"The store {place.path} holds no finished run of {loaded.name}{exactly if settings else ''}; "
                "run it there first."
            )
        asked, loaded = loaded, _recorded(records[-1], place)
        key = studies.plan(loaded).key
        differ = ", ".join(sorted(_differences(_plain(asked), _plain(loaded))))
        notice = f"showing the newest run of {loaded.name}, which differs from the study file in: {differ}"
    stored = place.get(key)
    try:
        result = report.read_result(stored)
    except engine.DamagedObjectError as error:
        raise UserError(f"The result in {place.path} cannot be used ({error}); run the study again.") from error
    return StudyRun(loaded, stored, result, notice=notice)


def _recorded(record: Mapping[str, Any], place: Store) -> Study:
    try:
        return KINDS[record["study"]["kind"]].schema.model_validate(record["study"])
    except (ValidationError, KeyError, TypeError) as error:
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


def load_dataset(name: str, **options: Any) -> VectorDataset | TextDataset:
    """A dataset by name, file, folder or hub name; see `docs/data.md`.

    Options of vectors: `seed` and sizes; of text: `root` (where the papers' corpora lie) and parts of the preparation.
    """
    if name in VECTOR_DATASETS:
        return VECTOR_DATASETS[name](options.pop("seed", 0), **options)
    return load_text(name, **options)


def train(
    model: str,
    data: str | TextDataset,
    *,
    recipe: str | Recipe | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    vectors: str | Path | None = None,
    device: str = "cpu",
    state: str | Path | None = None,
    **shape: Any,
) -> TextModel:
    """Train a text classifier: `tn.train("bilstm-additive", "movie-sentences")`.

    `data` is a dataset or the name of one. `recipe` names how to train (see `trueness list recipe`); `shape` sets the
    model's sizes (`hidden=32`). With `state`, a folder, an interrupted training continues where it stopped.
    """
    from trueness.models import training

    _check_device(device)
    loaded = load_text(data, root=root) if isinstance(data, str) else data
    return training.train(model, loaded, recipe=recipe, seed=seed, device=device, vectors=vectors, state=state, **shape)


def load_model(path: str | Path, device: str = "cpu") -> TextModel:
    """A trained text classifier from its folder."""
    from trueness.models import text_model

    _check_device(device)
    return text_model.load_model(path, device)


def evaluate(model: TextModel, data: TextDataset, split: str = "test") -> dict[str, float]:
    """How well a model predicts a split: cross-entropy, accuracy, macro-F1, and for two classes AUC and F1."""
    from trueness.data.batches import EncodedSplit
    from trueness.models import training

    return training.evaluate(
        model.network, EncodedSplit(data[split], model.vocabulary, model.device), len(model.classes)
    )


def explain(
    model: TextModel,
    texts: Sequence[str] | Sequence[TextExample],
    explainer: str = "attention",
    *,
    others: Sequence[str] | None = None,
    target: str | int = "predicted",
) -> list[Explanation]:
    """One explanation per text: `tn.explain(model, ["a fine film"], "leave-one-out")`.

    `texts` are new texts (`others` the second texts of pairs) or examples of a dataset. `target` is predicted, gold (of
    examples only), or a class by name or number.
    """
    from trueness.explainers.catalogue import TEXT_EXPLAINERS
    from trueness.explainers.text import evaluating, target_class

    method = TEXT_EXPLAINERS[explainer]
    given = [text for text in texts if isinstance(text, str)]
    if given and target == "gold":
        raise UserError("New texts have no gold label; the target must be predicted or a class.")
    examples = model.read(given, others) if given else [item for item in texts if not isinstance(item, str)]
    if not examples:
        return []
    chosen: Any = model.classes.index(target) if isinstance(target, str) and target in model.classes else target
    batch = model.batch(examples)
    with evaluating(model.network):
        logits = model.network(batch).logits
        probability = logits.softmax(dim=-1)
    classes = target_class(logits, batch, chosen).tolist()
    scores = method.attribute(model.network, batch, chosen).tolist()
    found = []
    for row, example in enumerate(examples):
        best = int(probability[row].argmax())
        found.append(
            Explanation(
                explainer=explainer,
                tokens=example.tokens,
                scores=tuple(scores[row][1 : len(example.tokens) + 1]),
                predicted=model.classes[best],
                probability=float(probability[row, best]),
                target=model.classes[classes[row]],
                known=tuple(token in model.vocabulary.numbers for token in example.tokens),
            )
        )
    return found


def names() -> dict[str, dict[str, str]]:
    """Everything that has a name: kind to name to description."""
    from trueness.explainers.catalogue import TEXT_EXPLAINERS
    from trueness.models.recipes import RECIPES

    kinds: dict[str, tuple[Registry[Any], ...]] = {
        "dataset": (VECTOR_DATASETS, TEXT_DATASETS),
        "model": (VECTOR_MODELS, TEXT_MODELS),
        "recipe": (RECIPES,),
        "explainer": (VECTOR_EXPLAINERS, TEXT_EXPLAINERS),
    }
    listed = {
        kind: {name: registry.describe(name) for registry in registries for name in registry}
        for kind, registries in kinds.items()
    }
    found = {name: load_study(name).title for name in builtin_studies()}
    return {"study": found, **listed}
