"""Ground truth by planted evidence (Zhou et al. 2022) as a study, and the dry run: its file and its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from trueness.data.planting import PLANTINGS
from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.errors import UserError
from trueness.models import TEXT_MODELS
from trueness.models.recipes import RECIPES
from trueness.studies.model_tasks import AnyModel, ModelsStudy, read_model, trained_models
from trueness.studies.schema import (
    NamedDatasets,
    Ratio,
    RecipeName,
    TextExplainers,
    as_list,
    distinct,
    in_groups,
    known,
)
from trueness.studies.text_tasks import (
    dataset_payloads,
    dataset_task,
    read_dataset,
    read_vectors,
    small,
    vectors_for,
)

PlantingName = Annotated[str, known(PLANTINGS)]
PlantingNames = Annotated[list[PlantingName], BeforeValidator(as_list), AfterValidator(distinct), Field(min_length=1)]


class GroundTruthStudy(ModelsStudy):
    """A study of planted evidence: models are trained until they must have used it, then explained."""

    datasets: NamedDatasets
    models: Annotated[list[AnyModel], BeforeValidator(as_list), AfterValidator(distinct)]
    """May be none where there are rationale models."""
    plantings: PlantingNames
    kept: Ratio | None = None
    """The chance to keep a text's own label; by default the new one does not depend on it."""
    explainers: TextExplainers
    """Those that a model cannot support are left out and named."""
    instances: int = Field(ge=2)
    """Test examples that are explained."""
    examples: int = Field(ge=0, le=1000)
    """How many instances of each first model are kept with their words."""
    rationales: list[Literal["reinforce", "hardkuma"]] = Field(default_factory=list)
    """Rationale models to train as well."""
    selections: dict[str, list[Annotated[float, Field(gt=0, lt=1)]]] = Field(default_factory=dict)
    """For each planting the rates of selection that rationale models are trained to."""
    rationale_seeds: int = Field(default=3, ge=1)
    """Rationale models of each rate: the first seeds of the study."""
    rationale_recipe: RecipeName = "rationale"
    together: int = Field(default=1, ge=1)
    """Rationale models of one planting and method that are one task: stacked on a GPU, one by one on a CPU."""
    by_text: bool = False
    """Whether the rate of selection is held text by text, as in the code behind the paper's numbers."""

    @model_validator(mode="after")
    def _something_is_trained(self) -> GroundTruthStudy:
        if not self.models and not (self.rationales and any(self.selections.get(name) for name in self.plantings)):
            raise ValueError(
                "there are neither models nor rationale models to train: name models, or rationales and the selections "
                "of a planting"
            )
        return self


def plan(study: GroundTruthStudy) -> Task:
    """Datasets, then evidence planted in them, then models, then a trial of each, then the summary."""
    trials, at = [], []
    for name in study.datasets:
        source = dataset_task(name, None)
        for planting in study.plantings:
            where = f"{Path(name).name} with {planting}"
            data = planted(
                {"dataset": source},
                planting=planting,
                kept=study.kept,
                vectors=vectors_for(name, study.vectors),
                frozen=any("embedding" in RECIPES[recipe].frozen for recipe in _recipes(study, name)),
            )
            for model in study.models:
                models = trained_models(study, data, name, model)[False]
                for seed, trained in models.items():
                    inputs = {"dataset": data, "model": trained}
                    first = study.examples if seed == study.seeds[0] else 0
                    how = {"explainers": study.explainers, "instances": study.instances, "examples": first}
                    trials.append(trial(inputs, seed=seed, **how))
                    at.append({"dataset": where, "model": model, "seed": seed, "part": None})
            jobs = list(itertools.product(study.selections.get(planting, []), study.seeds[: study.rationale_seeds]))
            for method in study.rationales:
                for some in in_groups(jobs, study.together):
                    shown = [study.examples if seed == study.seeds[0] else 0 for _, seed in some]
                    done = rationales(
                        {"dataset": data},
                        method=method,
                        jobs=[list(job) for job in some],
                        instances=study.instances,
                        recipe=study.rationale_recipe,
                        examples=shown,
                        by_text=study.by_text,
                        shape=study.shape,
                    )
                    for part, (rate, seed) in enumerate(some):
                        trials.append(done)
                        label = f"rationale-{method}, {rate:g}"
                        at.append({"dataset": where, "model": label, "seed": seed, "part": part})
    return summary({"trials": trials}, at=at)


def _recipes(study: GroundTruthStudy, dataset: str) -> list[str]:
    """By which models with word vectors are trained."""
    scratch = any(not TEXT_MODELS[model].pretrained for model in study.models)
    return [*([study.recipe_of(dataset)] if scratch else []), *([study.rationale_recipe] if study.rationales else [])]


