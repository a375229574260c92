"""The training loop, and its checkpoint: an interrupted training continues where it stopped."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from trueness.engine import disk, write_atomically
from trueness.engine.encoding import bytes_digest, digest
from trueness.engine.payload import under
from trueness.errors import UserError
from trueness.models import network as networks
from trueness.models.cuda_graphs import Objective, Stepper, TrainingSplit
from trueness.models.recipes import Recipe
from trueness.progress import told

Network = TypeVar("Network", bound=networks.Network)
_RECORD = "progress.json"


@dataclass
class Progress:
    """All that training needs to go on after an epoch."""

    epoch: int = 0
    best: float | None = None
    best_epoch: int = -1
    history: list[dict[str, float]] = field(default_factory=list)


class Steps(Protocol):
    """Takes the steps of a training."""

    @property
    def optimiser(self) -> torch.optim.Optimizer:
        """What updates the weights."""

    @property
    def total(self) -> Tensor:
        """The summed loss of the last pass."""

    def epoch(self, rng: np.random.Generator) -> Iterator[None]:
        """One pass over the data, step by step."""


class Loop(Generic[Network]):
    """One training: steps, a look at the selection split after every epoch, and the best weights so far."""

    def __init__(
        self,
        network: Network,
        recipe: Recipe,
        train: TrainingSplit,
        objective: Objective,
        measure: Callable[[Network], dict[str, float]],
        seed: int,
        checkpoint: Checkpoint | None = None,
        stepper: Steps | None = None,
    ) -> None:
        """Steps are taken by Adam unless a stepper is given."""
        self.network, self.recipe, self.seed = network, recipe, seed
        self.train: Any = train  # each kind's has more
        self.objective, self.measure, self.checkpoint = objective, measure, checkpoint
        self.progress = Progress()
        self._frozen = [
            parameter
            for name, parameter in network.named_parameters()
            if name.split(".")[0] in recipe.frozen and parameter.requires_grad
        ]
        for parameter in self._frozen:
            parameter.requires_grad = False
        self.best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        if stepper is None:
            optimiser = optimiser_of(network.named_parameters(), recipe)
            stepper = Stepper(network, recipe, train, optimiser, objective)
        self._stepper: Steps
        self._stepper, self.optimiser, self.total = stepper, stepper.optimiser, stepper.total
        """The summed loss of the last pass."""
        if checkpoint is not None:
            checkpoint.restore(self)

    @property
    def finished(self) -> bool:
        """Whether the epochs are used up, patience is at its end, or the aim is reached."""
        done, how = self.progress, self.recipe
        if done.epoch >= how.epochs:
            return True
        if how.patience is not None and done.best_epoch >= 0 and done.epoch - 1 - done.best_epoch >= how.patience:
            return True
        return bool(done.history) and self._reaches(done.history[-1])

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept, counted from 1."""
        return self.progress.best_epoch + 1

    def steps(self) -> Iterator[None]:
        """The steps of one pass over the training data, one at a time."""
        done, epochs = self.progress.epoch, self.recipe.epochs
        steps = self._stepper.epoch(np.random.default_rng([self.seed, done]))
        each = -(-len(self.train) // self.recipe.batch_size)
        return told(steps, f"training, epoch {done + 1} of {epochs} at most", each, done / epochs, (done + 1) / epochs)

    def look(self, measured: dict[str, float] | None = None) -> None:
        """After a pass: measure on the selection split, unless that was done already, and keep the best."""
        done, total = self.progress, float(self.total)
        if not np.isfinite(total):
            raise UserError(
                f"Training diverged in epoch {done.epoch + 1}: the loss is not finite; try a smaller learning rate."
            )
        row = {"train_loss": total / len(self.train), **(self.measure(self.network) if measured is None else measured)}
        row = {**row, "last": float(done.epoch)} if self.recipe.select == "last" else row
        if self.recipe.select not in row:
            raise UserError(
                f"The recipe selects by {self.recipe.select}, which needs development examples of both classes; "
                "others, such as default, select by accuracy."
            )
        value = -row["loss"] if self.recipe.select == "loss" else row[self.recipe.select]
        better = done.best is None or value > done.best or self._reaches(row)
        if better and not (self.recipe.skip_first and done.epoch == 0 and self.recipe.epochs > 1):
            done.best, done.best_epoch = value, done.epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        done.history.append(row)
        done.epoch += 1
        if self.checkpoint is not None:
            self.checkpoint.keep(self)

    def finish(self) -> Network:
        """The network as it was after its best epoch."""
        for parameter in self._frozen:
            parameter.requires_grad = True
        self.network.load_state_dict(self.best)
        self.network.eval()
        return self.network

    def _reaches(self, row: dict[str, float]) -> bool:
        """Whether this epoch is the aim of training; rationale models must also select as much as they should."""
        aim = self.recipe.stop_at
        return aim is not None and row["accuracy"] >= aim and bool(row.get("on target", True))


def optimiser_of(named: Iterable[tuple[str, Tensor]], recipe: Recipe) -> torch.optim.Adam:
    """Adam with AMSGrad; by their names parts of the model may be frozen, or exempt from weight decay."""
    exempt: list[Tensor] = []
    decayed: list[Tensor] = []
    for name, parameter in named:
        part = name.split(".")[0]
        if part not in recipe.frozen:
            (exempt if part in recipe.exempt else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": exempt, "weight_decay": 0.0}]
    return torch.optim.Adam(
        [group for group in groups if group["params"]],
        lr=recipe.learning_rate,
        amsgrad=True,
        fused=True,
        capturable=(decayed or exempt)[0].is_cuda,  # there steps are recorded, see `cuda_graphs`
    )


class Checkpoint:
    """Saves training after every epoch and restores it.

    A state of another training is refused; a damaged one is told, and training begins again.
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, Any], *, draws: bool = False) -> None:
        """`draws` says that training draws from torch's own generator, as dropout does: its state is kept as well."""
        self.folder = Path(folder)
        self.identity = digest(identity)
        self._draws = draws
        self._file: str | None = None

    def keep(self, loop: Loop[Any]) -> None:
        """Save; the record last, so that it never names a file that is not complete."""
        tensors = {f"now.{name}": tensor for name, tensor in loop.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in loop.best.items()}
        for number, slot in loop.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": torch.as_tensor(value) for name, value in slot.items()}
        if self._draws:
            tensors["drawn"] = torch.get_rng_state()
        content = save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
        file = f"epoch-{loop.progress.epoch}.safetensors"
        record = {
            "identity": self.identity,
            "file": file,
            "file digest": bytes_digest(content),
            "progress": asdict(loop.progress),
        }
        with disk(f"the training state {self.folder}", full="free some space", refused="choose another folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / file, content)
            write_atomically(self.folder / _RECORD, json.dumps({**record, "digest": _digest(record)}).encode())
            if self._file not in (None, file):
                (self.folder / str(self._file)).unlink(missing_ok=True)
        self._file = file

    def restore(self, loop: Loop[Any]) -> None:
        """Continue where a saved training stopped, if there is one."""
        if not (self.folder / _RECORD).exists():
            return
        try:
            record, tensors = self._read()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            why = " ".join(str(error).split())
            warnings.warn(
                f"The training state in {self.folder} is damaged ({why}): training begins again.", stacklevel=2
            )
            return
        self._file = record["file"]
        loop.network.load_state_dict(under("now.", tensors))
        loop.best = {name: tensor.to(loop.train.device) for name, tensor in under("best.", tensors).items()}
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in under("adam.", tensors).items():
            number, slot = name.split(".", 1)
            slots.setdefault(int(number), {})[slot] = tensor
        loop.optimiser.load_state_dict({**loop.optimiser.state_dict(), "state": slots})
        if self._draws:
            torch.set_rng_state(tensors["drawn"])
        loop.progress = Progress(**record["progress"])

    def _read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What was kept, each part checked against its digest before it is used."""
        record = dict(json.loads((self.folder / _RECORD).read_bytes()))
        if record.pop("digest", None) != _digest(record):
            raise ValueError(f"{_RECORD} does not match its digest")
        if record["identity"] != self.identity:
            raise UserError(f"{self.folder} holds the state of another training; give another folder or remove it.")
        content = (self.folder / record["file"]).read_bytes()
        if bytes_digest(content) != record["file digest"]:
            raise ValueError(f"{record['file']} does not match its digest")
        return record, load(content)


def _digest(record: Mapping[str, Any]) -> str:
    return bytes_digest(json.dumps(record).encode())
