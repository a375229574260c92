"""Audits as a kind of study: one model and dataset or many, the same tasks on every engine, one verdict each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from trueness.audits import tasks, trained_tasks
from trueness.audits.subject import subject, training_of
from trueness.engine import Stored, Task, task
from trueness.papers.ground_truth.study import trial
from trueness.protocols.levels import LEVELS
from trueness.studies.model_tasks import fine_tuned, training
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import Distinct, Ratio, Several, Study, TextExplainerName, refused

if TYPE_CHECKING:
    pass

FOILS = ("random", "blurred[leave-one-out]", "token-number")
"""What knows nothing, what points less exactly than it could, and what looks at the words alone: all must fail."""


def _subject(model: str) -> str:
    with refused():
        subject(model)
    return model


class AuditStudy(Study):
    """An audit: models, texts, explainers, and how much of everything."""

    models: Several[Annotated[str, AfterValidator(_subject)]]
    """Folders of saved classifiers, or functions from texts to probabilities, `mine.py:predict`."""
    family: str | None = None
    """The family of saved models that are somebody else's."""
    datasets: Several[str]
    """Files, folders or names of datasets; labels are optional."""
    columns: dict[str, str] = Field(default_factory=dict)
    """text_column, text_b_column, label_column, split: where they cannot be guessed."""
    explainers: Distinct[TextExplainerName]
    foils: Distinct[TextExplainerName] = Field(default_factory=lambda: list(FOILS))
    texts: int = Field(default=300, ge=30)
    """Texts that are explained."""
    fewer: dict[str, int] = Field(default_factory=dict)
    """Explainers that are asked about fewer texts, since they are slow."""
    again: int = Field(default=100, ge=30)
    """Texts that methods which draw at random are asked about once more."""
    edits: int = Field(default=100, ge=2)
    single: int = Field(default=30, ge=2)
    """Texts explained alone."""
    randomised: int = Field(default=100, ge=30)
    """Texts explained under random weights."""
    draws: int = Field(default=2, ge=1)
    """Sets of random weights."""
    layerwise: int = Field(default=10, ge=0)
    """Texts explained while layers are randomised one after another."""
    smooth: int = Field(default=3, ge=0)
    levels: list[Ratio] = Field(default_factory=lambda: list(LEVELS))
    """Shares of words that are hidden."""
    pool: int = Field(default=1000, ge=0)
    """Texts that evidence is planted in; with fewer than 100 none is."""
    trained: bool = True
    """Whether models are trained: with planted evidence, and the companion."""
    asked: str = ""
    """Digest of what was asked for, where the sizes were chosen from a budget."""
    found: int = Field(default=100, ge=30)
    """Texts in which planted evidence is looked for."""
    companion: int = Field(default=100, ge=0)
    """Texts explained on the companion, which was trained with words hidden; 0: no companion."""
    bounded: int = Field(default=0, ge=0)
    """Short texts for which the best and the worst order of words is searched."""
    shown: int = Field(default=5, ge=0)
    """Texts in the report."""


def plan(study: AuditStudy) -> Task:
    """For every model and dataset: texts, explanations, trials, models with planted evidence, and the verdict."""
    done = Placed("audits")
    for model in study.models:
        for dataset in study.datasets:
            done.add("audits", audit_of(study, subject(model), dataset), model=model, dataset=dataset)
    return summary(done.inputs, at=done.at["audits"])


