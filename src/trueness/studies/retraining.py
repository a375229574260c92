"""The chains of tasks of Recursive ROAR: what is hidden first, models trained without it, and the companion."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from trueness.data.dataset import SPLITS
from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device, part_of_task
from trueness.kinds import kind_of_stored
from trueness.protocols.roar.curves import BASELINE, MASKED, Order
from trueness.studies.placed import Placed
from trueness.studies.schema import in_groups

if TYPE_CHECKING:
    from trueness.explainers.contract import Explainer
    from trueness.kinds.contract import Kind
    from trueness.protocols.roar.step import Hiding, Retraining, Trained


Target = Literal["gold", "predicted"]
Unit = Literal["share", "tokens"]


class Training(TypedDict):
    """How models are trained: the parameters that all tasks share which train."""

    model: str
    recipe: str
    pretrained: str | Path | None
    shape: Mapping[str, Any]


class Coded:
    """The splits of a dataset, nothing hidden: coded once for models in a row that read alike, as all seeds of ours."""

    def __init__(self, data: Any) -> None:
        self._data, self._reader = data, None
        self._splits: dict[str, Any] = {}

    def by(self, model: Any) -> dict[str, Any]:
        """All of them. Models with equal coders read alike."""
        reader = getattr(model, "coder", model)
        if reader != self._reader:
            self._reader, self._splits = reader, {name: model.coded(self._data[name]) for name in SPLITS}
        return self._splits


def retraining_of(kind: Kind, data: Any, device: str, family: str = "", **how: Any) -> Retraining:
    """How models of a family are trained on a dataset; without a family only how trained ones read it."""
    from trueness.models.evaluation import evaluate
    from trueness.protocols.roar.step import Retraining

    classes = len(data.classes)

    def alone(trained: Sequence[Trained], seeds: Sequence[int], epochs: int | None) -> Sequence[float]:
        assert kind.outlines is not None
        return kind.outlines(trained[0].splits, [one.hidden for one in trained], seeds, classes, epochs)

    return Retraining(
        train=lambda seeds, views: kind.models.train(family, data, seeds, views=views, device=device, **how),
        splits=Coded(data).by,
        measure=lambda model, split: evaluate(model.network, split, classes),
        random=lambda seed: method_of(kind, BASELINE, seed),
        alone=None if kind.outlines is None else alone,
    )


def _of_task(stored: Stored, how: Training | None = None) -> tuple[Kind, Retraining]:
    kind = kind_of_stored(stored)
    data = kind.data.unpack(stored)
    given: dict[str, Any] = {}
    if how is not None:
        vectors = stored.read("vectors")["table"] if stored.holds("vectors") else None
        given = {"family": how["model"], "recipe": how["recipe"], "pretrained": how["pretrained"], "vectors": vectors}
        given = {name: value for name, value in (given | dict(how["shape"])).items() if value is not None}
    return kind, retraining_of(kind, data, current_device(), **given)


def method_of(kind: Kind, explainer: str, seed: int) -> Explainer:
    """The explainer of that name; the random one draws by the model's seed."""
    return kind.explainers[f"{BASELINE}[seed={seed}]" if explainer == BASELINE else explainer]


@task("text/performance", version=1)
def performance(inputs: Mapping[str, Stored]) -> dict[str, Any]:
    """The performance of a trained model alone: a summary needs no weights."""
    return {"test": inputs["model"].read("test")}


@task("roar/hidden", version=5)
def hidden(
    inputs: Mapping[str, Stored],
    *,
    explainer: str,
    target: Target,
    signed: bool,
    seeds: Sequence[int],
    amounts: Sequence[float],
    unit: Unit,
) -> dict[str, Any]:
    """What is hidden first, by explanations of the models that saw everything; and how sparse those are."""
    from trueness.errors import Unsupported
    from trueness.protocols.roar.hiding import RANKS, SHARES, Amount, accumulated
    from trueness.protocols.roar.step import Trained, hide_next, nothing

    kind, how = _of_task(inputs["dataset"])
    masks: dict[str, Any] = {}
    facts: dict[str, Any] = {"sparsity": {}}
    for seed in seeds:
        model = kind.models.unpack(inputs["model"], str(seed), current_device())
        method = method_of(kind, explainer, seed)
        splits = how.splits(model)
        trained = Trained(model, splits, {name: nothing(name, split) for name, split in splits.items()}, {})
        try:
            found = hide_next(trained, method, [Amount(each, unit) for each in amounts], target=target, signed=signed)
        except Unsupported as error:
            return {"facts": {"refused": str(error)}}
        for number, by_split in enumerate(found):
            masks |= _packed(explainer, number, seed, by_split)
        curve = accumulated(model.network, method, splits["dev"], (*RANKS, *SHARES), target)
        facts["sparsity"][str(seed)] = [None if value != value else float(value) for value in curve]  # noqa: PLR0124
    return {"masks": masks, "facts": facts}


