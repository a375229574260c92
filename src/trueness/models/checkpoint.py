"""Saved trainings: an interrupted one continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from trueness.engine import write_atomically
from trueness.engine.encoding import digest
from trueness.errors import UserError
from trueness.models.loop import Loop, Progress


class Checkpoint:
    """Saves training after every epoch and restores it; a state of another training is refused."""

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        self.identity = digest(identity)

    def keep(self, loop: Loop[Any]) -> None:
        """Save; the record last, so that it never names a file that is not complete."""
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

    def restore(self, loop: Loop[Any]) -> None:
        """Continue where a saved training stopped, if there is one."""
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
        loop.progress = Progress(**record)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
