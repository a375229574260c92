"""Which experiments there are: for each arm a task, and what names it."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.experiments import tasks
from benchmarks.experiments.arms import ARMS, write_arms
from trueness import studies
from trueness.data.dataset import ROOT_VARIABLE
from trueness.engine import Task
from trueness.kinds.text.tasks import dataset_task, training
from trueness.studies import Study, load_study

MODELS = "bilstm-additive", "cnn-additive", "average-additive"
MOCK = tuple(f"mock-{kind}@attefa2022" for kind in ("1", "2", "5", "10"))
MOCK_QUARTERS = tuple(f"mock-{number}q@attefa2022" for number in (1, 2, 3, 4))
ATTEFA = *MOCK, *MOCK_QUARTERS, *(f"{name}@attefa2022" for name in ("sst", "20news", "agnews", "imdb"))


@dataclass(frozen=True)
class Arm:
    """One thing to run: a study, or a task that leaves rows."""

    about: dict[str, Any]
    """What no other arm of the experiment has; every row says it."""
    task: Task
    study: Study | None = None


@dataclass(frozen=True)
class Setting:
    """Where the data are, and how much of everything there is: little of it tells on a CPU that all of it runs."""

    data: Path
    arms: Path
    small: bool

    @property
    def glove(self) -> Path:
        """As it comes."""
        return self.data / "vectors" / "glove-6b-100d.npz"

    def seeds(self, number: int) -> list[int]:
        """Of models."""
        return list(range(2 if self.small else number))

    @property
    def shape(self) -> dict[str, int]:
        """What makes models small."""
        return {"hidden": 8} if self.small else {}

    @property
    def less(self) -> dict[str, Any]:
        """The same as settings of a study."""
        return {f"shape.{name}": size for name, size in self.shape.items()}


_CORRELATION: dict[str, Any] = {"search_steps": 0, "permutations": 2, "epsilons": [0.0], "examples": 0}
"""Of the study of attention, its correlations alone."""


def _study(name: str, about: dict[str, Any], settings: dict[str, Any]) -> Arm:
    study = load_study(name, settings)
    return Arm({"study": name, **about}, studies.plan(study), study)


def twin_grid(at: Setting) -> Iterator[Arm]:
    """Item 1: sum or mean, weight decay or none, over base models and their twins."""
    datasets = MOCK[:1] if at.small else ATTEFA
    models = ("average-additive",) if at.small else ("bilstm-additive", "average-additive")
    bases, twins = at.seeds(3), [10, 50, 257][: 1 if at.small else 3]
    for dataset, model in itertools.product(datasets, models):
        data = dataset_task(dataset, str(at.glove))
        trained = training(data, model=model, recipe="wiegreffe2019", seeds=bases, shape=at.shape)
        for base, loss, decay in itertools.product(bases, ("sum", "mean"), (1e-5, 0.0)):
            how = {"loss": loss, "weight_decay": decay, "epochs": 1 if at.small else 80}
            both = {"dataset": data, "models": trained}
            about = {"dataset": dataset, "model": model, "base": base, "loss": loss, "weight_decay": decay}
            yield Arm(about, tasks.twins(both, base=base, seeds=twins, **how))


def norms(
    at: Setting,
    dataset: str,
    instances: int = 0,
    *,
    models: Sequence[str] = MODELS,
    arms: Sequence[str] = ARMS,
    weight_decay: float | None = None,
    **more: Any,
) -> Iterator[Arm]:
    """Vector lengths: both studies under every arm; attention's with so many drawn test texts, or with all (0)."""
    seeds = 5
    removal, attention = dataset, dataset.replace("@madsen2022", "@jw2019")
    how = "" if weight_decay is None else f"[weight_decay={weight_decay:.5f}]"
    for arm in arms[: 2 if at.small else None]:
        common = {"models": list(models[-1:] if at.small else models), "seeds": at.seeds(seeds), **at.less}
        files = {
            name: str(write_arms(name, at.glove, at.data / "vectors" / "fasttext-100d.npz", at.arms, arms)[arm])
            for name in dict.fromkeys((removal, attention))
        }
        less = {"companion": False, "leak": False, "explainers": ["attention", "gradient@madsen2022"], "steps": [0.5]}
        full = {} if at.small else {"steps": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
        settings = {**common, **less, **full, **more, "datasets": removal, "vectors": files[removal]}
        settings |= {"recipe": f"madsen2022{how}"} if how else {}
        yield _study("recursive-roar", {"arm": arm, "dataset": removal}, settings)
        settings = {**common, **_CORRELATION, "together": seeds, "instances": 50 if at.small else instances}
        settings |= {"datasets": attention, "vectors": files[attention], **({"recipe": f"jw2019{how}"} if how else {})}
        yield _study("attention-is-not-explanation", {"arm": arm, "dataset": attention}, settings)


def integrated(at: Setting) -> Iterator[Arm]:
    """Integrated gradients as published and correct, 20 seeds."""
    settings = {
        "datasets": "sst@madsen2022",
        "models": MODELS[-1 if at.small else 0],
        "seeds": at.seeds(20),
        "together": 10,
        "vectors": str(at.glove),
        "explainers": ["integrated-gradients@madsen2022", "integrated-gradients"],
        "companion": False,
        "leak": False,
        **({"steps": [0.5]} if at.small else {}),
        **at.less,
    }
    yield _study("recursive-roar", {"dataset": "sst@madsen2022"}, settings)


def search(at: Setting) -> Iterator[Arm]:
    """The published search over steps, learning rate and epsilon."""
    data = dataset_task("sst@jw2019", str(at.glove))
    seeds = at.seeds(3)
    models = training(data, model=MODELS[-1 if at.small else 0], recipe="jw2019", seeds=seeds, shape=at.shape)
    budget = {"steps": [5, 10] if at.small else [500, 2000, 5000], "rates": [0.01, 0.1]}
    for seed, epsilon in itertools.product(seeds, (0.01, 0.05)):
        both = {"dataset": data, "models": models}
        found = tasks.budgets(both, seed=seed, epsilon=epsilon, instances=20 if at.small else 500, **budget)
        yield Arm({"dataset": "sst@jw2019", "seed": seed, "epsilon": epsilon}, found)


def babi(at: Setting) -> Iterator[Arm]:
    """Is the rise on bAbI what masks tell of the gold class?"""
    for number in (1,) if at.small else (1, 2):
        name = f"babi-{number}@original"
        data = dataset_task(name, None)
        explainers = ("attention", "integrated-gradients", "gradient@madsen2022")
        for explainer, target in itertools.product(
            explainers[: 2 if at.small else 3], ("gold", "predicted", "shuffled")
        ):
            if explainer == "attention" and target != "gold":
                continue  # it does not know a target
            how = {
                "amounts": [2] if at.small else [1, 2, 4, 6, 8, 10],
                "recipe": "default-pair" if at.small else "madsen2022-babi",
            }
            found = tasks.masks({"dataset": data}, explainer=explainer, target=target, seeds=at.seeds(3), **how)
            yield Arm({"dataset": name, "explainer": explainer, "target": target}, found)


def babi_shares(at: Setting) -> Iterator[Arm]:
    """The same where bAbI 2 rises, beyond ten tokens; attention and random masks tell how faithful each is."""
    name = "babi-1@original" if at.small else "babi-2@original"
    data = dataset_task(name, None)
    corrected = [("integrated-gradients", target) for target in ("gold", "predicted", "shuffled")]
    for explainer, target in (*corrected, ("attention", "gold"), ("random", "gold")):
        how = {
            "amounts": [0.5] if at.small else [0.3, 0.5, 0.7, 0.9],
            "recipe": "default-pair" if at.small else "madsen2022-babi",
        }
        found = tasks.masks(
            {"dataset": data}, explainer=explainer, target=target, seeds=at.seeds(3), unit="share", **how
        )
        yield Arm({"dataset": name, "explainer": explainer, "target": target}, found)


def babi_classes(at: Setting) -> Iterator[Arm]:
    """The authors' models have 36 classes, the words of the three tasks; a question of bAbI 1 has six answers."""
    name = "babi-1@original"
    data = dataset_task(name, None)
    how = {
        "amounts": [0.5] if at.small else [0.3, 0.6, 0.9],
        "recipe": "default-pair" if at.small else "madsen2022-babi",
    }
    for explainer, spare in itertools.product(("attention", "integrated-gradients", "random"), (0, 30)):
        found = tasks.masks(
            {"dataset": data}, explainer=explainer, target="gold", seeds=at.seeds(3), unit="share", spare=spare, **how
        )
        yield Arm({"dataset": name, "explainer": explainer, "spare": spare}, found)


def attended(at: Setting) -> Iterator[Arm]:
    """The base models of the study of AtteFa, trained as it trains them: where do they attend?"""
    study = load_study("attefa", {"vectors": str(at.glove)})
    seeds = study.seeds[:2] if at.small else study.seeds
    models = ("average-additive",) if at.small else ("bilstm-additive", "average-additive")
    for dataset, model in itertools.product(ATTEFA[: 1 if at.small else None], models):
        data = dataset_task(dataset, str(at.glove))
        trained = training(data, model=model, recipe="wiegreffe2019", seeds=seeds, shape=at.shape)
        found = tasks.attended({"dataset": data, "models": trained}, bases=seeds)
        yield Arm({"dataset": dataset, "model": model}, found)


def decay(at: Setting) -> Iterator[Arm]:
    """Is what short vectors do the work of weight decay, which shrinks the vectors of words that training rarely sees?

    Both lengths with the papers' weight decay and without any; both studies, as for the lengths.
    """
    scales = ("glove", "unit")
    for model, arm, weight in itertools.product(MODELS[-1:] if at.small else MODELS, scales, (1e-5, 0.0)):
        for found in norms(at, "sst@madsen2022", models=[model], arms=(arm,), weight_decay=weight):
            yield Arm({**found.about, "model": model, "weight_decay": weight}, found.task, found.study)


def sizes(at: Setting) -> Iterator[Arm]:
    """Attention on SNLI by how many pairs it was trained on: the paper has 549,367, here are 20,000."""
    for size in (200, 400) if at.small else (2500, 5000, 10_000, 20_000):
        with _corpus(at, "snli", size):
            settings: dict[str, Any] = {
                "datasets": "snli@jw2019",
                "models": ["average-dot"]
                if at.small
                else ["bilstm-additive", "bilstm-dot", *MODELS[2:], "average-dot"],
                "seeds": at.seeds(5),
                "vectors": str(at.glove),
                **_CORRELATION,
                "together": 5,
                "instances": 20 if at.small else 1000,
                **at.less,
            }
            yield _study("attention-is-not-explanation", {"dataset": "snli@jw2019", "size": size}, settings)


def epochs(at: Setting) -> Iterator[Arm]:
    """Attention's correlations by how long a model was trained: after so many epochs, the last one kept."""
    models = ["average-dot", "bilstm-dot", "average-additive", "bilstm-additive"]
    corpora = {"snli@jw2019": ("jw2019-pair", 1000), "sst@jw2019": ("jw2019", 0), "20news@jw2019": ("jw2019", 0)}
    corpora |= {"imdb@jw2019": ("jw2019", 1000), "agnews@jw2019": ("jw2019", 1000)}
    for dataset, (recipe, instances) in list(corpora.items())[: 1 if at.small else None]:
        for number in (1, 2) if at.small else (2, 5, 10, 20, 40):
            settings: dict[str, Any] = {"datasets": dataset, "models": models[: 1 if at.small else None]}
            settings |= {"seeds": at.seeds(5), "together": 5, "vectors": str(at.glove), **_CORRELATION, **at.less}
            settings |= {"instances": 20 if at.small else instances}
            settings |= {f"recipes.{dataset}": f"{recipe}[epochs={number},select=last]"}
            yield _study("attention-is-not-explanation", {"dataset": dataset, "epochs": number}, settings)


def court(at: Setting) -> Iterator[Arm]:
    """Agreement of methods about the BiLSTM by the length of the word vectors, which sets how far it bends."""
    for dataset in ("sst@court2022", "imdb@court2022")[: 1 if at.small else None]:
        for arm in ("glove", "unit"):
            vectors = write_arms(
                dataset, at.glove, at.data / "vectors" / "fasttext-100d.npz", at.arms, ("glove", "unit")
            )
            settings: dict[str, Any] = {"datasets": dataset, "models": ["bilstm-additive"], "seeds": at.seeds(5)}
            settings |= {"vectors": str(vectors[arm]), "uniform": False, "slow_instances": 0, "examples": 0, **at.less}
            settings |= {"explainers": ["attention", "lime", "integrated-gradients", "deep-lift", "gradient-shap"]}
            yield _study(
                "agreement", {"dataset": dataset, "arm": arm}, settings | {"instances": 20 if at.small else 500}
            )


def padded_query(at: Setting) -> Iterator[Arm]:
    """The authors' average encoder counts padding when it sums up the other text of a pair: does SNLI so differ?"""
    data = dataset_task("snli@jw2019", str(at.glove))
    models = ("average-dot",) if at.small else ("average-dot", "average-additive")
    for model, padded in itertools.product(models, (False, True)):
        how = {"recipe": "default-pair" if at.small else "jw2019-pair", "seeds": at.seeds(5)}
        found = tasks.padded_query(
            {"dataset": data}, model=model, padded=padded, instances=50 if at.small else 1000, **how
        )
        yield Arm({"model": model, "padded": padded}, found)


def dot(at: Setting) -> Iterator[Arm]:
    """Word vectors once more, for the model that differs most from the authors': an average with dot products."""
    for arm, dataset in itertools.product((*ARMS, "none")[: 1 if at.small else None], ("sst@jw2019",)):
        vectors = "none"
        if arm != "none":
            vectors = str(write_arms(dataset, at.glove, at.data / "vectors" / "fasttext-100d.npz", at.arms)[arm])
        settings = {"models": ["average-dot"], "seeds": at.seeds(10), "together": 10, "datasets": dataset, **at.less}
        settings |= {**_CORRELATION, "vectors": vectors, "instances": 50 if at.small else 0}
        yield _study("attention-is-not-explanation", {"arm": arm, "dataset": dataset}, settings)


@contextlib.contextmanager
def _corpus(at: Setting, name: str, size: int) -> Iterator[None]:
    """For plans made inside, a corpus has so many training texts, the first of one random order."""
    folder = at.arms / f"{name}-{size}" / name
    if not folder.exists():
        making = folder.with_name(f"{name}.part")
        shutil.rmtree(making, ignore_errors=True)
        shutil.copytree(at.data / name, making, ignore=shutil.ignore_patterns("train.*"))
        with gzip.open(at.data / name / "train.jsonl.gz", "rt", encoding="utf-8") as file:
            lines = file.readlines()
        random.Random(f"{name} by size").shuffle(lines)
        (making / "train.jsonl").write_text("".join(lines[:size]), encoding="utf-8")
        making.rename(folder)
    before = os.environ.get(ROOT_VARIABLE)
    os.environ[ROOT_VARIABLE] = str(folder.parent)
    try:
        yield
    finally:
        os.environ.pop(ROOT_VARIABLE)
        if before is not None:
            os.environ[ROOT_VARIABLE] = before


EXPERIMENTS: dict[str, Callable[[Setting], Iterator[Arm]]] = {
    "twin-grid": twin_grid,
    "norms-sst": lambda at: norms(at, "sst@madsen2022"),
    "integrated-gradients": integrated,
    "search": search,
    "babi": babi,
    "norms-agnews": lambda at: norms(at, "agnews@jw2019", steps=[0.4, 0.8], instances=1000),
    "norms-imdb": lambda at: norms(at, "imdb@madsen2022", steps=[0.5], instances=1000),
    "attended": attended,
    "decay": decay,
    "sizes": sizes,
    "babi-shares": babi_shares,
    "babi-classes": babi_classes,
    "padded-query": padded_query,
    "dot": dot,
    "epochs": epochs,
    "court": court,
}
"""In the order of their worth."""
