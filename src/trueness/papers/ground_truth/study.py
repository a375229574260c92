"""Ground truth by planted evidence (Zhou et al. 2022) as a study, and the dry run: its file and its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from trueness.engine import Stored, Task, in_parts, task
from trueness.engine.worker import current_device
from trueness.errors import UserError
from trueness.kinds.text.data.planting import PLANTINGS
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.tasks import (
    dataset_task,
    read_dataset,
    read_model,
    read_vectors,
    vectors_for,
)
from trueness.models.recipes import RECIPES
from trueness.papers.texts import AnyModel, ModelsStudy, NamedDatasets, TextExplainers, trained_models
from trueness.studies.kinds import published_study
from trueness.studies.placed import Place, Placed, small
from trueness.studies.schema import Distinct, Ratio, RecipeName, Several, in_groups, known

if TYPE_CHECKING:
    import pandas as pd


class GroundTruthStudy(ModelsStudy):
    """A study of planted evidence: models are trained until they must have used it, then explained."""

    datasets: NamedDatasets
    columns: dict[str, str] = Field(default_factory=dict)
    """text_column, text_b_column, label_column of the files: where they cannot be guessed."""
    models: Distinct[AnyModel]
    """May be none where there are rationale models."""
    plantings: Several[Annotated[str, known(PLANTINGS)]]
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
    from trueness.kinds.text.models.rationale import RATIONALE_SETTINGS, check_rationale_shape  # loads torch

    made = Placed("trials")
    for name in study.datasets:
        source = dataset_task(name, None, columns=study.columns)
        for planting in study.plantings:
            where = f"{Path(name).name} with {planting}"
            data = planted(
                {"dataset": source},
                planting=planting,
                kept=study.kept,
                vectors=vectors_for(name, study.vectors),
                frozen=any("embedding" in RECIPES[recipe].frozen for recipe in _recipes(study, name)),
            )
            shown = {seed: study.examples if seed == study.seeds[0] else 0 for seed in study.seeds}
            for model in study.models:
                for seed, trained in trained_models(study, data, name, model)[False].items():
                    how = {"explainers": study.explainers, "instances": study.instances, "examples": shown[seed]}
                    done = trial({"dataset": data, "model": trained}, seed=seed, **how)
                    made.add("trials", done, dataset=where, model=model, seed=seed, part=None)
            jobs = list(itertools.product(study.selections.get(planting, []), study.seeds[: study.rationale_seeds]))
            ours = {name: value for name, value in study.shape.items() if name in RATIONALE_SETTINGS}
            if jobs and study.rationales:
                check_rationale_shape(ours if study.models else study.shape)
            for method in study.rationales:
                for some in in_groups(jobs, study.together):
                    done = rationales(
                        {"dataset": data},
                        method=method,
                        jobs=[list(job) for job in some],
                        instances=study.instances,
                        recipe=study.rationale_recipe,
                        examples=[shown[seed] for _, seed in some],
                        by_text=study.by_text,
                        shape=ours,
                    )
                    for part, (rate, seed) in enumerate(some):
                        label = f"rationale-{method}, {rate:g}"
                        made.add("trials", done, dataset=where, model=label, seed=seed, part=part)
    return summary(made.inputs, at=made.at["trials"])


def _recipes(study: GroundTruthStudy, dataset: str) -> list[str]:
    """By which models with word vectors are trained."""
    scratch = any(not TEXT_MODELS[model].pretrained for model in study.models)
    return [*([study.recipe_of(dataset)] if scratch else []), *([study.rationale_recipe] if study.rationales else [])]


@task("ground-truth/planted", version=3)
def planted(
    inputs: Mapping[str, Stored], *, planting: str, kept: float | None, vectors: str | Path | None, frozen: bool
) -> dict[str, Any]:
    """A dataset with labels drawn anew and evidence planted; `frozen` says that word vectors are not trained."""
    from trueness.data.dataset import with_splits
    from trueness.kinds.text.data.planting import bound, chosen, plant, reassignment
    from trueness.kinds.text.data.stored import pack

    texts = with_splits(read_dataset(inputs["dataset"]))
    data = plant(texts, planting, kept=kept)
    payloads = pack(data, vectors)
    if frozen and vectors is not None:
        table, numbers = payloads["vectors"]["table"], data.vocabulary.numbers
        for word in chosen(texts, planting)[0].words:
            if word in numbers and not table[numbers[word]].any():
                raise UserError(
                    f"The word vectors {Path(vectors).name} have none for the planted word {word!r}, and this recipe "
                    "does not train them: no model could see it. Give vectors that have it, or another recipe."
                )
    return {**payloads, "bound": {"bound": bound(reassignment(len(data.classes), kept))}}


@task("ground-truth/trial", version=4)
def trial(
    inputs: Mapping[str, Stored], *, seed: int, explainers: Sequence[str], instances: int, examples: int
) -> dict[str, Any]:
    """Whether a model had to use the evidence, and how well explanations of its test examples find it."""
    from trueness.papers.ground_truth.trial import trial as measure

    data = read_dataset(inputs["dataset"])
    model = read_model(inputs["model"], seed)
    bound = inputs["dataset"].read("bound")["bound"]
    found = measure(model, data["test"], explainers, bound=bound, instances=instances, shown=examples)
    return _payloads(*found, data.classes)


def _payloads(records: pd.DataFrame, facts: Mapping[str, Any], classes: Sequence[str]) -> dict[str, Any]:
    payloads: dict[str, Any] = {"facts": {**facts, "classes": list(classes)}}
    return {**payloads, "records": small(records)} if len(records) else payloads


@task("ground-truth/rationales", version=3)
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
    from trueness.kinds.text.models.rationale import train_rationales
    from trueness.papers.ground_truth.trial import trial as measure

    data = read_dataset(inputs["dataset"])
    common: dict[str, Any] = {"vectors": read_vectors(inputs["dataset"]), "device": current_device(), **shape}
    models = train_rationales(method, data, jobs, recipe=recipe, by_text=by_text, **common)
    how: dict[str, Any] = {"instances": instances, "bound": inputs["dataset"].read("bound")["bound"]}
    return in_parts(
        _payloads(*measure(model, data["test"], ["rationale"], shown=shown, **how), data.classes)
        for model, shown in zip(models, examples, strict=True)
    )


@task("ground-truth/summary", version=5, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Sequence[Place]) -> dict[str, Any]:
    """Scores, the ranking, warnings and checked claims of the whole study."""
    import pandas as pd

    from trueness.papers.ground_truth.claims import claims
    from trueness.protocols.ground_truth.summary import PlantedCell, summarise

    here: dict[tuple[str, str], list[tuple[int, Stored]]] = {}
    for place, stored in zip(at, inputs["trials"], strict=True):
        here.setdefault((place["dataset"], place["model"]), []).append((place["seed"], stored.part(place["part"])))
    cells: list[PlantedCell] = []
    strips: list[dict[str, Any]] = []
    for (dataset, model), trials in here.items():
        records = [stored.read("records").assign(seed=seed) for seed, stored in trials if stored.holds("records")]
        facts = [{**stored.read("facts"), "seed": seed} for seed, stored in trials]
        for fact in facts:
            classes = tuple(fact.pop("classes"))
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
        named = tuple(f"class {name}" for name in classes)
        cells.append(PlantedCell(dataset, model, table, tuple(facts), named))
    result = summarise(cells)
    tables = {**result.tables, **({"strips": pd.DataFrame(strips)} if strips else {})}
    return replace(result, claims=tuple(claims(cells)), tables=tables).payloads()


KIND = published_study(
    __package__,
    name="ground-truth",
    description="evidence is planted in texts; which explanations find it, of models that had to use it?",
    schema=GroundTruthStudy,
    plan=plan,
    intervals="Student's over models (seeds) that used the evidence; n counts them",
    headlines=("accuracy", "AUROC", "attribution share", "decoy share"),
)