def audit_of(study: AuditStudy, model: Path | str, dataset: str) -> Task:
    """The task that gives one model's verdicts."""
    common: dict[str, Any] = {"model": model, "family": study.family}
    texts = texts_of(study, model, dataset)
    names = [*study.explainers, *(foil for foil in study.foils if foil not in study.explainers)]
    how = {"again": study.again, "edits": study.edits, "single": study.single}
    made = Placed("explained", "randomised", "removed", "attention", "trials", "companion", "bounded", "examples")
    for name in names:
        number = min(study.texts, study.fewer.get(name, study.texts))
        said = tasks.explained({"texts": texts}, explainer=name, texts=number, **common, **how)
        made.add("explained", said, explainer=name)
        both = {"texts": texts, "explained": said}
        weights = {"seeds": list(range(study.draws)), "layerwise": study.layerwise, "smooth": study.smooth}
        shaken = tasks.randomised(both, explainer=name, texts=min(study.randomised, number), **common, **weights)
        made.add("randomised", shaken, explainer=name)
        made.add("removed", tasks.removed(both, levels=study.levels, **common), explainer=name)
        looked = tasks.attention({"texts": texts}, explainer=name, texts=min(study.randomised, number), **common)
        made.add("attention", looked, explainer=name)
    like = training_of(model, study.family)
    if like is not None and study.pool >= 100 and study.trained:
        data = trained_tasks.planted({"texts": texts}, name=Path(dataset).name, **common)
        for seed in study.seeds:
            asked = {"explainers": names, "instances": study.found, "examples": 0}
            tried = trial({"dataset": data, "model": _trained(data, like, seed)}, seed=seed, **asked)
            made.add("trials", tried, seed=seed)
        if study.companion:
            masked = trained_tasks.companion(
                {"texts": texts},
                name=Path(dataset).name,
                like=like["model"],
                recipe="fine-tune" if like["pretrained"] else like["recipe"].replace("dry-run", "default"),
                pretrained=like["pretrained"],
                shape=like.get("shape", {}),
                **common,
            )
            for name in names:
                number = min(study.companion, study.fewer.get(name, study.companion))
                hidden = trained_tasks.companion_removed(
                    {"texts": texts, "companion": masked},
                    explainer=name,
                    texts=number,
                    levels=study.levels,
                    **common,
                )
                made.add("companion", hidden, explainer=name)
    all_said: dict[str, Any] = {"texts": texts, "explained": made.inputs["explained"]}
    if study.bounded:
        made.add("bounded", tasks.bounded(all_said, explainers=names, texts=study.bounded, **common))
    foils = [name for name in names if name in study.foils]
    made.add("examples", tasks.examples(all_said, explainers=names, foils=foils, shown=study.shown, **common))
    about = {"model": model if isinstance(model, str) else model.name, "data": Path(dataset).name}
    why = "a function has no weights to train" if like is None else "no models were trained with planted evidence"
    return verdict(
        {"texts": [texts], **made.inputs},
        explainers=names,
        foils=foils,
        levels=study.levels,
        missing_planted=why,
        planted_required=like is not None,
        about=about,
    )


def texts_of(study: AuditStudy, model: Path | str, dataset: str) -> Task:
    """The task that draws the texts and looks at them."""
    from trueness.data.text_datasets import TEXT_DATASETS, find_source

    named = dataset in TEXT_DATASETS
    source = find_source(dataset)[0] if named else Path(dataset)
    return tasks.texts(
        name=dataset if named else None,
        source=source,
        columns=study.columns,
        model=model,
        family=study.family,
        texts=study.texts,
        pool=study.pool,
        seed=study.seeds[0],
    )


def _trained(data: Task, like: Mapping[str, Any], seed: int) -> Task:
    if like["pretrained"] is None:
        return training(data, model=like["model"], recipe=like["recipe"], seeds=[seed], shape=like["shape"])
    more = {} if like["built_in"] else {"model": like["model"]}
    how = {"pretrained": like["pretrained"], "recipe": like["recipe"], "uniform": False}
    return fine_tuned({"dataset": data}, seed=seed, **how, **more)


@task("audit/verdict", version=1, light=True)
def verdict(inputs: Mapping[str, list[Stored]], **how: Any) -> dict[str, Any]:
    """Every explainer judged; what can be said is in `gather`."""
    from trueness.audits.gathering import gather

    return {"audit": json.loads(gather(inputs, **how).model_dump_json())}


@task("audit/summary", version=1, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Sequence[Place]) -> dict[str, Any]:
    """All audits of a study: verdicts as scores, and the leaderboard."""
    from trueness.audits.leaderboard import result_of

    return result_of(
        [(place, stored.read("audit")) for place, stored in zip(at, inputs["audits"], strict=True)]
    ).payloads()
