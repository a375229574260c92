"""The synthetic validation of Recursive ROAR as a study: its file and its tasks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from trueness.engine import Stored, Task, task
from trueness.kinds.vector.families import VECTOR_MODELS
from trueness.kinds.vector.vectors import VECTOR_DATASETS
from trueness.papers.roar_synthetic.trial import EXPLAINERS, RemovalOrder, fit, removal_curve
from trueness.studies.kinds import published_study
from trueness.studies.schema import Part, Ratios, Several, Study, known


class Data(Part):
    """Sizes of the generated data."""

    features: int = Field(ge=2, le=10_000)
    informative: int = Field(ge=1)
    train: int = Field(ge=10)
    test: int = Field(ge=10)

    @model_validator(mode="after")
    def _some_uninformative(self) -> Data:
        if self.informative >= self.features:
            raise ValueError(f"informative must be less than features ({self.features}), not {self.informative}")
        return self


class RoarSynthetic(Study):
    """A study of removal orders on vectors."""

    datasets: Several[Annotated[str, known(VECTOR_DATASETS)]]
    models: Several[Annotated[str, known(VECTOR_MODELS)]]
    explainer: Annotated[str, known(EXPLAINERS)]
    orders: Several[RemovalOrder]
    ratios: Ratios
    margin: float = Field(gt=0, lt=0.5)
    data: Data


def plan(study: RoarSynthetic) -> Task:
    """One curve per dataset, model, order and seed; then one summary of them all."""
    common: dict[str, Any] = {"data": study.data.model_dump(), "explainer": study.explainer, "ratios": study.ratios}
    curves = [
        curve(dataset=dataset, model=model, order=order, seed=seed, **common)
        for dataset, model, order, seed in itertools.product(study.datasets, study.models, study.orders, study.seeds)
    ]
    return summary({"curves": curves}, informative=study.data.informative, margin=study.margin)


@task("roar-synthetic/curve", version=1)
def curve(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    dataset: str,
    data: Mapping[str, int],
    model: str,
    explainer: str,
    order: RemovalOrder,
    ratios: Sequence[float],
    seed: int,
) -> dict[str, Any]:
    """Accuracy of models retrained without ever more features, removed in one order."""
    drawn, train = VECTOR_DATASETS[dataset](seed, **data), functools.partial(fit, model)
    points = removal_curve(drawn, train, EXPLAINERS[explainer], order=order, ratios=ratios, seed=seed)
    where = {"dataset": dataset, "model": model, "explainer": explainer, "method": order, "seed": seed}
    return {"points": [{**where, **vars(point)} for point in points]}


@task("roar-synthetic/summary", version=5, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, informative: int, margin: float) -> dict[str, Any]:
    """Scores, bands, warnings and checked claims of all curves."""
    import pandas as pd

    from trueness.papers.roar_synthetic.summary import summarise

    points = [point for stored in inputs["curves"] for point in stored.read("points")]
    records = pd.DataFrame(points)
    records["removed"] = [" ".join(map(str, columns)) for columns in records["removed"]]
    return summarise(records, informative=informative, margin=margin).payloads()


KIND = published_study(
    __package__,
    name="roar-synthetic",
    description="removal curves on synthetic vectors: ROAR, Recursive ROAR and reference orders",
    schema=RoarSynthetic,
    plan=plan,
    intervals="Student's over draws of a mean, exact (Clopper–Pearson) of a share",
)
