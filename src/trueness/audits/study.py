"""Audits as a kind of study: one model and dataset or many, the same tasks for every kind of input, one verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from trueness.audits import tasks, trained_tasks
from trueness.audits.sizes import LEAST_POOL, PLANTED_ON, RETRAINED, by_new_names
from trueness.audits.subject import MEMORY, family_of, kind_on, subject
from trueness.engine import Stored, Task, task
from trueness.kinds import KINDS
from trueness.kinds.contract import Kind
from trueness.papers.recursive_roar.study import retraining
from trueness.protocols.levels import LEVELS
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import RECORDED, Distinct, Seeds, Several, Study, refused

LARGEST = 1500
"""Examples that are read, unless more are asked for: no audit by a budget looks at more."""

MOST, MOST_MODELS = 1_000_000, 1_000
"""Examples, and models or orders of weights: more would not be planned, let alone computed, in any time."""


def _subject(model: str) -> str:
    with refused():
        subject(model)
    return model


class AuditStudy(Study):
    """An audit: models, data, explainers, and how much of everything."""

    models: Several[Annotated[str, AfterValidator(_subject)]]
    """Folders of saved classifiers, or functions that give probabilities, `mine.py:predict`."""
    family: str | None = None
    """The family of saved models that are somebody else's."""
    datasets: Several[str]
    """Files, folders or names of datasets; labels are optional."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Such as text_column, label_column, split: where they cannot be guessed."""
    explainers: Distinct[str]
    foils: Distinct[str] | None = None
    """Made-up explainers that must fail; those of the models' kind by default."""
    seeds: Seeds = Field(default_factory=lambda: [0])
    """The first one draws the examples."""
    examples: int = Field(default=300, ge=30, le=MOST)
    """Examples that are explained."""
    fewer_examples: dict[str, int] = Field(default_factory=dict)
    """Explainers that are asked about fewer examples, since they are slow."""
    repeat_examples: int = Field(default=250, ge=30, le=MOST)
    """Examples that methods which draw at random are asked about once more."""
    edit_examples: int = Field(default=250, ge=2, le=MOST)
    """Examples that are explained again after a harmless edit."""
    alone_examples: int = Field(default=50, ge=2, le=MOST)
    """Examples explained alone."""
    shuffled_examples: int = Field(default=40, ge=30, le=MOST)
    """Examples explained under random weights."""
    shuffles: int = Field(default=8, ge=1, le=MOST_MODELS)
    """Random orders of the weights; they may disagree, so that the interval covers them. One speaks of itself only."""
    layerwise_examples: int = Field(default=0, ge=0, le=MOST)
    """Examples explained while layers are randomised one after another."""
    noise_draws: int = Field(default=0, ge=0, le=MOST)
    """Draws of noise that explanations under random weights are averaged over."""
    hidden_shares: Several[Annotated[float, Field(gt=0, lt=1)]] = Field(default_factory=lambda: list(LEVELS))
    """Shares of the units that are hidden."""
    training_examples: int = Field(default=1000, ge=0, le=MOST)
    """Examples that models are trained on; with fewer than 100 none is."""
    train_models: bool = True
    """Whether models are trained: with planted evidence, and the relatives."""
    epochs: int = Field(default=0, ge=0, le=MOST_MODELS)
    """Passes over the data in training, at most; 0: as many as is usual."""
    planted_models: int = Field(default=15, ge=0, le=MOST_MODELS)
    """Models trained on planted evidence."""
    planted_examples: int = Field(default=60, ge=30, le=MOST)
    """Examples in which planted evidence is looked for."""
    companion_examples: int = Field(default=100, ge=0, le=MOST)
    """Examples explained on the companion, which was trained with units hidden; 0: no companion."""
    relative_examples: int = Field(default=0, ge=0, le=MOST)
    """Examples explained on a model from another training seed and on one trained on random labels; 0: neither."""
    retrained_models: int = Field(default=0, ge=0, le=MOST_MODELS)
    """Seeds of Recursive ROAR, which trains again without the units called important; 0: none."""
    searched_examples: int = Field(default=0, ge=0, le=MOST)
    """Small examples for which the best and the worst order of units is searched."""
    shown_examples: int = Field(default=5, ge=0, le=MOST)
    """Examples in the report."""
    request_digest: str = ""
    """Digest of what was asked for, where the sizes were chosen from a budget."""

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, given: Any) -> Any:
        return by_new_names(given) if isinstance(given, Mapping) else given

    @field_validator("explainers", "foils")
    @classmethod
    def _named(cls, names: list[str] | None, info: ValidationInfo) -> list[str] | None:
        """As tasks carry them, of the kind of the first model."""
        if info.context is RECORDED or names is None or "models" not in info.data:
            return names
        with refused():
            data = info.data.get("datasets", [""])[0]
            registry = kind_on(info.data["models"][0], data).explainers
            return [registry.reference(registry.name_of(name)) for name in names]


