"""Which explanations find evidence planted in one's own data: a study of any kind of input that has a planter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, model_validator

from trueness.engine import Stored, Task, task
from trueness.engine.worker import current_device
from trueness.errors import UserError
from trueness.kinds import KINDS, kind_of_data
from trueness.studies.kinds import StudyKind
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import RECORDED, Several, Study, refused

MODELS = 5
"""Seeds, if nobody says how many."""


class DryRunStudy(Study):
    """Models are trained on planted evidence, then explained."""

    datasets: Several[str]
    columns: dict[str, str] = Field(default_factory=dict)
    models: Several[str]
    """Families of the kind of the first dataset."""
    explainers: Several[str]
    instances: int = Field(default=60, ge=30)
    """Test examples that are explained."""

    @model_validator(mode="after")
    def _named(self, info: ValidationInfo) -> DryRunStudy:
        """As tasks carry them."""
        if info.context is not RECORDED:
            with refused():
                kind = kind_of_data(self.datasets[0])
                for names, known in ((self.models, kind.models.families), (self.explainers, kind.explainers)):
                    names[:] = [known.reference(known.name_of(name)) for name in names]
        return self


def study_of(data: str, **settings: Any) -> DryRunStudy:
    """The study of a dataset or file; by default all built-in families but those of papers, and usual explainers."""
    kind = kind_of_data(data)
    if kind.planter is None:
        raise UserError(f"There is no dry run of {kind.words.examples}: in these no evidence can be planted yet.")
    known = kind.models.families
    usual = {
        "models": [name for name in known if known[name].built_in and "@" not in name],
        "explainers": [*kind.usual("", None), *kind.foils],
        "seeds": MODELS,
    }
    named = f"Dry run: which explanations find {kind.words.units} that the model had to use?"
    about = {"kind": KIND.name, "name": "dry-run", "title": named, "question": named, "paper": "Zhou et al. 2022"}
    return DryRunStudy.model_validate({**about, "datasets": data, **usual, **settings})


def plan(study: DryRunStudy) -> Task:
    """A task for every dataset, family and seed, then the summary."""
    made = Placed("runs")
    for dataset in study.datasets:
        kind = kind_of_data(dataset)
        source = Path(dataset) if Path(dataset).exists() else None
        there = {"source": source, "name": None if source else dataset, "files": list(kind.data.sources(dataset))}
        asked = {"columns": study.columns, "explainers": study.explainers, "instances": study.instances}
        for model in study.models:
            for seed in study.seeds:
                how = {"kind": KINDS.reference(kind.name), "model": model, "seed": seed}
                done = run({}, **how, **there, **asked)
                made.add("runs", done, dataset=Path(dataset).name, model=str(model), seed=seed)
    return summary(made.inputs, at=made.at["runs"])


@task("dry-run/run", version=1)
def run(
    inputs: Mapping[str, Stored],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    kind: str,
    name: str | None,
    source: Path | None,
    files: Sequence[Path],  # noqa: ARG001  # what they hold is part of the task's key
    columns: Mapping[str, str],
    model: str,
    seed: int,
    explainers: Sequence[str],
    instances: int,
) -> dict[str, Any]:
    """One model on planted evidence: whether it had to use that, and which explanations find it."""
    from trueness.data.dataset import drawn_examples, with_splits
    from trueness.protocols.ground_truth.trial import detect, needed

    about = KINDS[kind]
    assert about.planter is not None
    data = with_splits(about.data.read(name or str(source), columns=columns))
    made = about.planter.plant(None, data, seed)
    (trained,) = about.models.train(model, made.dataset, [seed], device=current_device())
    test = made.dataset["test"]
    facts = {**needed(trained.network, trained.coded(test), made.bound), "classes": list(made.dataset.classes)}
    if not facts["proven"]:
        return {"facts": facts}
    some, methods = drawn_examples(test, instances), {one: about.explainers[one] for one in explainers}
    where = about.planter.where(trained, some, made.about)
    records, found = detect(trained.network, trained.coded(some), methods, *where)
    return {"facts": {**facts, "refused": found.refused}, "records": records}


@task("dry-run/summary", version=1, light=True)
def summary(inputs: Mapping[str, list[Stored]], *, at: Sequence[Place]) -> dict[str, Any]:
    """Every explainer's scores, of models that had to use the evidence."""
    import pandas as pd

    from trueness.protocols.ground_truth.summary import PlantedCell, summarise

    cells: dict[tuple[str, str], PlantedCell] = {}
    for place, stored in zip(at, inputs["runs"], strict=True):
        facts, where = stored.read("facts"), (str(place["dataset"]), str(place["model"]))
        cell = cells.get(where) or PlantedCell(*where, pd.DataFrame(), (), tuple(facts.pop("classes")))
        tables = [cell.records] if len(cell.records) else []
        tables += [stored.read("records").assign(seed=place["seed"])] if stored.holds("records") else []
        records = pd.concat(tables, ignore_index=True) if tables else cell.records
        fact = {"seed": place["seed"], "refused": {}, **{name: facts[name] for name in facts if name != "classes"}}
        cells[where] = replace(cell, records=records, facts=(*cell.facts, fact))
    return summarise(list(cells.values())).payloads()


KIND = StudyKind(
    name="dry-run",
    description="evidence is planted in data of any kind; which explanations find it, of models that had to use it?",
    schema=DryRunStudy,
    plan=plan,
    intervals="Student's over models that used the evidence; n counts them",
    headlines=("AUROC", "attribution share"),
)
