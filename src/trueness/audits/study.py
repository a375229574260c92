"""Audits as a kind of study: one model and dataset or many, the same tasks on every engine, one verdict each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from trueness.audits import tasks, trained_tasks
from trueness.audits.sizes import RETRAINED
from trueness.audits.subject import subject, training_of
from trueness.engine import Stored, Task, task
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.tasks import base_models
from trueness.papers.ground_truth.study import trial
from trueness.papers.recursive_roar.study import retraining
from trueness.papers.texts import TextExplainerName
from trueness.protocols.levels import LEVELS
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import RECORDED, Distinct, Several, Study, refused

FOILS = ("random", "blurred[leave-one-out]", "token-number")
"""What knows nothing, what points less exactly than it could, and what looks at the words alone: all must fail."""

MOST, MOST_MODELS = 1_000_000, 1_000
"""Texts, and models or orders of weights: more would not be planned, let alone computed, in any time."""


def _subject(model: str) -> str:
    with refused():
        subject(model)
    return model


def _family(name: str | None, info: ValidationInfo) -> str | None:
    with refused():
        return name if name is None or info.context is RECORDED else TEXT_MODELS.reference(name)


class AuditStudy(Study):
    """An audit: models, texts, explainers, and how much of everything."""

    models: Several[Annotated[str, AfterValidator(_subject)]]
    """Folders of saved classifiers, or functions from texts to probabilities, `mine.py:predict`."""
    family: Annotated[str | None, AfterValidator(_family)] = None
    """The family of saved models that are somebody else's."""
    datasets: Several[str]
    """Files, folders or names of datasets; labels are optional."""
    columns: dict[str, str] = Field(default_factory=dict)
    """text_column, text_b_column, label_column, split: where they cannot be guessed."""
    explainers: Distinct[TextExplainerName]
    foils: Distinct[TextExplainerName] = Field(default_factory=lambda: list(FOILS))
    texts: int = Field(default=300, ge=30, le=MOST)
    """Texts that are explained."""
    fewer: dict[str, int] = Field(default_factory=dict)
    """Explainers that are asked about fewer texts, since they are slow."""
    again: int = Field(default=100, ge=30, le=MOST)
    """Texts that methods which draw at random are asked about once more."""
    edits: int = Field(default=100, ge=2, le=MOST)
    single: int = Field(default=30, ge=2, le=MOST)
    """Texts explained alone."""
    randomised: int = Field(default=50, ge=30, le=MOST)
    """Texts explained under random weights."""
    draws: int = Field(default=5, ge=1, le=MOST_MODELS)
    """Random orders of the weights; they may disagree, so that the interval covers them. One speaks of itself only."""
    layerwise: int = Field(default=10, ge=0, le=MOST)
    """Texts explained while layers are randomised one after another."""
    smooth: int = Field(default=3, ge=0, le=MOST)
    levels: Several[Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=lambda: list(LEVELS))
    """Shares of words that are hidden."""
    pool: int = Field(default=1000, ge=0, le=MOST)
    """Texts that evidence is planted in; with fewer than 100 none is."""
    trained: bool = True
    """Whether models are trained: with planted evidence, and the companion."""
    asked: str = ""
    """Digest of what was asked for, where the sizes were chosen from a budget."""
    found: int = Field(default=100, ge=30, le=MOST)
    """Texts in which planted evidence is looked for."""
    companion: int = Field(default=100, ge=0, le=MOST)
    """Texts explained on the companion, which was trained with words hidden; 0: no companion."""
    relatives: int = Field(default=0, ge=0, le=MOST)
    """Texts explained on a model from another training seed and on one trained on random labels; 0: neither."""
    retrained: int = Field(default=0, ge=0, le=MOST_MODELS)
    """Seeds of Recursive ROAR, which trains again without the words called important; 0: none."""
    bounded: int = Field(default=0, ge=0, le=MOST)
    """Short texts for which the best and the worst order of words is searched."""
    shown: int = Field(default=5, ge=0, le=MOST)
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
    repeated = {"again": study.again, "edits": study.edits, "single": study.single}
    made = Placed(
        *("explained", "randomised", "removed", "attention", "trials", "companion", "twin", "stranger"),
        *("retrained", "bounded", "examples"),
    )
    for name in names:
        number = min(study.texts, study.fewer.get(name, study.texts))
        said = tasks.explained({"texts": texts}, explainer=name, texts=number, **common, **repeated)
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
            how = {"recipe": like["recipe"], "pretrained": like["pretrained"], "shape": like["shape"]}
            model_of_seed = base_models(data, like["model"], [seed], **how)
            tried = trial({"dataset": data, "model": model_of_seed}, seed=seed, **asked)
            made.add("trials", tried, seed=seed)
        _relatives(study, made, texts, like, names, Path(dataset).name, common)
    all_said: dict[str, Any] = {"texts": texts, "explained": made.inputs["explained"]}
    if study.bounded:
        made.add("bounded", tasks.bounded(all_said, explainers=names, texts=study.bounded, **common))
    foils = [name for name in names if name in study.foils]
    made.add("examples", tasks.examples(all_said, explainers=names, foils=foils, shown=study.shown, **common))
    about = {"model": model if isinstance(model, str) else model.name, "data": Path(dataset).name}
    why = "a function has no weights to train"
    if like is not None:
        why = "no models were trained with planted evidence"
        why += "" if study.pool >= 100 else ": that takes 100 texts, and a larger budget or none"
    return verdict(
        {"texts": [texts], **made.inputs},
        explainers=names,
        foils=foils,
        levels=study.levels,
        missing_planted=why,
        planted_required=like is not None,
        about=about,
    )


def _relatives(
    study: AuditStudy,
    made: Placed,
    texts: Task,
    like: Mapping[str, Any],
    names: Sequence[str],
    dataset: str,
    common: Mapping[str, Any],
) -> None:
    """Models like the audited one, and what every method says of them; see `trained_tasks.Kin`."""
    how = {
        "recipe": "fine-tune" if like["pretrained"] else like["recipe"].replace("dry-run", "default"),
        "pretrained": like["pretrained"],
        "shape": like["shape"],
    }
    labels: dict[trained_tasks.Kin, str] = {"companion": "predicted", "twin": "predicted", "stranger": "random"}
    data = {
        each: trained_tasks.labelled({"texts": texts}, name=dataset, labels=each, **common)
        for each in ("predicted", "random")
    }
    for kin, each in labels.items():
        number = min(study.companion if kin == "companion" else study.relatives, study.texts)
        if not number:
            continue
        trained = trained_tasks.relative({"dataset": data[each]}, kin=kin, like=like["model"], **how, **common)
        for place, name in enumerate(names):
            asked = {"explainer": name, "texts": min(number, study.fewer.get(name, number)), **common}
            if kin == "companion":
                inputs = {"texts": texts, "companion": trained}
                done = trained_tasks.companion_removed(inputs, levels=study.levels, **asked)
            else:
                said = made.inputs["explained"][place]
                done = trained_tasks.compared({"texts": texts, "explained": said, "relative": trained}, **asked)
            made.add(kin, done, explainer=name)
    if study.retrained:
        seeds = list(range(study.retrained))
        methods = [name for name in names if name not in study.foils]
        done = retraining(data["predicted"], like["model"], seeds, methods, RETRAINED, **how)
        made.add("retrained", done)


def texts_of(study: AuditStudy, model: Path | str, dataset: str) -> Task:
    """The task that draws the texts and looks at them."""
    from trueness.kinds.text.data.datasets import TEXT_DATASETS, find_source

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


@task("audit/verdict", version=8, light=True)
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
