"""Recursive ROAR (Madsen et al. 2022) on texts as a study: its file, and the chains of tasks it forms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from trueness.engine import Task
from trueness.papers.recursive_roar.tasks import all_hidden, companion, hidden, retrained, summary
from trueness.protocols.roar.curves import BASELINE, MASKED
from trueness.studies.schema import (
    NamedDatasets,
    TextExplainerName,
    as_list,
    distinct,
    in_groups,
)
from trueness.studies.text_tasks import check_shape, dataset_task
from trueness.studies.transformer_tasks import (
    TRANSFORMER,
    ModelsStudy,
    performance,
    trained_models,
)

Order = Literal["recursive", "plain"]
Orders = Annotated[list[Order], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]
Explainers = Annotated[list[TextExplainerName], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]


class RecursiveRoarStudy(ModelsStudy):
    """A study that masks what is called important and trains again, step by step."""

    datasets: NamedDatasets
    together: int = Field(default=15, ge=1)
    """So many of our own models, of all seeds and of several methods, are one task: stacked on a GPU, one after the
    other on a CPU."""
    explainers: Explainers
    """Beside the random baseline, which is always there; blurred[NAME] is a foil of NAME."""
    orders: Orders
    """recursive explains again at every step, plain only the model that saw everything."""
    unit: Literal["share", "tokens"] = "share"
    steps: Annotated[list[float], BeforeValidator(as_list), Field(min_length=1)]
    """Hidden in all at each step: shares of a text, rounded down, or numbers of tokens."""
    target: Literal["gold", "predicted"]
    signed: bool = False
    """Whether only what speaks for the target is important; by default, what speaks for or against it."""
    leak: bool | Annotated[int, Field(ge=1)] = True
    """Whether to measure what the masks alone tell of the label; a number is for how many epochs, instead of eight."""
    companion: bool = True
    """Whether to measure the same curves on one model per seed that was trained under all amounts of masking."""
    bounded: int = Field(default=20, ge=0)
    """Test texts of which comprehensiveness and sufficiency are measured, between their bounds, on the companion."""
    beam: int = Field(default=5, ge=1)
    """Width of the search for those bounds; short texts are searched completely."""

    @model_validator(mode="after")
    def _steps_increase(self) -> RecursiveRoarStudy:
        if any(after <= before for before, after in itertools.pairwise(self.steps)) or self.steps[0] <= 0:
            raise ValueError("the steps must be above 0 and increase")
        if self.unit == "share" and self.steps[-1] >= 1:
            raise ValueError("shares must be below 1: everything hidden is measured anyway")
        if self.unit == "tokens" and any(step != int(step) for step in self.steps):
            raise ValueError("with unit = tokens the steps are whole numbers, such as [1, 2, 3]")
        if self.signed and any(name.startswith("blurred[") for name in self.explainers):
            raise ValueError("blurred copies have no sign; leave them out, or signed")
        if BASELINE in self.explainers:
            raise ValueError("random is always there as the baseline; leave it out")
        return self


def plan(study: RecursiveRoarStudy) -> Task:
    """Chains of train, explain, mask; what all methods share (nothing hidden, all hidden, random) is done once."""
    steps: list[Task] = []
    at: list[dict[str, Any]] = []

    def add(done: Task, where: Mapping[str, Any], seeds: Sequence[int], step: int, **more: Any) -> Task:
        steps.append(done)
        at.append({**where, "seeds": list(seeds), "step": step, "part": None, **more})
        return done

    last = len(study.steps) + 1
    for name in study.datasets:
        data = dataset_task(name, study.vectors, ("train", "dev", "test"))
        for model in study.models:
            where = {"dataset": Path(name).name, "model": model}
            together = 1 if model == TRANSFORMER else study.together
            for group in in_groups(study.seeds, together):
                how = _how(study, name, model, group)
                some = study.model_copy(update={"seeds": group})
                base = trained_models(some, data, model, study.recipe_of(name))[False][group[0]]
                add(performance({"model": base}), where, group, 0, method="nothing hidden", order="both")
                add(all_hidden({"dataset": data}, **how), where, group, last, method="all hidden", order="both")
                explain = {"target": study.target, "signed": study.signed, "unit": study.unit}
                if study.companion:
                    names = [BASELINE, *study.explainers]
                    bounds = {"bounded": study.bounded, "beam": study.beam}
                    alone = companion(
                        {"dataset": data}, explainers=names, amounts=study.steps, **how, **explain, **bounds
                    )
                    add(alone, where, group, 0, method="all methods", order=MASKED)
                first = {}
                for method in (BASELINE, *study.explainers):
                    plain = method == BASELINE or "plain" in study.orders
                    amounts = study.steps if plain else study.steps[:1]
                    inputs = {"dataset": data, "model": base}
                    first[method] = hidden(inputs, explainer=method, seeds=group, amounts=amounts, **explain)
                    add(first[method], where, group, 0, method=method, order="explained")
                many = max(1, together // len(group))
                for done, part, method, step, order in _retrained(study, data, first, {**how, **explain}, many):
                    add(done, where, group, step, part=part, method=method, order=order)
    before = {"trained_before": [TRANSFORMER]} if TRANSFORMER in study.models and _trained_before(study) else {}
    return summary({"steps": steps}, at=at, amounts=study.steps, unit=study.unit, target=study.target, **before)


def _trained_before(study: RecursiveRoarStudy) -> bool:
    from trueness.models.pretrained import find_pretrained, is_classifier

    return is_classifier(find_pretrained(study.pretrained))


def _retrained(
    study: RecursiveRoarStudy, data: Task, first: Mapping[str, Task], how: Mapping[str, Any], many: int
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


def _how(study: RecursiveRoarStudy, dataset: str, model: str, seeds: Sequence[int]) -> dict[str, Any]:
    """How models are made, as parameters of a task."""
    if model == TRANSFORMER:
        from trueness.models.pretrained import find_pretrained

        folder = find_pretrained(study.pretrained)
        return {"model": model, "recipe": study.fine_tuning, "pretrained": folder, "seeds": seeds, "shape": {}}
    recipe = study.recipe_of(dataset)
    check_shape(model, recipe, study.shape)
    return {"model": model, "recipe": recipe, "pretrained": None, "seeds": seeds, "shape": study.shape}
