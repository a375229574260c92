"""Planted evidence in images as a study: its file, and its plan of four questions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from trueness.boundary import exists
from trueness.data.dataset import unknown
from trueness.engine import Stored, Task, task
from trueness.kinds.image.data.datasets import IMAGE_DATASETS, SIMILAR
from trueness.kinds.image.explainers.catalogue import IMAGE_EXPLAINERS
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.image.tasks import images_task
from trueness.papers.ground_truth_images import tasks
from trueness.studies.kinds import published_study
from trueness.studies.placed import Place, Placed
from trueness.studies.schema import RECORDED, Part, Ratio, Several, Study, known, refused

MANIPULATIONS = ("blur", "brightness", "hue", "noise", "watermark")
Question = Literal["region", "accuracy", "visibility", "correlation"]
"""Attr% against the size of the region (5.1), test accuracy (5.2), visibility (5.3), and label correlation (5.4)."""


def _findable(name: str, info: ValidationInfo) -> str:
    if info.context is not RECORDED and name not in IMAGE_DATASETS and not exists(Path(name)):
        with refused():
            raise unknown(name, list(IMAGE_DATASETS))
    return name


ImageDatasetName = Annotated[str, AfterValidator(_findable)]
ImageExplainers = Annotated[Several[Annotated[str, known(IMAGE_EXPLAINERS)]], Field(min_length=2)]
Pair = tuple[str, str]


class Training(Part):
    """How models are trained."""

    epochs: int = Field(default=50, ge=1)
    batch_size: int = Field(default=128, ge=2)
    learning_rate: float = Field(default=1e-3, gt=0)
    stop: Ratio = 0.97
    gain: float = Field(default=0.05, gt=0)


class GroundTruthImagesStudy(Study):
    """A study of planted artefacts: models are trained until they must have used them, then explained."""

    datasets: Several[ImageDatasetName]
    size: int = Field(ge=8, le=1024)
    """Pixels of a side."""
    models: Several[Annotated[str, known(IMAGE_MODELS)]]
    manipulations: Several[Literal["blur", "brightness", "hue", "noise", "watermark"]]
    questions: Several[Question]
    """The one about accuracy needs that about the region: both ask the same runs."""
    pairs: list[Pair] = Field(default_factory=list)
    """Pairs of similar classes; by default those of the birds, or of other data the first two classes."""
    distinct: list[Pair] = Field(default_factory=list)
    """Pairs of distinct classes, for the question about correlation."""
    level: int | None = Field(default=None, ge=1, le=5)
    """How visible artefacts are in the first two questions, from 1 to 5; by default as in the paper: hardly."""
    pretrained_seeds: int | None = Field(default=None, ge=1)
    """Pretrained models answer the first two questions; so many of the seeds, by default all."""
    correlated: int = Field(default=2, ge=1)
    """Of the question about correlation: so many of the pairs of similar classes, beside all distinct ones."""
    groups: int = Field(ge=1)
    """Of the question about visibility: groups of five runs, each with a region and a pair of its own."""
    kept: list[Ratio]
    """Of the question about correlation: the chances to keep a label."""
    explainers: ImageExplainers
    watched: ImageExplainers
    """Explainers of the last three questions, which ask for many models."""
    instances: int = Field(ge=2)
    """Test images that are explained, half of them with the artefact."""
    examples: int = Field(ge=0, le=20)
    """Images of each first run that are kept with their maps."""
    training: Training

    @model_validator(mode="after")
    def _accuracy_of_runs(self) -> GroundTruthImagesStudy:
        if "accuracy" in self.questions and "region" not in self.questions:
            raise ValueError("the question accuracy is asked of the runs of the question region: ask both")
        return self

    def pretrained_seeds_of(self) -> list[int]:
        """The seeds of pretrained models."""
        return self.seeds[: self.pretrained_seeds]

    def pairs_of(self, dataset: str) -> list[Pair]:
        """Those of similar classes; none where the data have to say."""
        return self.pairs or (list(SIMILAR) if dataset == "birds" else [])


def plan(study: GroundTruthImagesStudy) -> Task:
    """The images, then a run for each place of each question, then the summary."""
    made = Placed("runs")
    for dataset in study.datasets:
        data = images_task(dataset, study.size)
        for model, place in itertools.product(study.models, _places(study, dataset)):
            first = place["question"] == "region"
            if IMAGE_MODELS[model].pretrained and (not first or place["seed"] not in study.pretrained_seeds_of()):
                continue
            how = {name: place[name] for name in ("manipulation", "pair", "kept", "seed")}
            done = tasks.run(
                {"images": data},
                model=model,
                recipe=study.training.model_dump(),
                explainers=study.explainers if first else study.watched,
                watched=study.watched if first and "accuracy" in study.questions else [],
                instances=study.instances,
                examples=study.examples if first and place["seed"] == study.seeds[0] else 0,
                always=place["question"] == "correlation",
                **how,
            )
            shown = {name: place[name] for name in place if name != "manipulation"}
            made.add("runs", done, dataset=Path(dataset).name, model=model, **shown)
    return summary(made.inputs, at=made.at["runs"], explainers=study.explainers, watched=study.watched)


def _places(study: GroundTruthImagesStudy, dataset: str) -> Iterator[dict[str, Any]]:
    """What each run is about: the manipulation, the pair of classes, the chance to keep labels, the seed."""
    from trueness.kinds.image.data.artefacts import ARTEFACTS
    from trueness.kinds.image.data.manipulations import settings_of

    pairs: Sequence[Pair | None] = study.pairs_of(dataset) or [None]
    for name in study.manipulations:
        kind, number = ARTEFACTS[name], MANIPULATIONS.index(name)
        for question in study.questions:
            common = {"question": question, "artefact": name, "kept": 0.5, "similar": True, "level": study.level}
            if question == "accuracy":
                continue  # asked of the runs of the first question, at each gain of accuracy
            if question == "region":
                for seed in study.seeds:
                    rng = np.random.default_rng([seed, number, *b"region"])
                    drawn = kind.by_region(rng) if study.level is None else kind.by_visibility(rng)
                    if study.level is not None:
                        drawn = drawn.at_level(drawn.levels[study.level - 1])
                    pair = pairs[int(rng.integers(len(pairs)))]
                    yield {**common, "manipulation": settings_of(drawn), "pair": pair, "seed": seed}
            elif question == "visibility":
                for group in range(study.groups):
                    drawn = kind.by_visibility(np.random.default_rng([group, number, *b"visibility"]))
                    for level, value in enumerate(drawn.levels, start=1):
                        settings, pair = settings_of(drawn.at_level(value)), pairs[group % len(pairs)]
                        yield {**common, "manipulation": settings, "pair": pair, "seed": group, "level": level}
            else:
                both = [
                    *((pair, True) for pair in pairs[: study.correlated]),
                    *((pair, False) for pair in study.distinct),
                ]
                for (seed, (pair, similar)), kept in itertools.product(enumerate(both), study.kept):
                    about = {**common, "kept": kept, "similar": similar, "seed": seed}
                    yield {**about, "manipulation": settings_of(kind.usual), "pair": pair}


@task("ground-truth-images/summary", version=2, light=True)
def summary(
    inputs: Mapping[str, list[Stored]], *, at: Sequence[Place], explainers: Sequence[str], watched: Sequence[str]
) -> dict[str, Any]:
    """Scores, warnings and checked claims of the whole study."""
    import pandas as pd

    from trueness.papers.ground_truth_images.claims import claims
    from trueness.papers.ground_truth_images.summary import cells_of, summarise

    records, runs, panels = [], [], []
    for place, stored in zip(at, inputs["runs"], strict=True):
        about = {name: value for name, value in place.items() if name != "pair"}
        about["pair"] = " or ".join(stored.read("facts")["classes"])
        runs.append({**about, **stored.read("facts")})
        if stored.holds("records"):
            found = stored.read("records")
            asked = explainers if place["question"] == "region" else watched
            # A model is judged where it had to use the artefact; on its way there at every checkpoint.
            if runs[-1]["proven"] or place["question"] == "correlation":
                records.append(found[found["last"] & found["method"].isin(asked)].assign(**about))
            if len(found) and not found["last"].all():
                on_the_way = {**about, "question": "accuracy"}
                records.append(found[found["method"].isin(watched)].assign(**on_the_way))
        if stored.holds("panels"):
            panels.append(stored.read("panels").assign(**about))
    tables = {"panels": pd.concat(panels, ignore_index=True)} if panels else {}
    together = pd.concat(records, ignore_index=True) if records else pd.DataFrame()
    about_runs = pd.DataFrame(runs)
    cells = list(cells_of(together, about_runs))
    return replace(summarise(cells, together, about_runs, tables), claims=tuple(claims(cells))).payloads()


KIND = published_study(
    __package__,
    name="ground-truth-images",
    description="artefacts are planted in images; which saliency maps find them, of models that had to use them?",
    schema=GroundTruthImagesStudy,
    plan=plan,
    intervals="Student's over runs (models) that used the artefact; n counts them",
    headlines=("accuracy", "attribution share"),
)
