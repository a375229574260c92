"""Which experiments there are: for each arm a task, and what names it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.experiments import tasks
from benchmarks.experiments.arms import ARMS, write_arms
from trueness import studies
from trueness.engine import Task
from trueness.studies import Study, load_study
from trueness.studies.model_tasks import training
from trueness.studies.text_tasks import dataset_task

MODELS = "bilstm-additive", "cnn-additive", "average-additive"
MOCK = tuple(f"mock-{kind}@attefa2022" for kind in ("1", "2", "5", "10"))


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
    def less(self) -> dict[str, Any]:
        """What makes models small."""
        return {"shape.hidden": 8} if self.small else {}


def _study(name: str, about: dict[str, Any], settings: dict[str, Any]) -> Arm:
    study = load_study(name, settings)
    return Arm({"study": name, **about}, studies.plan(study), study)


def twin_grid(at: Setting) -> Iterator[Arm]:
    """Item 1: sum or mean, weight decay or none, over base models and their twins."""
    datasets = MOCK[:1] if at.small else (*MOCK, "sst@attefa2022")
    models = ("average-additive",) if at.small else ("bilstm-additive", "average-additive")
    shape = {"hidden": 8} if at.small else {}
    bases, twins = at.seeds(3), [10, 50, 257][: 1 if at.small else 3]
    for dataset, model in itertools.product(datasets, models):
        data = dataset_task(dataset, str(at.glove))
        trained = training(data, model=model, recipe="wiegreffe2019", seeds=bases, shape=shape)
        for base, loss, decay in itertools.product(bases, ("sum", "mean"), (1e-5, 0.0)):
            how = {"loss": loss, "weight_decay": decay, "epochs": 1 if at.small else 80}
            both = {"dataset": data, "models": trained}
            about = {"dataset": dataset, "model": model, "base": base, "loss": loss, "weight_decay": decay}
            yield Arm(about, tasks.twins(both, base=base, seeds=twins, **how))


def norms(at: Setting, dataset: str, instances: int = 0, **more: Any) -> Iterator[Arm]:
    """Vector lengths: both studies under every arm; attention's with so many drawn test texts, or with all (0)."""
    seeds = 5
    removal, attention = dataset, dataset.replace("@madsen2022", "@jw2019")
    for arm in ARMS[: 2 if at.small else None]:
        common = {"models": list(MODELS[-1:] if at.small else MODELS), "seeds": at.seeds(seeds), **at.less}
        files = {
            name: str(write_arms(name, at.glove, at.data / "vectors" / "fasttext-100d.npz", at.arms)[arm])
            for name in dict.fromkeys((removal, attention))
        }
        less = {"companion": False, "leak": False, "explainers": ["attention", "gradient@madsen2022"], "steps": [0.5]}
        full = {} if at.small else {"steps": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
        settings = {**common, **less, **full, **more, "datasets": removal, "vectors": files[removal]}
        yield _study("recursive-roar", {"arm": arm, "dataset": removal}, settings)
        little = {"search_steps": 0, "permutations": 2, "epsilons": [0.0], "together": seeds, "examples": 0}
        little |= {"instances": 50 if at.small else instances}
        settings = {**common, **little, "datasets": attention, "vectors": files[attention]}
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
    seeds, shape = at.seeds(3), {"hidden": 8} if at.small else {}
    models = training(data, model=MODELS[-1 if at.small else 0], recipe="jw2019", seeds=seeds, shape=shape)
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


EXPERIMENTS: dict[str, Callable[[Setting], Iterator[Arm]]] = {
    "twin-grid": twin_grid,
    "norms-sst": lambda at: norms(at, "sst@madsen2022"),
    "integrated-gradients": integrated,
    "search": search,
    "babi": babi,
    "norms-agnews": lambda at: norms(at, "agnews@jw2019", steps=[0.4, 0.8], instances=1000),
    "norms-imdb": lambda at: norms(at, "imdb@madsen2022", steps=[0.5], instances=1000),
}
"""In the order of their worth."""