@task("roar/retrained", version=2)
def retrained(
    inputs: Mapping[str, Any],
    *,
    explainers: Sequence[str],
    at: Sequence[int],
    seeds: Sequence[int],
    leak: bool | int,
    target: Target,
    signed: bool,
    amounts: Sequence[float],
    unit: Unit,
    **how: Unpack[Training],
) -> dict[str, Any]:
    """Models trained on masked texts, how they perform, and what their explanations hide next.

    For each explainer (`hidden` has what it hid) those of all seeds, at its step; all of them are trained together.
    """
    from trueness.protocols.roar.hiding import Amount
    from trueness.protocols.roar.step import hide_next, retrain

    jobs: list[dict[str, Any]] = []
    hidings: list[Hiding] = []
    masks: dict[str, Any] = {}
    for explainer, step, stored in zip(explainers, at, inputs["hidden"], strict=True):
        reason = _refusal(stored, explainer)
        jobs.append({"test": {}} if reason is None else {"refused": reason})
        if reason is None:
            masks[stored.key] = masks.get(stored.key) or stored.read("masks")
            hidings += [_hiding(masks[stored.key], explainer, step, seed) for seed in seeds]
    found: dict[str, Any] = {}
    if hidings:
        kind, family = _of_task(inputs["dataset"], how)
        every = [seed for job in jobs if "test" in job for seed in seeds]
        trained = iter(retrain(family, every, hidings, leak=leak))
        more = [Amount(each, unit) for each in amounts]
        for number, (explainer, step, job) in enumerate(zip(explainers, at, jobs, strict=True)):
            if "refused" in job:
                continue
            with part_of_task(number):
                for seed in seeds:
                    one = next(trained)
                    job["test"][str(seed)] = one.measured
                    after = hide_next(one, method_of(kind, explainer, seed), more, target=target, signed=signed)
                    for place, by_split in enumerate(after, start=step + 1):
                        found |= _packed(explainer, place, seed, by_split)
    return {"facts": {"explainers": list(explainers), "jobs": jobs}, **({"masks": found} if found else {})}


def _refusal(stored: Stored, explainer: str) -> str | None:
    """Why a model does not support this explainer, from what explained it or was trained after that."""
    facts = stored.read("facts")
    job: dict[str, str] = facts["jobs"][facts["explainers"].index(explainer)] if "jobs" in facts else facts
    return job.get("refused")


def _packed(explainer: str, step: int, seed: int, by_split: Mapping[str, Any]) -> dict[str, Any]:
    from trueness.protocols.roar.hiding import packed

    return {f"{explainer}/{step}/{seed}/{name}": packed(where) for name, where in by_split.items()}


def _hiding(masks: Mapping[str, Any], explainer: str, step: int, seed: int) -> Hiding:
    from trueness.protocols.roar.hiding import unpacked

    return lambda name, split: unpacked(masks[f"{explainer}/{step}/{seed}/{name}"], split)


@task("roar/all-hidden", version=1)
def all_hidden(inputs: Mapping[str, Stored], *, seeds: Sequence[int], **how: Unpack[Training]) -> dict[str, Any]:
    """Models trained on texts of which only the length is left (and the other text of a pair)."""
    from trueness.protocols.roar.step import everything, retrain

    kind, family = _of_task(inputs["dataset"], how)
    trained = retrain(family, seeds, [everything for _ in seeds], leak=False)
    pairs = getattr(kind.data.unpack(inputs["dataset"]), "pairs", False)
    metric = "accuracy" if pairs else "macro-f1"  # as the paper
    test = {str(seed): one.measured for seed, one in zip(seeds, trained, strict=True)}
    return {"facts": {"test": test, "metric": metric}}