@task("ground-truth/planted", version=2)
def planted(
    inputs: Mapping[str, Stored], *, planting: str, kept: float | None, vectors: str | Path | None, frozen: bool
) -> dict[str, Any]:
    """A dataset with labels drawn anew and evidence planted; `frozen` says that word vectors are not trained."""
    from trueness.data.planting import bound, plant, reassignment, with_splits

    data = plant(with_splits(read_dataset(inputs["dataset"])), planting, kept=kept)
    payloads = dataset_payloads(data, vectors)
    if frozen and vectors is not None:
        table, numbers = payloads["vectors"]["table"], data.vocabulary.numbers
        for word in PLANTINGS[planting](len(data.classes)).words:
            if word in numbers and not table[numbers[word]].any():
                raise UserError(
                    f"The word vectors {Path(vectors).name} have none for the planted word {word!r}, and this recipe "
                    "does not train them: no model could see it. Give vectors that have it, or another recipe."
                )
    return {**payloads, "bound": {"bound": bound(reassignment(len(data.classes), kept))}}


@task("ground-truth/trial", version=1)
def trial(
    inputs: Mapping[str, Stored], *, seed: int, explainers: Sequence[str], instances: int, examples: int
) -> dict[str, Any]:
    """Whether a model had to use the evidence, and how well explanations of its test examples find it."""
    from trueness.protocols.ground_truth.trial import trial as measure

    data = read_dataset(inputs["dataset"])
    model = read_model(inputs["model"], seed)
    bound = inputs["dataset"].read("bound")["bound"]
    records, facts = measure(model, data["test"], explainers, bound=bound, instances=instances, shown=examples)
    payloads: dict[str, Any] = {"facts": {**facts, "classes": list(data.classes)}}
    return {**payloads, "records": small(records)} if len(records) else payloads


@task("ground-truth/rationales", version=2)
def rationales(
    inputs: Mapping[str, Stored],
    *,
    method: Literal["reinforce", "hardkuma"],
    jobs: Sequence[tuple[float, int]],
    instances: int,
    recipe: str,
    examples: Sequence[int],
    by_text: bool,
    shape: Mapping[str, Any],
) -> dict[str, Any]:
    """Rationale models trained to rates of selection, and how well their selections fit the evidence."""
    from trueness.models.rationale import train_rationales
    from trueness.protocols.ground_truth.trial import trial as measure

    data = read_dataset(inputs["dataset"])
    common: dict[str, Any] = {"vectors": read_vectors(inputs["dataset"]), "device": current_device(), **shape}
    models = train_rationales(method, data, jobs, recipe=recipe, by_text=by_text, **common)
    how: dict[str, Any] = {"instances": instances, "bound": inputs["dataset"].read("bound")["bound"]}
    payloads: dict[str, Any] = {}
    for part, (model, shown) in enumerate(zip(models, examples, strict=True)):
        records, facts = measure(model, data["test"], ["rationale"], shown=shown, **how)
        payloads[f"facts_{part}"] = {**facts, "classes": list(data.classes)}
        if len(records):
            payloads[f"records_{part}"] = small(records)
    return payloads


@task("ground-truth/summary", version=3, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Scores, the ranking, warnings and checked claims of the whole study."""
    from dataclasses import replace

    import pandas as pd

    from trueness.papers.ground_truth.claims import claims
    from trueness.protocols.ground_truth.summary import PlantedCell, summarise

    cells: list[PlantedCell] = []
    strips: list[dict[str, Any]] = []
    for dataset, model in dict.fromkeys((place["dataset"], place["model"]) for place in at):
        here = [
            (place["seed"], stored, "" if place["part"] is None else f"_{place['part']}")
            for place, stored in zip(at, inputs["trials"], strict=True)
            if (place["dataset"], place["model"]) == (dataset, model)
        ]
        records = [
            stored.read(f"records{part}").assign(seed=seed)
            for seed, stored, part in here
            if stored.holds(f"records{part}")
        ]
        facts = [{**stored.read(f"facts{part}"), "seed": seed} for seed, stored, part in here]
        classes = tuple(facts[0]["classes"])
        for fact in facts:
            fact.pop("classes")
            strips += [
                {
                    **{"dataset": dataset, "model": model, "variant": f"seed {fact['seed']}"},
                    **{"instance": one["instance"], "words": one["words"], "method": method, "scores": scores},
                    **{name: classes[one[name]] for name in ("predicted", "gold")},
                }
                for one in fact.pop("shown", [])
                for method, scores in one["rows"].items()
            ]
        table = pd.concat(records, ignore_index=True) if records else pd.DataFrame()
        cells.append(PlantedCell(dataset, model, table, tuple(facts), classes))
    result = summarise(cells)
    tables = {**result.tables, **({"strips": pd.DataFrame(strips)} if strips else {})}
    return replace(result, claims=tuple(claims(cells)), tables=tables).payloads()
