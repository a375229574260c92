"""Recursive ROAR (Madsen et al. 2022) on texts as a study: its file, its tasks, and the chains they form."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.studies.schema import (
    NamedDatasets,
    RecipeName,
    Shape,
    Study,
    TextExplainerName,
    WordVectors,
    as_list,
    distinct,
)
from trueness.studies.text_tasks import dataset_task, read_dataset, read_vectors, release_memory
from trueness.studies.transformer_tasks import (
    TRANSFORMER,
    AnyModels,
    FineTuningName,
    performance,
    read_any_model,
    trained_models,
)

if TYPE_CHECKING:
    from trueness.protocols.roar.step import Hiding, Maker

BASELINE = "random"
MASKED = "masked training"
"""The order of the companion: one explanation of one model, which is not trained again."""
Order = Literal["recursive", "plain"]
Orders = Annotated[list[Order], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]
Explainers = Annotated[list[TextExplainerName], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]


class RecursiveRoarStudy(Study):
    """A study that masks what is called important and trains again, step by step."""

    datasets: NamedDatasets
    models: AnyModels
    vectors: WordVectors
    """Word vectors of our own models: a file, glove-6b-50d (in a package), or none."""
    recipe: RecipeName
    recipes: dict[str, RecipeName] = Field(default_factory=dict)
    """Recipes of single datasets, instead of `recipe`."""
    shape: Shape = Field(default_factory=dict)
    pretrained: str
    """The transformer that is fine-tuned: a folder, or minilm-l6 (in a package)."""
    fine_tuning: FineTuningName
    together: int = Field(default=5, ge=1)
    """Our own models of so many seeds are one task: side by side on a GPU, one after the other on a CPU."""
    explainers: Explainers
    """Beside the random baseline, which is always there; blurred[NAME] is a foil of NAME."""
    orders: Orders
    """recursive explains again at every step, plain only the model that saw everything."""
    unit: Literal["share", "tokens"] = "share"
    steps: Annotated[list[float], Field(min_length=1)]
    """Hidden in all at each step: shares of a text, rounded down, or numbers of tokens."""
    target: Literal["gold", "predicted"]
    signed: bool = False
    """Whether only what speaks for the target is important; by default, what speaks for or against it."""
    leak: bool = True
    """Whether to measure what the masks alone tell of the label."""
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

    @property
    def trained_together(self) -> list[list[int]]:
        """The seeds in groups of one task each."""
        return [self.seeds[begin : begin + self.together] for begin in range(0, len(self.seeds), self.together)]


def plan_recursive_roar(study: RecursiveRoarStudy) -> Task:
    """Chains of train, explain, mask; what all methods share (nothing hidden, all hidden, random) is done once."""
    steps: list[Task] = []
    at: list[dict[str, Any]] = []

    def add(done: Task, where: Mapping[str, Any], seeds: Sequence[int], step: int, **more: Any) -> Task:
        steps.append(done)
        at.append({**where, "seeds": list(seeds), "step": step, **more})
        return done

    last = len(study.steps) + 1
    for name in study.datasets:
        data = dataset_task(name, study.vectors)
        for model in study.models:
            where = {"dataset": Path(name).name, "model": model}
            for group in [[seed] for seed in study.seeds] if model == TRANSFORMER else study.trained_together:
                how = _how(study, name, model, group)
                some = study.model_copy(update={"seeds": group})
                base = trained_models(some, data, model, study.recipes.get(name, study.recipe))[False][group[0]]
                add(performance({"model": base}), where, group, 0, method="nothing hidden", order="both")
                add(all_hidden({"dataset": data}, **how), where, group, last, method="all hidden", order="both")
                if study.companion:
                    names = [BASELINE, *study.explainers]
                    explain = {"explainers": names, "amounts": study.steps, "unit": study.unit, "target": study.target}
                    bounds = {"signed": study.signed, "bounded": study.bounded, "beam": study.beam}
                    alone = companion({"dataset": data}, **how, **explain, **bounds)
                    add(alone, where, group, 0, method="all methods", order=MASKED)
                for method in (BASELINE, *study.explainers):
                    orders = ["plain"] if method == BASELINE else study.orders
                    for done, step, order in _chains(study, data, base, how, method, orders):
                        add(done, where, group, step, method=method, order=order)
    return summary({"steps": steps}, at=at, amounts=study.steps, unit=study.unit, target=study.target)


def _chains(
    study: RecursiveRoarStudy, data: Task, base: Task, how: Mapping[str, Any], method: str, orders: Sequence[str]
) -> Iterator[tuple[Task, int, str]]:
    """The tasks of one method, each with its step and the order it belongs to."""
    explain = {"explainer": method, "target": study.target, "signed": study.signed, "unit": study.unit}
    amounts = study.steps if "plain" in orders else study.steps[:1]
    first = hidden({"dataset": data, "model": base}, seeds=how["seeds"], amounts=amounts, **explain)
    yield first, 0, "explained"
    common = {"leak": study.leak, **how, **explain}
    before = first
    for number in range(len(study.steps)):
        step = number + 1
        if "recursive" in orders:
            # It hides what the next step hides.
            upcoming = study.steps[step : step + 1]
            before = retrained({"dataset": data, "hidden": before}, at=number, amounts=upcoming, **common)
            yield before, step, "recursive"
        if "plain" in orders:
            # The first step is the same in both orders.
            same = number == 0 and "recursive" in orders
            plain = before if same else retrained({"dataset": data, "hidden": first}, at=number, amounts=[], **common)
            yield plain, step, "plain"


def _how(study: RecursiveRoarStudy, dataset: str, model: str, seeds: Sequence[int]) -> dict[str, Any]:
    """How models are made, as parameters of a task."""
    if model == TRANSFORMER:
        from trueness.models.transformer import find_pretrained

        folder = find_pretrained(study.pretrained)
        return {"model": model, "recipe": study.fine_tuning, "pretrained": folder, "seeds": seeds, "shape": {}}
    recipe = study.recipes.get(dataset, study.recipe)
    return {"model": model, "recipe": recipe, "pretrained": None, "seeds": seeds, "shape": study.shape}


def _maker(stored: Stored, model: str, recipe: str, pretrained: str | Path | None, shape: Mapping[str, Any]) -> Maker:
    from trueness.protocols.roar.step import Maker

    folder = None if pretrained is None else Path(pretrained)
    return Maker(model, recipe, read_vectors(stored), dict(shape), folder)


@task("roar/hidden", version=1)
def hidden(
    inputs: Mapping[str, Stored],
    *,
    explainer: str,
    target: Literal["gold", "predicted"],
    signed: bool,
    seeds: Sequence[int],
    amounts: Sequence[float],
    unit: Literal["share", "tokens"],
) -> dict[str, Any]:
    """What is hidden first, by explanations of the models that saw everything; and how sparse those are."""
    from trueness.data.batches import EncodedSplit
    from trueness.errors import UserError
    from trueness.protocols.roar.hiding import Amount, packed
    from trueness.protocols.roar.sparsity import RANKS, SHARES, accumulated
    from trueness.protocols.roar.step import SPLITS, Trained, hide_next, method_of, nothing

    data, device = read_dataset(inputs["dataset"]), current_device()
    masks: dict[str, Any] = {}
    facts: dict[str, Any] = {"sparsity": {}}
    for seed in seeds:
        model = read_any_model(inputs["model"], seed)
        splits = {name: EncodedSplit(data[name], model.coder, device) for name in SPLITS}
        shown = {name: nothing(name, split) for name, split in splits.items()}
        trained = Trained(model.network, splits, shown, {})
        try:
            found = hide_next(
                trained, explainer, [Amount(each, unit) for each in amounts], seed=seed, target=target, signed=signed
            )
        except UserError as error:
            return {"facts": {"refused": str(error)}}
        for number, by_split in enumerate(found):
            masks |= {f"{number}/{seed}/{name}": packed(where) for name, where in by_split.items()}
        curve = accumulated(model.network, method_of(explainer, seed), splits["dev"], (*RANKS, *SHARES), target)
        facts["sparsity"][str(seed)] = [None if value != value else float(value) for value in curve]  # noqa: PLR0124
    release_memory()
    return {"masks": masks, "facts": facts}


@task("roar/retrained", version=1)
def retrained(
    inputs: Mapping[str, Stored],
    *,
    at: int,
    model: str,
    recipe: str,
    pretrained: str | Path | None,
    shape: Mapping[str, Any],
    seeds: Sequence[int],
    leak: bool,
    explainer: str,
    target: Literal["gold", "predicted"],
    signed: bool,
    amounts: Sequence[float],
    unit: Literal["share", "tokens"],
) -> dict[str, Any]:
    """Models trained on masked texts, how they perform, and what their explanations hide next."""
    from trueness.protocols.roar.hiding import Amount, packed
    from trueness.protocols.roar.step import hide_next, retrain

    if "refused" in inputs["hidden"].read("facts"):
        return {"facts": inputs["hidden"].read("facts")}
    data = read_dataset(inputs["dataset"])
    masks = inputs["hidden"].read("masks")
    hidings: list[Hiding] = [_hiding(masks, at, seed) for seed in seeds]
    maker = _maker(inputs["dataset"], model, recipe, pretrained, shape)
    trained = retrain(maker, data, seeds, hidings, current_device(), leak=leak)
    found: dict[str, Any] = {}
    for seed, one in zip(seeds, trained, strict=True):
        more = [Amount(each, unit) for each in amounts]
        for place, by_split in enumerate(
            hide_next(one, explainer, more, seed=seed, target=target, signed=signed) if more else []
        ):
            found |= {f"{at + 1 + place}/{seed}/{name}": packed(where) for name, where in by_split.items()}
    payloads: dict[str, Any] = {
        "facts": {"test": {str(seed): one.measured for seed, one in zip(seeds, trained, strict=True)}}
    }
    release_memory()
    return {**payloads, "masks": found} if found else payloads


def _hiding(masks: Mapping[str, Any], step: int, seed: int) -> Hiding:
    from trueness.protocols.roar.hiding import unpacked

    return lambda name, split: unpacked(masks[f"{step}/{seed}/{name}"], split)


@task("roar/all-hidden", version=1)
def all_hidden(
    inputs: Mapping[str, Stored],
    *,
    model: str,
    recipe: str,
    pretrained: str | Path | None,
    shape: Mapping[str, Any],
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Models trained on texts of which only the length is left (and the other text of a pair)."""
    from trueness.protocols.roar.step import everything, retrain

    data = read_dataset(inputs["dataset"])
    maker = _maker(inputs["dataset"], model, recipe, pretrained, shape)
    trained = retrain(maker, data, seeds, [everything for _ in seeds], current_device(), leak=False)
    release_memory()
    metric = "accuracy" if data.pairs else "macro-f1"  # as the paper
    test = {str(seed): one.measured for seed, one in zip(seeds, trained, strict=True)}
    return {"facts": {"test": test, "metric": metric}}


