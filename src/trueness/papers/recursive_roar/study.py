"""Recursive ROAR (Madsen et al. 2022) on texts as a study: its file, and the chains of tasks it forms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from trueness.engine import Task
from trueness.kinds.text.explainers.catalogue import TEXT_EXPLAINERS
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.kinds.text.tasks import base_models, dataset_task
from trueness.papers.recursive_roar.tasks import summary
from trueness.papers.texts import ModelsStudy, NamedDatasets, TextExplainerName, trained_models
from trueness.protocols.roar.curves import BASELINE, Order
from trueness.studies.kinds import later, published_study
from trueness.studies.placed import Placed
from trueness.studies.retraining import Removal, Unit, chains
from trueness.studies.schema import Several, as_list, in_groups

TOGETHER = 15


class RecursiveRoarStudy(ModelsStudy):
    """A study that masks what is called important and trains again, step by step."""

    datasets: NamedDatasets
    together: int = Field(default=TOGETHER, ge=1)
    """So many of our own models, of all seeds and of several methods, are one task: stacked on a GPU, one after the
    other on a CPU."""
    explainers: Several[TextExplainerName]
    """Beside the random baseline, which is always there; blurred[NAME] is a foil of NAME."""
    orders: Several[Order]
    """recursive explains again at every step, plain only the model that saw everything."""
    unit: Unit = "share"
    steps: Annotated[list[FiniteFloat], BeforeValidator(as_list), Field(min_length=1)]
    """Hidden in all at each step: shares of a text, rounded down, or numbers of tokens."""
    target: Literal["gold", "predicted"]
    signed: bool = False
    """Whether only what speaks for the target is important; by default, what speaks for or against it."""
    leak: bool | Annotated[int, Field(ge=1)] = True
    """Whether to measure what the masks alone tell of the label; a number is for how many epochs, instead of eight."""
    companion: bool = True
    """Whether to measure the same curves on one model per seed that was trained under all amounts of masking."""
    bounded: int = Field(default=20, ge=0)
    """Test texts of which comprehensiveness and sufficiency are measured, between their bounds, on the companion."""
    beam: int = Field(default=5, ge=0)
    """Width of the search for those bounds, 0 for two orders alone; short texts are searched completely."""

    @model_validator(mode="after")
    def _steps_increase(self) -> RecursiveRoarStudy:
        if any(after <= before for before, after in itertools.pairwise(self.steps)) or self.steps[0] <= 0:
            raise ValueError("the steps must be above 0 and increase")
        if self.unit == "share" and self.steps[-1] >= 1:
            raise ValueError("shares must be below 1: everything hidden is measured anyway")
        if self.unit == "tokens" and any(step != int(step) for step in self.steps):
            raise ValueError("with unit = tokens the steps are whole numbers, such as [1, 2, 3]")
        without = [name for name in self.explainers if self.signed and not TEXT_EXPLAINERS[name].facts.signed]
        if without:
            raise ValueError(
                f"{', '.join(without)} {'has' if len(without) == 1 else 'have'} no sign; leave out, or signed"
            )
        if BASELINE in self.explainers:
            raise ValueError("random is always there as the baseline; leave it out")
        return self


def plan(study: RecursiveRoarStudy) -> Task:
    """Chains of train, explain, mask; what all methods share (nothing hidden, all hidden, random) is done once."""
    made = Placed("steps")
    removal = Removal(**{field.name: getattr(study, field.name) for field in fields(Removal)})
    for name in study.datasets:
        data = dataset_task(name, study.vectors, ("train", "dev", "test"))
        for model in study.models:
            for group in in_groups(study.seeds, _together(study.together, model)):
                how = {"model": model, "seeds": group, **study.how(name, model)}
                some = study.model_copy(update={"seeds": group})
                base = trained_models(some, data, name, model)[False][group[0]]
                chains(removal, made, data, base, Path(name).name, how, together=_together(study.together, model))
    before = {"trained_before": names} if (names := _trained_before(study)) else {}
    how = {"amounts": study.steps, "unit": study.unit, "target": study.target}
    return summary(made.inputs, at=made.at["steps"], **how, **before)


def _together(most: int, model: str) -> int:
    """How many models one task trains: of fine-tuned ones a single one."""
    return 1 if TEXT_MODELS[model].pretrained else most


def retraining(
    data: Task, model: str, seeds: Sequence[int], explainers: Sequence[str], steps: Sequence[float], **how: Any
) -> Task:
    """The summary of one dataset and family: as a study would have it, without guards and companion."""
    made, together = Placed("steps"), _together(TOGETHER, model)
    for group in in_groups(seeds, together):
        base, trained = base_models(data, model, group, **how), {"model": model, "seeds": group, **how}
        chains(Removal(explainers, steps), made, data, base, "texts", trained, together=together)
    return summary(made.inputs, at=made.at["steps"], amounts=list(steps), unit="share", target="gold")


def _trained_before(study: RecursiveRoarStudy) -> list[str]:
    """The models that begin as a classifier."""
    from trueness.kinds.text.models.pretrained import find_pretrained, is_classifier

    names = [model for model in study.models if TEXT_MODELS[model].pretrained]
    return names if names and is_classifier(find_pretrained(study.pretrained)) else []


KIND = published_study(
    __package__,
    name="recursive-roar",
    description="mask what is called important, train again, step by step: does it fall faster than by chance?",
    schema=RecursiveRoarStudy,
    plan=plan,
    beside=later(__package__, "tables", "costs"),
    intervals="Student's over seeds; n counts them",
    headlines=("faithfulness", "faithfulness, as published", "faithfulness (plain ROAR)"),
)