def plan(study: AuditStudy) -> Task:
    """For every model and dataset: examples, explanations, trials, models with planted evidence, and the verdict."""
    done = Placed("audits")
    for model in study.models:
        for dataset in study.datasets:
            done.add("audits", _Plan(study, subject(model), dataset).verdict(), model=model, dataset=dataset)
    return summary(done.inputs, at=done.at["audits"])


def read_task(study: AuditStudy, model: Path | str, dataset: str) -> Task:
    """The task that reads the examples of one audit."""
    kind, family = _kind(model, dataset), family_of(model, study.family, dataset)
    given = dataset if dataset.startswith(MEMORY) else None
    path = Path(dataset) if given is None and Path(dataset).exists() else None
    files = [] if given is not None else list(KINDS[kind].data.sources(dataset))
    there: dict[str, Any] = {"given": given, "source": path, "files": files}
    there["name"] = dataset if given is None and path is None else None
    most = max(LARGEST, study.examples, study.training_examples)
    asked: dict[str, Any] = {"columns": study.columns, "most": most, "seed": study.seeds[0]}
    return tasks.read(kind=kind, model=model, family=family, **there, **asked)


def _kind(model: Path | str, dataset: str) -> str:
    return KINDS.reference(kind_on(model, dataset).name)


class _Plan:
    """The tasks of one model's audit on one dataset."""

    def __init__(self, study: AuditStudy, model: Path | str, dataset: str) -> None:
        self.study, self.model, self.dataset = study, model, dataset
        self.name = _kind(model, dataset)
        self.kind: Kind = KINDS[self.name]
        self.common: dict[str, Any] = {"kind": self.name, "model": model}
        self.common["family"] = family_of(model, study.family, dataset)
        self.read = read_task(study, model, dataset)
        self.asked = tasks.asked({"read": self.read}, examples=study.examples, **self.common)
        self.about = {"read": self.read, "asked": self.asked}
        foils = [*self.kind.foils] if study.foils is None else study.foils
        self.foils = [self.kind.explainers.reference(foil) for foil in foils]
        self.names = list(dict.fromkeys([*study.explainers, *self.foils]))
        self.made = Placed(
            *("explained", "randomised", "removed", "own", "planted found", "companion", "twin", "stranger"),
            *("retrained", "bounded", "examples", "reference", "companion reference", "layers"),
        )

    def verdict(self) -> Task:
        """The task that gives one model's verdicts."""
        study, made = self.study, self.made
        for name in self.names:
            self._explain(name)
        self._shuffle()
        how: dict[str, Any] = {"examples": study.examples, "hidden_shares": study.hidden_shares}
        made.add("reference", tasks.reference(self.about, **how, **self.common))
        for held in self.kind.trials:
            for name in self.names:
                how = {"trial": held.name, "explainer": name, "examples": min(study.shuffled_examples, self._of(name))}
                made.add("own", tasks.own_trial(self.about, **how, **self.common))
        relatives = self.kind.relatives
        like = None if relatives is None else relatives.like(self.model, study.family)
        if like is not None and study.training_examples >= LEAST_POOL and study.train_models:
            self._plant(like)
            self._relate(like)
        said = self._said()
        if study.searched_examples:
            how = {"explainers": self.names, "examples": study.searched_examples}
            made.add("bounded", tasks.bounded(said, **how, **self.common))
        shown = {"explainers": self.names, "foils": self.foils, "shown": study.shown_examples}
        made.add("examples", tasks.examples(said, **shown, **self.common))
        why = "models of this kind, or functions, have no weights to train"
        if like is not None:
            why = "no models were trained with planted evidence"
            few = study.training_examples < LEAST_POOL
            why += f": that takes {LEAST_POOL} {self.kind.words.examples}, and a larger budget or none" if few else ""
        return verdict(
            {"read": [self.read], "asked": [self.asked], **made.inputs},
            kind=self.name,
            explainers=self.names,
            foils=self.foils,
            hidden_shares=study.hidden_shares,
            missing_planted=why,
            planted_required=like is not None,
            model=self.model if isinstance(self.model, str) else self.model.name,
            data="" if self.dataset.startswith(MEMORY) else Path(self.dataset).name,
        )

    def _said(self) -> dict[str, Any]:
        return {**self.about, "explained": self.made.inputs["explained"]}

    def _of(self, name: str) -> int:
        """How many examples an explainer is asked about."""
        return min(self.study.examples, self.study.fewer_examples.get(name, self.study.examples))

    def _explain(self, name: str) -> None:
        study, number, asked = self.study, self._of(name), {"explainer": name, **self.common}
        repeated = {each: getattr(study, each) for each in ("repeat_examples", "edit_examples", "alone_examples")}
        said = self.made.add("explained", tasks.explained(self.about, examples=number, **repeated, **asked))
        both = {**self.about, "explained": said}
        self.made.add("removed", tasks.removed(both, hidden_shares=study.hidden_shares, **self.common))

    def _shuffle(self) -> None:
        """The weights in random order: one task for each order, in which all methods are asked."""
        study, said = self.study, self._said()
        each = [min(study.shuffled_examples, self._of(name)) for name in self.names]
        for seed in range(study.shuffles):
            how: dict[str, Any] = {"explainers": self.names, "examples": each, "seed": seed}
            self.made.add("randomised", tasks.randomised(said, **how, **self.common))
        if study.layerwise_examples:
            how = {"explainers": self.names, "noise_draws": study.noise_draws}
            how["examples"] = min(study.layerwise_examples, *each)
            self.made.add("layers", tasks.layers(said, **how, **self.common))

    def _plant(self, like: Mapping[str, Any]) -> None:
        study = self.study
        if self.kind.planter is None:
            return
        for seed in range(study.planted_models):
            drawn = {
                "examples": min(study.training_examples, PLANTED_ON),
                "seed": seed,
            }
            data = trained_tasks.planted({"read": self.read}, **drawn, **self.common)
            how = {"kind": self.name, "like": like, "seed": seed, "epochs": study.epochs}
            model = trained_tasks.planted_model({"dataset": data}, **how)
            found = {"kind": self.name, "explainers": self.names, "examples": study.planted_examples}
            self.made.add("planted found", trained_tasks.planted_found({"dataset": data, "model": model}, **found))

    def _relate(self, like: Mapping[str, Any]) -> None:
        """Models like the audited one, and what every method says of them; see `Purpose`."""
        study, made = self.study, self.made
        data = {
            labels: trained_tasks.labelled(
                {"read": self.read}, labels=labels, examples=study.training_examples, **self.common
            )
            for labels in ("predicted", "random")
        }
        purposes = {"companion": "predicted", "twin": "predicted", "stranger": "random"}
        for purpose, labels in purposes.items():
            wanted = study.companion_examples if purpose == "companion" else study.relative_examples
            number = min(wanted, study.examples)
            if not number:
                continue
            how = {"kind": self.name, "like": like, "purpose": purpose, "epochs": study.epochs}
            trained = trained_tasks.relative({"dataset": data[labels]}, **how)
            if purpose == "companion":
                how = {"kind": self.name, "examples": number, "hidden_shares": study.hidden_shares}
                beside = trained_tasks.companion_reference({**self.about, "companion": trained}, **how)
                made.add("companion reference", beside)
            for name, said in zip(self.names, made.inputs["explained"], strict=True):
                few = min(number, study.fewer_examples.get(name, number))
                asked = {"kind": self.name, "explainer": name, "examples": few}
                if purpose == "companion":
                    inputs = {**self.about, "companion": trained}
                    done = trained_tasks.companion_removed(inputs, hidden_shares=study.hidden_shares, **asked)
                else:
                    inputs = {**self.about, "explained": said, "relative": trained}
                    done = trained_tasks.compared(inputs, **asked)
                made.add(purpose, done, explainer=name)
        again = self.kind.relatives.retraining(like) if study.retrained_models and self.kind.relatives else None
        if again is not None:
            methods = [name for name in self.names if name not in self.foils]
            seeds, family = list(range(study.retrained_models)), again.pop("model")
            made.add("retrained", retraining(data["predicted"], family, seeds, methods, RETRAINED, **again))


@task("audit/verdict", version=11, light=True)
def verdict(inputs: Mapping[str, list[Stored]], **how: Any) -> dict[str, Any]:
    """Every explainer judged; what can be said is in `assemble`."""
    from trueness.audits.assemble import assemble

    return {"audit": json.loads(assemble(inputs, **how).model_dump_json())}


@task("audit/summary", version=2, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Sequence[Place]) -> dict[str, Any]:
    """All audits of a study: verdicts as scores, and the leaderboard."""
    from trueness.audits.leaderboard import result_of

    return result_of(
        [(place, stored.read("audit")) for place, stored in zip(at, inputs["audits"], strict=True)]
    ).payloads()
