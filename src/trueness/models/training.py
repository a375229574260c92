"""One readable training loop, resumable after any epoch."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from trueness.data.batches import EncodedSplit
from trueness.data.examples import TextDataset
from trueness.data.word_vectors import Missing, load_vectors
from trueness.engine import write_atomically
from trueness.engine.encoding import digest
from trueness.errors import UserError
from trueness.models.attentive import AttentiveClassifier, AttentiveConfig
from trueness.models.recipes import RECIPES, Recipe
from trueness.models.registry import TEXT_MODELS
from trueness.models.stepping import Stepper
from trueness.models.text_model import TextModel
from trueness.stats import Undefined
from trueness.stats.classification import accuracy, macro_f1, roc_auc


def model_config(name: str, data: TextDataset, recipe: Recipe, **changes: Any) -> AttentiveConfig:
    """The shape that a name such as `bilstm-additive` means for a dataset under a recipe."""
    encoder, attention = TEXT_MODELS[name]
    shape = {"vocabulary": len(data.vocabulary), "classes": len(data.classes), **recipe.shape, **changes}
    return AttentiveConfig(encoder=encoder, attention=attention, **shape)  # type: ignore[arg-type]


@dataclass
class _Progress:
    """All that training needs to go on after an epoch."""

    epoch: int = 0
    best: float | None = None
    best_epoch: int = -1
    history: list[dict[str, float]] = field(default_factory=list)


def train(
    name: str,
    data: TextDataset,
    *,
    recipe: str | Recipe | None = None,
    seed: int = 0,
    device: str = "cpu",
    vectors: str | Path | npt.NDArray[np.float32] | None = None,
    missing: Missing = "zeros",
    state: str | Path | None = None,
    **changes: Any,
) -> TextModel:
    """Train a classifier and return it as it was after its best epoch.

    `changes` alter the model's shape (`hidden=32`). With `state`, a folder, training is saved after every epoch and the
    same call continues an interrupted one; on a CPU the result has the same bytes.
    """
    (model,) = train_many(
        name,
        data,
        [seed],
        recipe=recipe,
        device=device,
        vectors=vectors,
        missing=missing,
        states=None if state is None else [state],
        **changes,
    )
    return model


def train_many(
    name: str,
    data: TextDataset,
    seeds: Sequence[int],
    *,
    recipe: str | Recipe | None = None,
    device: str = "cpu",
    vectors: str | Path | npt.NDArray[np.float32] | None = None,
    missing: Missing = "zeros",
    states: Sequence[str | Path] | None = None,
    **changes: Any,
) -> list[TextModel]:
    """One classifier per seed, the same as `train` gives; on a GPU they are trained at the same time."""
    how = _recipe(recipe, data)
    splits = {split: EncodedSplit(data[split], data.vocabulary, device) for split in {"train", how.select_on}}
    loops, keepers, notes = [], [], list[str]()
    for number, seed in enumerate(seeds):
        table, notes = _table(vectors, data, missing, seed)
        if table is not None:
            changes = {**changes, "embedding": table.shape[1]}
        config = model_config(name, data, how, **changes)
        network = _build(config, seed, table).to(device)
        loops.append(_Loop(network, how, splits["train"], splits[how.select_on], seed, len(data.classes)))
        identity = {"config": asdict(config), "recipe": asdict(how), "seed": seed, "data": data.name}
        keepers.append(_Keeper(None if states is None else states[number], identity))
        keepers[-1].restore(loops[-1])
    while going := [pair for pair in zip(loops, keepers, strict=True) if not pair[0].finished]:
        # One step of each in turn: none waits for the device, so their work overlaps there.
        for _ in itertools.zip_longest(*(loop.steps() for loop, _ in going)):
            pass
        for loop, keeper in going:
            loop.look()
            keeper.keep(loop)
    notes = [*data.notes, *notes]
    if how.select_on == "test":
        notes.append("the best epoch was chosen on the test split, as published; its test scores are optimistic")
    return [
        TextModel(
            loop.finish(), data.vocabulary, data.classes, data.preparation, tuple(loop.progress.history), tuple(notes)
        )
        for loop in loops
    ]


def _table(
    vectors: str | Path | npt.NDArray[np.float32] | None, data: TextDataset, missing: Missing, seed: int
) -> tuple[npt.NDArray[np.float32] | None, list[str]]:
    """A vector for every word of the vocabulary (given, read from a file, or none), and a note on it."""
    if vectors is None:
        return None, []
    if isinstance(vectors, np.ndarray):
        return vectors, [f"word vectors, {vectors.shape[1]}-d"]
    table, found = load_vectors(vectors, data.vocabulary, missing=missing, seed=seed)
    words = f"{found} of {len(data.vocabulary)} words found"
    return table, [f"word vectors {Path(vectors).name}, {table.shape[1]}-d: {words}"]


def _recipe(recipe: str | Recipe | None, data: TextDataset) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    return RECIPES[recipe or ("default-pair" if data.pairs else "default")]


def _build(config: AttentiveConfig, seed: int, table: npt.NDArray[np.float32] | None) -> AttentiveClassifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = AttentiveClassifier(config)
    if table is not None:
        with torch.no_grad():
            network.embedding.weight.copy_(torch.from_numpy(table))
            if config.head == "query" and network.query_embedding is not None:
                network.query_embedding.weight.copy_(torch.from_numpy(table))
    return network


class _Loop:
    def __init__(
        self,
        network: AttentiveClassifier,
        recipe: Recipe,
        train: EncodedSplit,
        select: EncodedSplit,
        seed: int,
        classes: int,
    ) -> None:
        self.network, self.recipe, self.train, self.select = network, recipe, train, select
        self.seed, self.classes = seed, classes
        self.progress = _Progress()
        self.best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        self.optimiser = _optimiser(network, recipe)
        self._stepper = Stepper(network, recipe, train, self.optimiser)

    @property
    def finished(self) -> bool:
        done, how = self.progress, self.recipe
        if done.epoch >= how.epochs:
            return True
        if how.patience is not None and done.best_epoch >= 0 and done.epoch - 1 - done.best_epoch >= how.patience:
            return True
        return bool(how.stop_at is not None and done.history and done.history[-1]["accuracy"] >= how.stop_at)

    def steps(self) -> Iterator[None]:
        """The steps of one pass over the training data, one at a time."""
        return self._stepper.epoch(np.random.default_rng([self.seed, self.progress.epoch]))

    def look(self) -> None:
        """After a pass: measure on the selection split, and remember the best."""
        total = float(self._stepper.total)
        if not np.isfinite(total):
            raise UserError(f"Training diverged in epoch {self.progress.epoch + 1}: the loss is not finite.")
        measured = evaluate(self.network, self.select, self.classes)
        self._select({"train_loss": total / len(self.train), **measured})

    def finish(self) -> AttentiveClassifier:
        """The network as it was after its best epoch."""
        self.network.load_state_dict(self.best)
        return self.network.eval()

    def _select(self, row: dict[str, float]) -> None:
        done = self.progress
        if self.recipe.select not in row:
            raise UserError(
                f"The selection split does not define {self.recipe.select}: it needs examples of both classes."
            )
        value = -row["loss"] if self.recipe.select == "loss" else row[self.recipe.select]
        better = done.best is None or value > done.best
        if better and not (self.recipe.skip_first and done.epoch == 0 and self.recipe.epochs > 1):
            done.best, done.best_epoch = value, done.epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        done.history.append(row)
        done.epoch += 1


def _optimiser(network: AttentiveClassifier, recipe: Recipe) -> torch.optim.Adam:
    exempt: list[torch.nn.Parameter] = []
    decayed: list[torch.nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (exempt if name.split(".")[0] in recipe.exempt else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": exempt, "weight_decay": 0.0}]
    cuda = network.output.weight.is_cuda  # there steps are recorded, see `stepping`
    return torch.optim.Adam(
        [g for g in groups if g["params"]], lr=recipe.learning_rate, amsgrad=True, fused=True, capturable=cuda
    )


def predict(network: AttentiveClassifier, split: EncodedSplit) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Logits (examples, classes) and gold labels, in the order of the split."""
    was_training = network.training
    network.eval()
    logits = torch.zeros(len(split), network.config.classes, device=split.device)
    try:
        with torch.inference_mode():
            for rows, batch in split.in_order():
                logits[torch.from_numpy(rows).to(split.device)] = network(batch).logits.float()
    finally:
        network.train(was_training)
    return logits.double().cpu().numpy(), split.labels.cpu().numpy()


