"""AtteFa (2022) and the four tests of Wiegreffe and Pinter (2019) as a study: its file and its tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.tasks import dataset_task, read_dataset, read_model, read_vectors, training
from trueness.models.recipes import Divergence
from trueness.papers.texts import AttentiveStudy, shape_of
from trueness.studies.kinds import published_study
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import Distinct, Several

KL_WEIGHT = 0.001
"""Of a guide's twin under Kullback-Leibler: of the order that Wiegreffe and Pinter report."""

Weight = Annotated[float, Field(gt=0)]


class AttefaStudy(AttentiveStudy):
    """A study of twins. The first seeds are those of base models; every seed gives a twin and a retrained model."""

    bases: int = Field(default=1, ge=1)
    """How many base models have twins; the seeds of twins are shared among them. With one, scores have no interval."""
    as_published: bool
    """Whether twins are also chosen on the test split, with weight 1, as in the paper."""
    weights: Distinct[Weight]
    """How much divergence counts against the change of prediction; inf: divergence alone."""
    curve_seeds: int = Field(ge=0)
    """With how many of the seeds twins of all weights are trained."""
    divergence: Divergence
    temperatures: Several[Annotated[Weight, Field(allow_inf_nan=False)]]
    """Of the base model's softmax and its twins'."""
    uniform: bool
    """Whether the same encoder is trained with uniform weights too."""
    guides: bool
    """Whether an encoder without context is trained under the base model's, a twin's and uniform attention."""


def plan(study: AttefaStudy) -> Task:
    """Datasets, then base models (every seed), then their twins, then the summary."""
    made, base = Placed("runs", "uniform", "guides"), study.seeds[0]
    # Each base model with the seeds of its twins.
    bases = [(seed, study.seeds[place :: study.bases]) for place, seed in enumerate(study.seeds[: study.bases])]
    # JSON has no infinity.
    weights = [None if math.isinf(weight) else weight for weight in study.weights]
    for name in study.datasets:
        data = dataset_task(name, study.vectors, ("train", "test"))
        for model in study.models:
            for temperature in study.temperatures:
                plain = temperature == 1.0
                label = model if plain else f"{model}, temperature {temperature:g}"
                place = {"dataset": name, "model": label}
                shape = shape_of(model, study.shape) | ({} if plain else {"temperature": temperature})
                common: dict[str, Any] = {"recipe": study.recipe, "seeds": study.seeds}
                both = {"dataset": data, "models": training(data, model=model, shape=shape, **common)}
                for one, seeds in bases:
                    others = [seed for seed in study.seeds if seed != one]
                    made.add("runs", retrained(both, base=one, seeds=others), **place)
                    if study.as_published:
                        ones = [[seed, 1.0] for seed in seeds]
                        how = {"recipe": "twin@attefa2022", "divergence": "jensen-shannon"}
                        made.add("runs", twins(both, base=one, jobs=ones, **how), **place)
                    few = [seed for seed in seeds if seed in study.seeds[: study.curve_seeds]]
                    jobs = [[seed, weight] for weight in weights for seed in few]
                    if jobs:
                        how = {"recipe": "twin", "divergence": study.divergence}
                        made.add("runs", twins(both, base=one, jobs=jobs, **how), **place)
                if study.guides:
                    more = {"divergence": study.divergence, "shape": shape_of("average-frozen", study.shape)}
                    made.add("guides", guides(both, base=base, **common, **more), **place)
                if study.uniform and (flat := TEXT_MODELS[model].uniform):
                    flat_models = training(data, model=flat, shape=shape_of(flat, study.shape), **common)
                    made.add("uniform", flat_models, **place)
    return summary(made.inputs, at=made.at)


@task("attefa/retrained", version=3)
def retrained(inputs: Mapping[str, Stored], *, base: int, seeds: Sequence[int]) -> dict[str, Any]:
    """The base model on the test split, and how far the same training from other seeds is apart from it."""
    from trueness.kinds.text.attention.twin_comparisons import Base
    from trueness.protocols.attefa.cell import RETRAINED

    data = read_dataset(inputs["dataset"])
    first = Base(read_model(inputs["models"], base), data["test"])
    others = [(_labels(RETRAINED, seed, math.nan, 0), read_model(inputs["models"], seed)) for seed in seeds]
    payloads: dict[str, Any] = {"base": {**first.facts(), "seed": base}}
    if others:
        runs, payloads["records"] = first.measure(others)
        payloads["runs"] = runs.assign(base=base)
    return payloads


