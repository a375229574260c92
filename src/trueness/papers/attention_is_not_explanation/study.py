"""Attention is not explanation (Jain and Wallace 2019) as a study: its file and its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from trueness.engine import Stored, Task, task
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.tasks import dataset_task, read_dataset, read_model, training
from trueness.models.recipes import RECIPES
from trueness.papers.texts import AttentiveStudy, shape_of
from trueness.studies.kinds import published_study
from trueness.studies.placed import Place, Placed, small
from trueness.studies.schema import Ratio, RecipeName, Several, in_groups

# Enough to redraw the figures; the rest stays with each model's trial.
_KEPT = (
    *("dataset", "model", "seed", "instance", "length", "gold", "predicted", "probability", "max_attention", "tau:"),
    *("permutation", "adversary", "upper", "search", "change", "alone", "deciding"),
    *("first", "second", "weight", "exact"),
)


class AttentionStudy(AttentiveStudy):
    """A study of attention as an explanation."""

    recipes: dict[str, RecipeName] = Field(default_factory=dict)
    """Recipes of datasets that take another one."""
    epsilon: Ratio
    """The change of output that adversarial attention may cause."""
    epsilon_pairs: Ratio
    """The same for pairs of texts."""
    epsilons: Several[Ratio]
    """Further values, for the curve; 0 is one of them."""
    permutations: int = Field(ge=2, le=100_000)
    search_steps: int = Field(ge=0, le=100_000)
    together: int = Field(ge=1)
    """How many seeds one task trains: 1 spreads them over workers, more share a GPU within one process."""
    instances: int = Field(ge=0)
    """How many test instances are looked at, drawn evenly from the classes; 0 for all."""
    examples: int = Field(ge=0, le=1000)
    """How many instances of each model are kept with their words."""


def plan(study: AttentionStudy) -> Task:
    """Datasets, then models (uniform attention too), then a trial of each, then seeds compared, then the summary."""
    asked = study.model_dump(include={"epsilons", "permutations", "search_steps", "instances"})
    made, epsilons = Placed("trials", "trained", "spreads"), {}
    for name in study.datasets:
        data = dataset_task(name, study.vectors, ("train", "test"))
        recipe = study.recipes.get(name, study.recipe)
        single = RECIPES[recipe].shape.get("head", "linear") == "linear"
        epsilons[name] = study.epsilon if single else study.epsilon_pairs
        uniform = dict.fromkeys(flat for model in study.models if (flat := TEXT_MODELS[model].uniform))
        for model in (*study.models, *uniform):
            where, trials = {"dataset": name, "model": model}, []
            for some in in_groups(study.seeds, study.together):
                together = training(data, model=model, recipe=recipe, seeds=some, shape=shape_of(model, study.shape))
                made.add("trained", together, **where)
                for seed in some if model not in uniform else ():
                    inputs, shown = (
                        {"dataset": data, "model": together},
                        study.examples if seed == study.seeds[0] else 0,
                    )
                    done = trial(inputs, seed=seed, epsilon=epsilons[name], examples=shown, **asked)
                    trials.append(made.add("trials", done, **where, seed=seed))
            if trials:
                made.add("spreads", seeds({"trials": trials}), **where)
    return summary(made.inputs, at=made.at, epsilons=epsilons)


@task("attention/trial", version=4)
def trial(
    inputs: Mapping[str, Stored],
    *,
    seed: int,
    epsilon: float,
    epsilons: Sequence[float],
    permutations: int,
    search_steps: int,
    instances: int,
    examples: int,
) -> dict[str, Any]:
    """Correlation, permutation and adversarial attention of one model: one record per test instance."""
    from trueness.data.dataset import drawn_examples
    from trueness.kinds.text.attention.trial import Settings, attention_trial

    data = read_dataset(inputs["dataset"])
    how = Settings(epsilon, tuple(epsilons), permutations, search_steps, examples)
    test = drawn_examples(data["test"], instances) if instances else data["test"]
    found = attention_trial(read_model(inputs["model"], seed), test, how, seed=seed)
    return {"records": found.records, "tokens": dict(found.tokens), "examples": found.examples}


@task("attention/seeds", version=2)
def seeds(inputs: Mapping[str, list[Stored]]) -> dict[str, Any]:
    """How much explanations differ between seeds."""
    from trueness.kinds.text.attention.correlation import seed_spread

    return {"spread": seed_spread([stored.read("tokens") for stored in inputs["trials"]])}


@task("attention/summary", version=3, light=True)
def summary(
    inputs: Mapping[str, list[Stored]], *, at: Mapping[str, list[Place]], epsilons: Mapping[str, float]
) -> dict[str, Any]:
    """Scores, tables, warnings and checked claims of the whole study."""
    import pandas as pd

    from trueness.kinds.text.attention.summary import cells_of, summarise
    from trueness.papers.attention_is_not_explanation.claims import claims

    def joined(name: str, payload: str) -> Any:
        parts = [stored.read(payload).assign(**place) for stored, place in zip(inputs[name], at[name], strict=True)]
        return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)

    rows = [
        {**place, "seed": int(seed), "metric": name, "value": test[name]}
        for place, stored in zip(at["trained"], inputs["trained"], strict=True)
        for seed, test in stored.read("test").items()
        for name in ("macro-f1" if "auc" in test else "accuracy",)
    ]
    metrics = pd.DataFrame(rows)
    cells = cells_of(joined("trials", "records"), joined("spreads", "spread"), metrics, epsilons=epsilons)
    result = summarise(cells, metrics, joined("trials", "examples"))
    kept = small(result.records[[column for column in result.records if str(column).startswith(_KEPT)]])
    return replace(result, claims=tuple(claims(cells)), records=kept).payloads()


KIND = published_study(
    __package__,
    name="attention-is-not-explanation",
    description="attention against gradients and leave-one-out, permuted, and adversarial",
    schema=AttentionStudy,
    plan=plan,
    intervals="crossed over seeds and instances; n counts seeds",
)
