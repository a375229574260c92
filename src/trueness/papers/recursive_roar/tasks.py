"""The tasks of Recursive ROAR: what is hidden first, models trained without it, the companion, the summary."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from trueness.engine import Stored, task
from trueness.engine.worker import current_device, part_of_task
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.studies.model_tasks import read_model
from trueness.studies.text_tasks import read_dataset, read_vectors

if TYPE_CHECKING:
    from trueness.protocols.roar.step import Hiding, Trainer


Target = Literal["gold", "predicted"]
Unit = Literal["share", "tokens"]


class Training(TypedDict):
    """How models are trained: the parameters that all tasks share which train."""

    model: str
    recipe: str
    pretrained: str | Path | None
    shape: Mapping[str, Any]


def _trainer(stored: Stored, how: Training) -> Trainer:
    given = {"recipe": how["recipe"], "pretrained": how["pretrained"], "vectors": read_vectors(stored), **how["shape"]}
    return functools.partial(TEXT_MODELS[how["model"]].train, **given)


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
    from trueness.data.dataset import SPLITS
    from trueness.errors import Unsupported
    from trueness.protocols.roar.hiding import RANKS, SHARES, Amount, accumulated
    from trueness.protocols.roar.step import Coded, Trained, hide_next, method_of, nothing

    coded = Coded(read_dataset(inputs["dataset"]), current_device())
    masks: dict[str, Any] = {}
    facts: dict[str, Any] = {"sparsity": {}}
    for seed in seeds:
        model = read_model(inputs["model"], seed)
        splits = {name: coded.by(model.coder, name) for name in SPLITS}
        shown = {name: nothing(name, split) for name, split in splits.items()}
        trained = Trained(model.network, splits, shown, {})
        try:
            found = hide_next(
                trained, explainer, [Amount(each, unit) for each in amounts], seed=seed, target=target, signed=signed
            )
        except Unsupported as error:
            return {"facts": {"refused": str(error)}}
        for number, by_split in enumerate(found):
            masks |= _packed(explainer, number, seed, by_split)
        curve = accumulated(model.network, method_of(explainer, seed), splits["dev"], (*RANKS, *SHARES), target)
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
        data = read_dataset(inputs["dataset"])
        trainer = _trainer(inputs["dataset"], how)
        every = [seed for job in jobs if "test" in job for seed in seeds]
        trained = iter(retrain(trainer, data, every, hidings, current_device(), leak=leak))
        more = [Amount(each, unit) for each in amounts]
        for number, (explainer, step, job) in enumerate(zip(explainers, at, jobs, strict=True)):
            if "refused" in job:
                continue
            with part_of_task(number):
                for seed in seeds:
                    one = next(trained)
                    job["test"][str(seed)] = one.measured
                    after = hide_next(one, explainer, more, seed=seed, target=target, signed=signed)
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

    data = read_dataset(inputs["dataset"])
    trainer = _trainer(inputs["dataset"], how)
    trained = retrain(trainer, data, seeds, [everything for _ in seeds], current_device(), leak=False)
    metric = "accuracy" if data.pairs else "macro-f1"  # as the paper
    test = {str(seed): one.measured for seed, one in zip(seeds, trained, strict=True)}
    return {"facts": {"test": test, "metric": metric}}


@task("roar/companion", version=5)
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

    data = read_dataset(inputs["dataset"])
    trainer = _trainer(inputs["dataset"], how)
    steps = [Amount(each, unit) for each in amounts]
    asked: dict[str, Any] = {"target": target, "signed": signed, "bounded": bounded, "beam": beam}
    return {"facts": {"companion": list(measure(trainer, data, seeds, explainers, steps, current_device(), **asked))}}


@task("roar/summary", version=10, light=True)
def summary(
    inputs: Mapping[str, list[Stored]],
    *,
    at: Sequence[Mapping[str, Any]],
    amounts: Sequence[float],
    unit: Unit,
    target: Target,
    trained_before: Sequence[str] = (),
) -> dict[str, Any]:
    """Curves, faithfulness, guards and checked claims of the whole study."""
    import pandas as pd

    from trueness.papers.recursive_roar.claims import claims
    from trueness.protocols.roar.curves import cells_of
    from trueness.protocols.roar.summary import summarise, with_performance

    points, sparsity, refused, bounded = [], [], [], []
    metrics: dict[str, str] = {}
    for place, stored in zip(at, inputs["steps"], strict=True):
        where = {name: place[name] for name in ("dataset", "model", "method", "order", "step")}
        if stored.holds("test"):
            measured = stored.read("test")
        else:
            facts = stored.read("facts")
            if place["part"] is not None:
                facts = facts["jobs"][place["part"]]
            if "refused" in facts:
                refused.append({**where, "reason": facts["refused"]})
                continue
            measured = facts.get("test", {})
            metrics |= {place["dataset"]: facts["metric"]} if "metric" in facts else {}
            curves = facts.get("sparsity", {})
            sparsity += [{**where, "seed": int(seed), "curve": curve} for seed, curve in curves.items()]
            for one in facts.get("companion", []):
                here = {**where, "method": one["method"], "seed": one["seed"]}
                if "refused" in one:
                    continue  # known from the other orders
                steps = enumerate(zip(one["test"], [None, *one["unusual"], None], strict=True))
                points += [{**here, "step": step, **test, "unusual": share} for step, (test, share) in steps]
                bounded += [{**here, "text": text, "pair": pair} for text, pair in enumerate(one["bounded"])]
        points += [{**where, "seed": seed, **measured[str(seed)]} for seed in place["seeds"] if str(seed) in measured]
    table = pd.DataFrame(points)
    result = summarise(
        table,
        pd.DataFrame(sparsity),
        pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "reason"]),
        pd.DataFrame(bounded),
        amounts=amounts,
        unit=unit,
        target=target,
        metrics=metrics,
        trained_before=trained_before,
    )
    cells = list(cells_of(with_performance(table, metrics), amounts, unit, metrics))
    return replace(result, claims=tuple(claims(cells, result.tables["sparsity"], unit))).payloads()
