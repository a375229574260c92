"""Somebody else's kind: melodies, explained note by note. It knows trueness and is unknown to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from trueness.data import arrays
from trueness.data.arrays import ArrayExamples, DataOfArrays
from trueness.data.dataset import Dataset
from trueness.data.rows import RowSplit
from trueness.explainers.catalogue import add_common
from trueness.explainers.contract import explainers_of
from trueness.kinds import KINDS
from trueness.kinds.contract import Content, Kind, Planted, Words
from trueness.kinds.relatives import FamilyRelatives
from trueness.models import saved
from trueness.models.families import Family, ModelsOfFamilies
from trueness.models.network import Network
from trueness.models.recipes import RECIPES, Recipe
from trueness.models.training import build, fitted
from trueness.registry import Registry

PITCHES, LENGTH, REST = (*"-CDEFGAB",), 8, 0
RECIPE = "default[epochs=30, batch_size=32, learning_rate=0.02]"


@dataclass(frozen=True)
class Melodies(ArrayExamples):
    pitches: Any
    """(melodies, notes) numbers of pitches."""
    labels: Any


@dataclass(frozen=True)
class MelodyDataset(Dataset[Melodies]):
    kind = "notes"
    name: str
    classes: tuple[str, ...]
    splits: Mapping[str, Melodies] = field(repr=False)
    notes: tuple[str, ...] = ()


def tunes(seed=0):
    """Melodies with one A are sad, those with one B are glad."""
    rng, splits = np.random.default_rng(seed), {}
    for name, size in (("train", 300), ("dev", 60), ("test", 120)):
        pitches, labels = rng.integers(1, 6, (size, LENGTH)), rng.integers(2, size=size)
        pitches[np.arange(size), rng.integers(LENGTH, size=size)] = 6 + labels
        splits[name] = Melodies(pitches, labels)
    return MelodyDataset("tunes", ("sad", "glad"), splits)


class Ear(Network):
    """Hears which notes there are, not when."""

    def __init__(self, classes, size=8):
        super().__init__()
        self.family, self.shape = "ear", {"classes": classes, "size": size}
        self.table, self.out = nn.Embedding(len(PITCHES), size), nn.Linear(size, classes)

    def values(self, batch):
        return self.table(batch.values)

    def logits(self, batch, *, values=None):
        return self.out((self.values(batch) if values is None else values).sum(dim=1))


@dataclass(frozen=True)
class Listener:
    network: Any
    classes: tuple[str, ...]
    history: tuple[Any, ...] = ()
    kind = "notes"

    def coded(self, examples):
        return RowSplit(examples.pitches, examples.labels, self.network.device, blank=REST)

    def config(self):
        return {"network": dict(self.network.shape), "classes": list(self.classes)}

    def save(self, folder):
        return saved.save_model(self, folder)


class EarFamily(Family):
    name, built_in, settings = "ear", True, ("size",)

    def train_one(self, data, seed, *, view, state, recipe=None, device="cpu", **shape):
        how = recipe if isinstance(recipe, Recipe) else RECIPES[recipe or RECIPE]
        fresh = build(lambda: Ear(len(data.classes), **shape), seed).to(device)
        return fitted(Listener(fresh, data.classes), data, how, seed, view, state)

    def assemble(self, config, weights, device, source):
        return Listener(saved.filled(source, lambda: Ear(**config["network"]), weights, device), (*config["classes"],))


MODELS, DATASETS, EXPLAINERS = Registry("model"), Registry("dataset"), explainers_of("notes", "")
MODELS.add("ear", EarFamily(), "hears which notes there are")
DATASETS.add("tunes", tunes, "melodies that are sad or glad (generated)")
add_common(EXPLAINERS)


def recognise(folder, family=None):
    return saved.recognise(folder, MODELS, lambda thing, name: thing, family)


class NotesModels(ModelsOfFamilies):
    families = MODELS

    def recognises(self, model):
        return False  # folders say their kind, and there is no other form

    def open(self, model, device="cpu", family=None):
        found, config = recognise(model, family)
        return found.load(Path(model), config, device)


class NotesData(DataOfArrays):
    datasets, payload = DATASETS, "melodies"

    def recognises(self, data):
        return isinstance(data, Melodies) or (isinstance(data, str) and data in DATASETS)

    def read(self, data, *, model=None, columns=None, root=None, **options):
        return data if isinstance(data, MelodyDataset) else DATASETS[data](**options)

    def pack(self, data):
        return arrays.pack(data, "melodies")

    def unpack(self, stored):
        about, splits = arrays.unpack(stored, "melodies", Melodies)
        return MelodyDataset(splits=splits, **about)


class NotesExplaining:
    def usual(self, model):
        return ["input-x-gradient", "leave-one-out"]

    def is_data(self, examples):
        return isinstance(examples, str | Dataset)

    def given(self, examples, model, others=None):
        return (examples, False) if isinstance(examples, Melodies) else (heard(examples), True)

    def shown(self, model, examples, row, scores):
        return {"tokens": names(examples, row), "scores": tuple(scores.tolist())}


def heard(written):
    """Melodies written as letters, "CDEFGABC"."""
    return Melodies(np.array([[PITCHES.index(one) for one in each] for each in written]), np.full(len(written), -1))


def names(examples, row):
    return tuple(PITCHES[pitch] for pitch in examples.pitches[row])


class NotesView:
    def contents(self, model, examples):
        return [Content(names(examples, row)) for row in range(len(examples))]

    def scores(self, model, examples, row, scores):
        return scores.tolist()


class NotePlanter:
    """Two pitches tell the label, and one that stands as often in both looks like them."""

    speaks = True

    def plant(self, model, dataset, seed):
        rng, splits = np.random.default_rng(seed), {}
        pitches = rng.permutation(np.arange(1, len(PITCHES)))
        for name, some in dataset.splits.items():
            changed, labels = rng.choice(pitches[3:], some.pitches.shape), rng.integers(2, size=len(some))
            at = rng.permuted(np.tile(np.arange(LENGTH), (len(some), 1)), axis=1)
            rows = np.arange(len(some))
            changed[rows, at[:, 0]], changed[rows, at[:, 1]] = pitches[labels], pitches[2]
            splits[name] = Melodies(changed, labels)
        about = {"evidence": pitches[:2].tolist(), "decoy": pitches[2:3].tolist()}
        return Planted(MelodyDataset("planted", ("one", "other"), splits), 0.5, "a note", about)

    def where(self, model, examples, about):
        return np.isin(examples.pitches, about["evidence"]), np.isin(examples.pitches, about["decoy"])


def edit(examples):
    """The last two notes change places."""
    order = [*range(LENGTH - 2), LENGTH - 1, LENGTH - 2]
    return Melodies(examples.pitches[:, order], examples.labels), [LENGTH - 2] * len(examples)


NOTES = Kind(
    name="notes",
    words=Words("melody", "melodies", "note", "notes", "the last two notes change places"),
    models=NotesModels(),
    data=NotesData(),
    explainers=EXPLAINERS,
    usual=lambda model, family=None: ["input-x-gradient", "leave-one-out"],
    edit=edit,
    planter=NotePlanter(),
    relatives=FamilyRelatives(MODELS, recognise, RECIPE),
    view=NotesView(),
    explaining=NotesExplaining(),
)
KINDS.add("notes", NOTES, "melodies: one score per note", maker=NotesData)