def evaluate(network: AttentiveClassifier, split: EncodedSplit, classes: int) -> dict[str, float]:
    """Mean cross-entropy, accuracy, macro-F1, and for two classes AUC and F1 of class 1; none where undefined."""
    logits, gold = predict(network, split)
    predicted = logits.argmax(axis=1)
    shifted = logits - logits.max(axis=1, keepdims=True)
    loss = float((np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(gold)), gold]).mean())
    measured: dict[str, float | Undefined] = {
        "loss": loss,
        "accuracy": accuracy(predicted, gold),
        "macro-f1": macro_f1(predicted, gold, classes),
    }
    if classes == 2:
        measured["auc"] = roc_auc(logits[:, 1] - logits[:, 0], gold == 1)
        hits = int(((predicted == 1) & (gold == 1)).sum())
        total = int((predicted == 1).sum() + (gold == 1).sum())
        measured["f1"] = 2 * hits / total if total else 0.0
    return {name: value for name, value in measured.items() if not isinstance(value, Undefined)}


class _Keeper:
    """Saves training after every epoch and restores it; a state of another training is refused."""

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        self.identity = digest(identity)

    def keep(self, loop: _Loop) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"now.{name}": tensor for name, tensor in loop.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in loop.best.items()}
        for number, slot in loop.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": torch.as_tensor(value) for name, value in slot.items()}
        file = f"epoch-{loop.progress.epoch}.safetensors"
        write_atomically(
            self.folder / file, save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
        )
        record = {"identity": self.identity, "file": file, **asdict(loop.progress)}
        write_atomically(self.folder / "progress.json", json.dumps(record).encode())
        for old in self.folder.glob("epoch-*.safetensors"):
            if old.name != file:
                old.unlink()

    def restore(self, loop: _Loop) -> None:
        if self.folder is None or not (self.folder / "progress.json").is_file():
            return
        record = json.loads((self.folder / "progress.json").read_bytes())
        if record.pop("identity") != self.identity:
            raise UserError(f"{self.folder} holds the state of another training; give another folder or remove it.")
        tensors = load_file(self.folder / record.pop("file"))
        loop.network.load_state_dict(_under("now.", tensors))
        loop.best = {name: tensor.to(loop.train.device) for name, tensor in _under("best.", tensors).items()}
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("adam.", tensors).items():
            number, slot = name.split(".", 1)
            slots.setdefault(int(number), {})[slot] = tensor
        loop.optimiser.load_state_dict({**loop.optimiser.state_dict(), "state": slots})
        loop.progress = _Progress(**record)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
