"""Agreement between explanation methods (Order in the Court 2022) as a study: its file and its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from trueness.engine import Stored, Task, task
from trueness.errors import UserError
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.models.opening import recognise
from trueness.kinds.text.tasks import dataset_task
from trueness.models.families import Family
from trueness.papers.agreement.tasks import PUBLISHED, explained, read_scores
from trueness.papers.texts import ModelsStudy, TextDatasetName, TextExplainers, trained_models
from trueness.studies.kinds import published_study
from trueness.studies.placed import Place, Placed, small
from trueness.studies.retraining import performance
from trueness.studies.schema import Distinct, in_groups


class AgreementStudy(ModelsStudy):
    """A study of agreement: models that are trained, or one saved classifier and texts of the user's."""

    datasets: Distinct[TextDatasetName]
    explainers: TextExplainers
    """Those that a model cannot support are left out and named."""
    fine_tuned_seeds: int | None = Field(default=None, ge=1)
    """How many of the seeds fine-tuned models have, the first ones, because they are costly; by default all."""
    as_published: bool
    """Whether the same is done once more with what the paper's code computes."""
    instances: int = Field(ge=2)
    """Test examples, drawn once and the same for every seed."""
    slow_instances: int = Field(ge=0)
    """How many of them get attention flow, and a second draw of the methods that draw at random; 0 for none."""
    k: int = Field(ge=1)
    """Of the top-k measures."""
    uniform: bool
    """Whether the same models are trained with uniform attention too."""
    examples: int = Field(ge=0, le=1000)
    """How many instances of each model are kept with their words."""
    model: str | None = None
    """A saved classifier, which is not trained; then `data` has the texts."""
    data: str | None = None
    """A file or folder of texts, or a dataset's name."""

    @model_validator(mode="after")
    def _whole(self) -> AgreementStudy:
        if (self.model is None) != (self.data is None):
            raise ValueError("model and data belong together: a saved classifier, and texts for it")
        if self.model is None and not self.datasets:
            raise ValueError("datasets: at least 1 value(s) are needed")
        return self


def plan(study: AgreementStudy) -> Task:
    """Datasets, then models, then their explanations, then each dataset's and model's agreement, then the summary."""
    if study.model is not None and study.data is not None:
        return _plan_given(study, study.model, study.data)
    made = Placed("cells", "trained")
    for name in study.datasets:
        for model in study.models:
            family = TEXT_MODELS[model]
            data = dataset_task(name, None if family.pretrained else study.vectors, ("train", "test"))
            seeds = study.seeds[: study.fine_tuned_seeds] if family.pretrained else study.seeds
            some = study.model_copy(update={"seeds": seeds})
            models = trained_models(some, data, name, model, uniform=study.uniform)
            for uniform, by_seed in models.items():
                for one in dict.fromkeys(by_seed.values()):
                    made.add("trained", performance({"model": one}), dataset=name, model=model, uniform=uniform)
            for variant in ("corrected", "as-published") if study.as_published else ("corrected",):
                found = [
                    one
                    for seed, trained in models[False].items()
                    for one in _explanations(study, {"dataset": data, "model": trained}, seed, family, variant)
                ]
                done = cell({"explained": found}, seeds=seeds, k=study.k)
                made.add("cells", done, dataset=name, model=model, variant=variant)
    return summary(made.inputs, at=made.at, machinery=_machinery(study))


def _plan_given(study: AgreementStudy, model: str, data: str) -> Task:
    made, inputs = Placed("cells", "trained"), {"dataset": dataset_task(data, None)}
    found = _explanations(study, inputs, 0, recognise(model)[0], "corrected", folder=Path(model))
    where = {"dataset": Path(data).name, "model": Path(model).resolve().name, "variant": "corrected"}
    made.add("cells", cell({"explained": found}, seeds=[0], k=study.k), **where)
    return summary(made.inputs, at=made.at, machinery=_machinery(study), paper=False)


def _machinery(study: AgreementStudy) -> dict[str, tuple[str, ...]]:
    from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

    return {name: TEXT_EXPLAINERS[name].facts.machinery for name in study.explainers}


def _explanations(
    study: AgreementStudy,
    inputs: Mapping[str, Task],
    seed: int,
    family: Family,
    variant: str,
    folder: Path | None = None,
) -> list[Task]:
    """All fast methods; then the slow ones, about fewer instances, beside them."""
    from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS

    facts = {name: TEXT_EXPLAINERS[name].facts for name in study.explainers}
    layers = family.attends == "layers"
    names = [name for name in facts if layers or "layers" not in facts[name].needs]
    slow = [name for name in names if facts[name].slow]
    if variant == "as-published":
        attention = ["attention-rollout"] if layers else ["attention"]
        names = attention + [name for name in facts if f"{name}{PUBLISHED}" in TEXT_EXPLAINERS]
    common: dict[str, Any] = {"seed": seed, "variant": variant, "given": folder}
    few = min(study.slow_instances, study.instances)
    fast = [name for name in names if name not in slow]
    many = {"instances": study.instances, "examples": study.examples, "again": few if variant == "corrected" else 0}
    found = [explained(inputs, names=fast, **many, **common)]
    if slow and few:
        found.append(explained(inputs, names=slow, instances=few, examples=0, again=0, **common))
    return found