@task("roar/companion", version=1)
def companion(
    inputs: Mapping[str, Stored],
    *,
    model: str,
    recipe: str,
    pretrained: str | Path | None,
    shape: Mapping[str, Any],
    seeds: Sequence[int],
    explainers: Sequence[str],
    amounts: Sequence[float],
    unit: Literal["share", "tokens"],
    target: Literal["gold", "predicted"],
    signed: bool,
    bounded: int,
    beam: int,
) -> dict[str, Any]:
    """The curves of all methods on models that were trained under all amounts of masking."""
    from trueness.protocols.roar.companion import measure
    from trueness.protocols.roar.hiding import Amount

    data = read_dataset(inputs["dataset"])
    maker = _maker(inputs["dataset"], model, recipe, pretrained, shape)
    steps = [Amount(each, unit) for each in amounts]
    how: dict[str, Any] = {"target": target, "signed": signed, "bounded": bounded, "beam": beam}
    found = list(measure(maker, data, seeds, explainers, steps, current_device(), **how))
    release_memory()
    return {"facts": {"companion": found}}


@task("roar/summary", version=1)
def summary(
    inputs: Mapping[str, list[Stored]],
    *,
    at: Sequence[Mapping[str, Any]],
    amounts: Sequence[float],
    unit: Literal["share", "tokens"],
    target: Literal["gold", "predicted"],
) -> dict[str, Any]:
    """Curves, faithfulness, guards and checked claims of the whole study."""
    import pandas as pd

    from trueness.protocols.roar.summary import summarise

    points, sparsity, refused, bounded = [], [], [], []
    metrics: dict[str, str] = {}
    for place, stored in zip(at, inputs["steps"], strict=True):
        where = {name: place[name] for name in ("dataset", "model", "method", "order", "step")}
        if stored.holds("test"):
            measured = stored.read("test")
        else:
            facts = stored.read("facts")
            if "refused" in facts:
                refused.append({**where, "reason": facts["refused"]})
                continue
            measured = facts.get("test", {})
            metrics |= {place["dataset"]: facts["metric"]} if "metric" in facts else {}
            sparsity += [
                {**where, "seed": int(seed), "curve": curve} for seed, curve in facts.get("sparsity", {}).items()
            ]
            for one in facts.get("companion", []):
                here = {**where, "method": one["method"], "seed": one["seed"]}
                if "refused" in one:
                    continue  # known from the other orders
                unusual = [None, *one["unusual"], None]
                points += [
                    {**here, "step": step, **measured_here, "unusual": share}
                    for step, (measured_here, share) in enumerate(zip(one["test"], unusual, strict=True))
                ]
                bounded += [{**here, "text": text, "pair": pair} for text, pair in enumerate(one["bounded"])]
        points += [{**where, "seed": seed, **measured[str(seed)]} for seed in place["seeds"] if str(seed) in measured]
    return summarise(
        pd.DataFrame(points),
        pd.DataFrame(sparsity),
        pd.DataFrame(refused, columns=["dataset", "model", "method", "order", "step", "reason"]),
        pd.DataFrame(bounded),
        amounts=amounts,
        unit=unit,
        target=target,
        metrics=metrics,
    ).payloads()