@task("attefa/twins", version=2)
def twins(
    inputs: Mapping[str, Stored],
    *,
    base: int,
    jobs: Sequence[tuple[int, float | None]],
    recipe: str,
    divergence: Divergence,
) -> dict[str, Any]:
    """Twins of one base model, trained side by side: (seed, weight) each, no weight for divergence alone."""
    from trueness.kinds.text.attention.twin_comparisons import Base
    from trueness.kinds.text.models.twins import train_twins

    data, model = read_dataset(inputs["dataset"]), read_model(inputs["models"], base)
    common: dict[str, Any] = {"vectors": read_vectors(inputs["dataset"]), "device": current_device()}
    weighted = [(seed, math.inf if weight is None else weight) for seed, weight in jobs]
    found = train_twins(model, data, weighted, recipe=recipe, divergence=divergence, **common)
    labelled = [(_labels(recipe, twin.seed, twin.weight, twin.epoch), twin.model) for twin in found]
    runs, records = Base(model, data["test"]).measure(labelled)
    return {"runs": runs.assign(base=base), "records": records}


@task("attefa/guides", version=1)
def guides(
    inputs: Mapping[str, Stored],
    *,
    base: int,
    seeds: Sequence[int],
    recipe: str,
    divergence: Divergence,
    shape: Mapping[str, Any],
) -> dict[str, Any]:
    """An encoder without context under attention from outside: uniform, the base model's, a twin's, and its own."""
    from trueness.kinds.text.attention.guided_training import guided
    from trueness.kinds.text.models.twins import train_twins

    data, model = read_dataset(inputs["dataset"]), read_model(inputs["models"], base)
    common: dict[str, Any] = {"vectors": read_vectors(inputs["dataset"]), "device": current_device()}
    weight = 1.0 if divergence == "jensen-shannon" else KL_WEIGHT
    (twin,) = train_twins(model, data, [(base, weight)], divergence=divergence, **common)
    return {"guides": guided(data, model, twin.model, seeds, recipe=recipe, **common, **shape)}


@task("attefa/summary", version=6, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Mapping[str, list[Place]]) -> dict[str, Any]:
    """Scores, tables, warnings and checked claims of the whole study."""
    from dataclasses import replace

    import pandas as pd

    from trueness.kinds.text.attention.twin_comparisons import performance
    from trueness.papers.attefa.claims import claims
    from trueness.protocols.attefa.cell import LEARNED_MODEL, RETRAINED, UNIFORM_MODEL, TwinCell
    from trueness.protocols.attefa.summary import summarise

    cells, records = [], []
    for dataset, model in dict.fromkeys((place["dataset"], place["model"]) for place in at["runs"]):
        place = {"dataset": dataset, "model": model}
        here = {
            name: [stored for stored, where in zip(inputs[name], at[name], strict=True) if where == place]
            for name in inputs
        }
        with_runs = [part for part in here["runs"] if part.holds("runs")]
        if not with_runs:
            continue
        bases = [part.read("base") for part in here["runs"] if part.holds("base")]
        about = bases[0]
        runs = pd.concat([part.read("runs") for part in with_runs], ignore_index=True)
        again = runs[(runs["method"] == RETRAINED) & (runs["base"] == about["seed"])]
        metrics = [(LEARNED_MODEL, about["seed"], about["performance"])]
        metrics += [(LEARNED_MODEL, row.seed, row.performance) for row in again.itertuples()]
        for part in here["uniform"]:
            metrics += [(UNIFORM_MODEL, seed, performance(test)) for seed, test in part.read("test").items()]
        for part in here["guides"]:
            metrics += [(row.guide, row.seed, row.value) for row in part.read("guides").itertuples()]
        table = pd.DataFrame([{"what": what, "seed": int(seed), "value": value} for what, seed, value in metrics])
        records += [part.read("records").assign(**place) for part in with_runs]
        cells.append(TwinCell(dataset, model, tuple(bases), runs, table))
    result = summarise(cells, pd.concat(records, ignore_index=True))
    return replace(result, claims=tuple(claims(cells))).payloads()


def _labels(method: str, seed: int, weight: float, epoch: int) -> dict[str, Any]:
    return {"method": method, "weight": weight, "seed": seed, "epoch": epoch}


KIND = published_study(
    __package__,
    name="attefa",
    description="twins that predict the same but attend elsewhere, retrained and uniform models, attention as a guide",
    schema=AttefaStudy,
    plan=plan,
    intervals="Student's over base models, or over seeds where each is a model; n counts them",
    headlines=("AtteFa", "AtteFa*", "F1 of a guided model"),
)