@task("roar/companion", version=6)
def companion(
    inputs: Mapping[str, Stored],
    *,
    seeds: Sequence[int],
    explainers: Sequence[str],
    amounts: Sequence[float],
    unit: Unit,
    target: Target,
    signed: bool,
    bounded: int,
    beam: int,
    **how: Unpack[Training],
) -> dict[str, Any]:
    """The curves of all methods on models that were trained under all amounts of masking."""
    from trueness.protocols.roar.companion import measure
    from trueness.protocols.roar.hiding import Amount

    kind, family = _of_task(inputs["dataset"], how)
    methods = {name: None if name == BASELINE else kind.explainers[name] for name in explainers}
    steps = [Amount(each, unit) for each in amounts]
    asked: dict[str, Any] = {"target": target, "signed": signed, "bounded": bounded, "beam": beam}
    return {"facts": {"companion": list(measure(family, seeds, methods, steps, **asked))}}


@dataclass(frozen=True)
class Removal:
    """What is hidden, in which steps, and what is measured; as the fields of a study that are called the same."""

    explainers: Sequence[str]
    steps: Sequence[float]
    orders: Sequence[Order] = ("recursive",)
    unit: Unit = "share"
    target: Target = "gold"
    signed: bool = False
    leak: bool | int = False
    companion: bool = False
    bounded: int = 0
    beam: int = 0


def chains(
    study: Removal, made: Placed, data: Task, base: Task, dataset: str, how: Mapping[str, Any], *, together: int
) -> None:
    """All tasks of the seeds that are trained together, from the models that saw everything.

    So many models are trained `together`, of all seeds and of several methods.
    """
    methods, group = [BASELINE, *study.explainers], how["seeds"]
    # Labels are plain text, without the source that a name of somebody else's carries.
    where: dict[str, Any] = {"dataset": dataset, "model": str(how["model"]), "seeds": group, "part": None}
    add: Callable[..., Task] = functools.partial(made.add, "steps", **where)
    add(performance({"model": base}), step=0, method="nothing hidden", order="both")
    add(all_hidden({"dataset": data}, **how), step=len(study.steps) + 1, method="all hidden", order="both")
    explain = {"target": study.target, "signed": study.signed, "unit": study.unit}
    if study.companion:
        asked = {"explainers": methods, "bounded": study.bounded, "beam": study.beam}
        alone = companion({"dataset": data}, amounts=study.steps, **asked, **how, **explain)
        add(alone, step=0, method="all methods", order=MASKED)
    first = {}
    for method in methods:
        plain = method == BASELINE or "plain" in study.orders
        amounts = study.steps if plain else study.steps[:1]
        inputs = {"dataset": data, "model": base}
        first[method] = hidden(inputs, explainer=method, seeds=group, amounts=amounts, **explain)
        add(first[method], step=0, method=str(method), order="explained")
    many = max(1, together // len(group))
    for done, part, method, step, order in _retrained(study, data, first, {**how, **explain}, many):
        add(done, step=step, part=part, method=str(method), order=order)


def _retrained(
    study: Removal, data: Task, first: Mapping[str, Task], how: Mapping[str, Any], many: int
) -> Iterator[tuple[Task, int, str, int, str]]:
    """The tasks that train again: each with the part of it that is one method's at one step of an order.

    `many` methods of one recursive step are one task, and so are `many` steps of plain chains.
    """

    def train(jobs: Sequence[tuple[str, int]], before: Mapping[str, Task], amounts: Sequence[float]) -> Task:
        methods, at = zip(*jobs, strict=True)
        inputs: dict[str, Task | list[Task]] = {"dataset": data, "hidden": [before[method] for method in methods]}
        return retrained(inputs, explainers=methods, at=at, amounts=amounts, leak=study.leak, **how)

    begun: dict[str, tuple[Task, int]] = {}
    if "recursive" in study.orders:
        for methods in in_groups(study.explainers, many):
            before = dict(first)
            for number in range(len(study.steps)):
                # It hides what the next step hides.
                upcoming = study.steps[number + 1 : number + 2]
                done = train([(method, number) for method in methods], before, upcoming)
                before |= dict.fromkeys(methods, done)
                for part, method in enumerate(methods):
                    begun.setdefault(method, (done, part))
                    yield done, part, method, number + 1, "recursive"
    plain = [BASELINE, *(study.explainers if "plain" in study.orders else [])]
    for method in plain:
        if method in begun:  # the first step is the same in both orders
            yield *begun[method], method, 1, "plain"
    jobs = [(method, number) for method in plain for number in range(len(study.steps)) if number or method not in begun]
    for some in in_groups(jobs, many):
        done = train(some, first, [])
        for part, (method, number) in enumerate(some):
            yield done, part, method, number + 1, "plain"