@task("agreement/cell", version=3)
def cell(inputs: Mapping[str, list[Stored]], *, seeds: Sequence[int], k: int) -> dict[str, Any]:
    """Agreement of all pairs of methods about one kind of model on one dataset, over its seeds."""
    import pandas as pd

    from trueness.protocols.agreement.cell import DRAW, SEED
    from trueness.protocols.agreement.measures import own_records, pair_records

    parts = in_groups(inputs["explained"], len(inputs["explained"]) // len(seeds))
    records, own, by_seed = [], [], []
    for seed, (main, *more) in zip(seeds, parts, strict=True):
        scores, mask = read_scores(main)
        by_seed.append((seed, scores, mask))
        records.append(pair_records(scores, mask, k).assign(seed=seed))
        if main.holds("again"):
            again = own_records(scores, main.read("again"), mask)
            own.append(again.assign(against=DRAW, seed=seed, other=seed))
        for extra in more:  # a method of which only the first instances are known, against all others
            some, few = read_scores(extra)
            cut = {name: values[: len(few), : few.shape[1]] for name, values in scores.items()}
            joined = pair_records({**cut, **some}, few, k)
            records.append(joined[joined["second"].isin(list(some))].assign(seed=seed))
    for (one, first, mask), (two, second, other) in itertools.combinations(by_seed, 2):
        if mask.shape == other.shape and (mask == other).all():
            own.append(own_records(first, second, mask).assign(against=SEED, seed=one, other=two))
    facts = [stored.read("facts") for stored in inputs["explained"]]
    if not any(len(part) for part in records):
        raise UserError("Agreement needs two explainers that the model supports; see `trueness list explainer`.")
    payloads: dict[str, Any] = {
        "records": small(pd.concat(records, ignore_index=True)),
        "about": {
            "unsigned": sorted({name for fact in facts for name in fact["unsigned"]}),
            "refused": {name: reason for fact in facts for name, reason in fact["refused"].items()},
            "pairs": facts[0]["pairs"],
            "checks": [fact["checks"] for fact in facts],
        },
    }
    if own:
        payloads["own"] = small(pd.concat(own, ignore_index=True))
    strips = [
        {**example, "method": method, "scores": values[row][by_seed[0][2][row]].tolist()}
        for row, example in enumerate(facts[0]["examples"])
        for method, values in by_seed[0][1].items()
    ]
    if strips:
        payloads["strips"] = pd.DataFrame(strips)
    return payloads


@task("agreement/summary", version=5, light=True)
def summary(
    inputs: Mapping[str, list[Stored]],
    *,
    at: Mapping[str, list[Place]],
    machinery: Mapping[str, list[str]],
    paper: bool = True,
) -> dict[str, Any]:
    """Scores, tables and warnings of the study, and the paper's claims, checked: not about a model of the user's."""
    import pandas as pd

    from trueness.papers.agreement.claims import claims
    from trueness.protocols.agreement.cell import AgreementCell
    from trueness.protocols.agreement.summary import accuracies, summarise

    cells, strips = [], []
    none = pd.DataFrame({"method": [], "against": [], "seed": [], "other": [], "instance": [], "Kendall tau": []})
    for place, stored in zip(at["cells"], inputs["cells"], strict=True):
        about = stored.read("about")
        found = [values for checks in about["checks"] for values in checks.values()]
        one = AgreementCell(
            **place,
            records=stored.read("records"),
            own=stored.read("own") if stored.holds("own") else none,
            without_sign=tuple(about["unsigned"]),
            refused=about["refused"],
            pairs_of_texts=about["pairs"],
            saturation=tuple(values["saturation"] for values in found if "saturation" in values),
            machinery=machinery,
        )
        cells.append(one)
        if stored.holds("strips"):
            strips.append(stored.read("strips").assign(**place))
    trained = [
        {**place, "seed": int(seed), "accuracy": test["accuracy"]}
        for place, stored in zip(at["trained"], inputs["trained"], strict=True)
        for seed, test in stored.read("test").items()
    ]
    tables = {"strips": pd.concat(strips, ignore_index=True)} if strips else {}
    tables |= {"accuracy": pd.DataFrame(trained)} if trained else {}
    result = summarise(cells, tables)
    scores = (*result.scores, *(accuracies(tables["accuracy"]) if trained else ()))
    # The records of every pair and instance stay with each cell; the result keeps tau alone.
    kept = ["dataset", "model", "variant", "seed", "instance", "first", "second", "length", "Kendall tau"]
    checked = tuple(claims(cells)) if paper else ()
    return replace(result, scores=scores, records=small(result.records[kept]), claims=checked).payloads()


KIND = published_study(
    __package__,
    name="agreement",
    description="agreement of all pairs of explanation methods, about our models and transformers",
    schema=AgreementStudy,
    plan=plan,
    intervals="crossed over seeds and texts, n counts seeds; of one model and of accuracy Student's",
    headlines=("Kendall tau", "accuracy"),
)
