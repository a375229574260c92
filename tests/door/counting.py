"""Somebody else's kind of study, whole: how much of an explanation does its first token hold?"""

import pandas as pd

from trueness.engine import current_device, task
from trueness.kinds.text.data.batches import EncodedSplit
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.tasks import dataset_task, read_dataset, read_model, training
from trueness.papers.texts import AnyModel, TextDatasets, TextExplainerName
from trueness.protocols.result import Result
from trueness.protocols.scoring import Cell, share
from trueness.report.table import Table, number
from trueness.stats import t_interval
from trueness.studies import StudyKind
from trueness.studies.schema import Several, Study

HELD = share("share of the first token", null=0.2)


class CountingStudy(Study):
    datasets: TextDatasets
    models: Several[AnyModel]
    explainers: Several[TextExplainerName]


def plan(study):
    counted, at = [], []
    for name in study.datasets:
        data = dataset_task(name, None, ("train", "test"))
        for model in study.models:
            trained = training(data, model=model, recipe="dry-run", seeds=study.seeds)
            inputs = {"dataset": data, "model": trained}
            counted.append(count(inputs, explainers=study.explainers, seeds=study.seeds))
            at.append({"dataset": str(name), "model": str(model)})
    return summary({"counted": counted}, at=at)


@task("counting/count", version=1)
def count(inputs, *, explainers, seeds):
    """What the first token of every test text holds."""
    data, rows = read_dataset(inputs["dataset"]), []
    for seed in seeds:
        model = read_model(inputs["model"], seed)
        for _, batch in EncodedSplit(data["test"], model.coder, current_device()).in_order():
            for name in explainers:
                scores = TEXT_EXPLAINERS[name].attribute(model.network, batch).abs()
                first = (scores[:, 1] / scores.sum(dim=1).clamp(min=1e-9)).tolist()
                rows += [{"method": str(name), "seed": seed, "held": value} for value in first]
    return {"rows": pd.DataFrame(rows)}


@task("counting/summary", version=1, light=True)
def summary(inputs, *, at):
    """A score for every dataset, model and explainer."""
    records = pd.concat(
        [stored.read("rows").assign(**place) for stored, place in zip(inputs["counted"], at, strict=True)]
    )
    scores = [
        score
        for (dataset, model, method), some in records.groupby(["dataset", "model", "method"], sort=False)
        for score in HELD.score(Cell(dataset, model), method, t_interval(some.groupby("seed")["held"].mean()))
    ]
    return Result(records, tuple(scores)).payloads()


def tables(result, published):
    rows = [(score.dataset, score.model, score.method, number(score.value)) for score in result.scores]
    yield Table(
        "counted",
        "The first token",
        "Its share of all magnitude.",
        ("dataset", "model", "method", "share"),
        tuple(rows),
    )


KIND = StudyKind(
    name="counting",
    description="how much of an explanation its first token holds",
    schema=CountingStudy,
    plan=plan,
    tables=tables,
    intervals="Student's over seeds",
)
