"""Recursive ROAR (Madsen et al. 2022) on texts as a study: its file, and the chains of tasks it forms."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from trueness.engine import Task
from trueness.explainers.contract import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.papers.recursive_roar.tasks import all_hidden, companion, hidden, retrained, summary
from trueness.protocols.roar.curves import BASELINE, MASKED
from trueness.protocols.roar.removal import Order
from trueness.studies.model_tasks import ModelsStudy, base_models, performance, trained_models
from trueness.studies.placed import Placed
from trueness.studies.schema import NamedDatasets, Several, TextExplainerName, as_list, in_groups
from trueness.studies.text_tasks import dataset_task


class RecursiveRoarStudy(ModelsStudy):
    """A study that masks what is called important and trains again, step by step."""

    datasets: NamedDatasets
    together: int = Field(default=15, ge=1)
    """So many of our own models, of all seeds and of several methods, are one task: stacked on a GPU, one after the
    other on a CPU."""
    explainers: Several[TextExplainerName]
    """Beside the random baseline, which is always there; blurred[NAME] is a foil of NAME."""
    orders: Several[Order]
    """recursive explains again at every step, plain only the model that saw everything."""
    unit: Literal["share", "tokens"] = "share"
    steps: Annotated[list[FiniteFloat], BeforeValidator(as_list), Field(min_length=1)]
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
    beam: int = Field(default=5, ge=0)
    """Width of the search for those bounds, 0 for two orders alone; short texts are searched completely."""

    @model_validator(mode="after")
    def _steps_increase(self) -> RecursiveRoarStudy:
        if any(after <= before for before, after in itertools.pairwise(self.steps)) or self.steps[0] <= 0:
            raise ValueError("the steps must be above 0 and increase")
        if self.unit == "share" and self.steps[-1] >= 1:
            raise ValueError("shares must be below 1: everything hidden is measured anyway")
        if self.unit == "tokens" and any(step != int(step) for step in self.steps):
            raise ValueError("with unit = tokens the steps are whole numbers, such as [1, 2, 3]")
        without = [name for name in self.explainers if self.signed and not TEXT_EXPLAINERS[name].facts.signed]
        if without:
            raise ValueError(
                f"{', '.join(without)} {'has' if len(without) == 1 else 'have'} no sign; leave out, or signed"
            )
        if BASELINE in self.explainers:
            raise ValueError("random is always there as the baseline; leave it out")
        return self


def plan(study: RecursiveRoarStudy) -> Task:
    """Chains of train, explain, mask; what all methods share (nothing hidden, all hidden, random) is done once."""
    made = Placed("steps")
    for name in study.datasets:
        data = dataset_task(name, study.vectors, ("train", "dev", "test"))
        for model in study.models:
            for group in in_groups(study.seeds, 1 if TEXT_MODELS[model].pretrained else study.together):
                how = {"model": model, "seeds": group, **study.how(name, model)}
                some = study.model_copy(update={"seeds": group})
                base = trained_models(some, data, name, model)[False][group[0]]
                _chains(study, made, data, base, Path(name).name, how)
    before = {"trained_before": names} if (names := _trained_before(study)) else {}
    how = {"amounts": study.steps, "unit": study.unit, "target": study.target}
    return summary(made.inputs, at=made.at["steps"], **how, **before)


def retraining(
    data: Task, model: str, seeds: Sequence[int], explainers: Sequence[str], steps: Sequence[float], **how: Any
) -> Task:
    """The summary of one dataset and family: as a study would have it, without guards and companion."""
    settings: dict[str, Any] = {"explainers": list(explainers), "orders": ["recursive"], "steps": list(steps)}
    settings |= {"target": "gold", "leak": False, "companion": False}
    study = RecursiveRoarStudy.model_construct(**settings)
    made = Placed("steps")
    for group in in_groups(seeds, 1 if TEXT_MODELS[model].pretrained else study.together):
        base = base_models(data, model, group, **how)
        _chains(study, made, data, base, "texts", {"model": model, "seeds": group, **how})
    return summary(made.inputs, at=made.at["steps"], amounts=list(steps), unit="share", target="gold")


def _chains(
    study: RecursiveRoarStudy, made: Placed, data: Task, base: Task, dataset: str, how: Mapping[str, Any]
) -> None:
    """All tasks of the seeds that are trained together, from the models that saw everything."""
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
    many = max(1, (1 if TEXT_MODELS[how["model"]].pretrained else study.together) // len(group))
    for done, part, method, step, order in _retrained(study, data, first, {**how, **explain}, many):
        add(done, step=step, part=part, method=str(method), order=order)


def _trained_before(study: RecursiveRoarStudy) -> list[str]:
    """The models that begin as a classifier."""
    from trueness.kinds.text.models.pretrained import find_pretrained, is_classifier

    names = [model for model in study.models if TEXT_MODELS[model].pretrained]
    return names if names and is_classifier(find_pretrained(study.pretrained)) else []


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
