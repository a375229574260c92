"""Saved trainings: an interrupted one continues where it stopped."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from trueness.engine import disk, write_atomically
from trueness.engine.encoding import bytes_digest, digest
from trueness.errors import UserError
from trueness.models.loop import Loop, Progress

_RECORD = "progress.json"


class Checkpoint:
    """Saves training after every epoch and restores it.

    A state of another training is refused; a damaged one is told, and training begins again.
    """

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self.folder = None if folder is None else Path(folder)
        self.identity = digest(identity)
        self._file: str | None = None

    def keep(self, loop: Loop[Any]) -> None:
        """Save; the record last, so that it never names a file that is not complete."""
        if self.folder is None:
            return
        tensors = {f"now.{name}": tensor for name, tensor in loop.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in loop.best.items()}
        for number, slot in loop.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": torch.as_tensor(value) for name, value in slot.items()}
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
        if self.folder is None or not (self.folder / _RECORD).exists():
            return
        try:
            record, tensors = self._read(self.folder)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            why = " ".join(str(error).split())
            warnings.warn(
                f"The training state in {self.folder} is damaged ({why}): training begins again.", stacklevel=2
            )
            return
        self._file = record["file"]
        loop.network.load_state_dict(_under("now.", tensors))
        loop.best = {name: tensor.to(loop.train.device) for name, tensor in _under("best.", tensors).items()}
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("adam.", tensors).items():
            number, slot = name.split(".", 1)
            slots.setdefault(int(number), {})[slot] = tensor
        loop.optimiser.load_state_dict({**loop.optimiser.state_dict(), "state": slots})
        loop.progress = Progress(**record["progress"])

    def _read(self, folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What was kept, each part checked against its digest before it is used."""
        record = dict(json.loads((folder / _RECORD).read_bytes()))
        if record.pop("digest", None) != _digest(record):
            raise ValueError(f"{_RECORD} does not match its digest")
        if record["identity"] != self.identity:
            raise UserError(f"{folder} holds the state of another training; give another folder or remove it.")
        content = (folder / record["file"]).read_bytes()
        if bytes_digest(content) != record["file digest"]:
            raise ValueError(f"{record['file']} does not match its digest")
        return record, load(content)


def _digest(record: Mapping[str, Any]) -> str:
    return bytes_digest(json.dumps(record).encode())


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
