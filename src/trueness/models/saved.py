"""Saved models of every kind: config.json and weights.safetensors; nothing in their folders is executed.

config.json has `format`, `kind`, `family`, and what that family needs to build the network again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from trueness.boundary import check_folder, exists, is_file, quoted, read_settings, reading, short
from trueness.engine import disk, write_atomically
from trueness.errors import UserError
from trueness.plugins import is_address

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from trueness.registry import Registry

FORMAT = 1
CONFIG, WEIGHTS = "config.json", "weights.safetensors"


class SavedModel:
    """What a dataclass of a network, its classes and its history has in common with those of other kinds."""

    kind: ClassVar[str]
    network: Any
    classes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.network.family}: classes {', '.join(self.classes)}>"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        found: torch.device = self.network.device
        return found

    def config(self) -> dict[str, Any]:
        """All but the weights, as plain JSON."""
        raise NotImplementedError

    def save(self, folder: str | Path) -> Path:
        """Write config.json and weights.safetensors."""
        return save_model(self, folder)


def foreign(config: Path, family: Any) -> UserError:
    """That a saved model is of a family of somebody else's, whose code runs only if the user names it."""
    said = short(family)
    copied = is_address(said) and said.isprintable()  # it may be put into a shell as it stands
    written, flag = (repr(said), shlex.quote(said)) if copied else ("...", "ADDRESS")
    return UserError(
        f"{config} names the family {said!r}, which is not registered, and code is run only if you give it yourself: "
        f"load_model({str(config.parent)!r}, family={written}), or --family {flag}."
    )


def read_config(folder: Path) -> dict[str, Any]:
    """What config.json says; UserError where there is no model."""
    path = folder / CONFIG
    if not exists(folder):
        raise UserError(f"There is no model {folder}.")
    if not is_file(path):
        way = f"; a function in it is named {folder}:NAME" if folder.suffix == ".py" and folder.is_file() else ""
        raise UserError(f"{folder} is not a model: it has no {CONFIG}{way}.")
    check_folder(folder)
    config = read_settings(path)
    if not isinstance(config, dict):
        raise UserError(f"{path} does not describe a model.")
    return config


def recognise(
    folder: str | Path, families: Registry[Any], as_family: Callable[[Any, str], Any], family: Any = None
) -> tuple[Any, dict[str, Any]]:
    """The family of a saved model, registered or given, and its config.json; no code is looked for by its name."""
    config = read_config(Path(folder))
    known = [families[name] for name in families]
    if family is not None and not isinstance(family, str):
        return as_family(family, str(config.get("family"))), config
    if family is not None:
        known = [families[family]]
    for one in known:
        if one.recognises(config):
            return one, config
    path = Path(folder) / CONFIG
    if "family" not in config:
        raise UserError(f"{path} describes no model of trueness, nor one that save_pretrained of transformers wrote.")
    raise foreign(path, config["family"])


def save_model(model: Any, folder: str | Path) -> Path:
    """Write a model; the config last, so that a folder with one is complete."""
    from safetensors.torch import save

    path = Path(folder)
    if not model.network.family:
        raise UserError(f"A {type(model.network).__name__} is of no family that could load it again.")
    config = {"format": FORMAT, "kind": model.kind, "family": model.network.family, **model.config()}
    with disk(f"the model {path}", full="free some space", refused="choose another folder"):
        path.mkdir(parents=True, exist_ok=True)
        write_atomically(path / WEIGHTS, save(weights_of(model.network)))
        write_atomically(path / CONFIG, json.dumps(config, ensure_ascii=False, indent=1).encode())
    return path


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    """The weights, on the CPU."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights that `save_model` wrote."""
    from safetensors.torch import load_file

    with reading(folder / WEIGHTS, "is missing or unreadable"):
        return load_file(folder / WEIGHTS)


def check_format(source: str | Path, config: Mapping[str, Any], *older: str) -> None:
    """Refuse the form of another version."""
    if config.get("format") not in (FORMAT, *older):
        raise UserError(f"{source} has model format {quoted(config.get('format'))}, this trueness reads {FORMAT}.")


def check_names(source: str | Path, what: str, names: Sequence[Any], number: int) -> None:
    """Refuse words or classes of another number than the network's, such as are no text, and repeated ones."""
    if len(names) != number:
        raise UserError(f"{source}: {len(names)} {what} for a network of {number}.")
    if not all(isinstance(name, str) for name in names) or len(set(names)) != number:
        raise UserError(f"{source}: the {what} are not text, or the same one occurs twice.")


def filled(
    source: str | Path, build: Callable[[], Any], weights: Mapping[str, Tensor], device: Any, *, cautious: bool = True
) -> Any:
    """A network with these weights; refused are such as are not finite, or of other shapes than the network's.

    If `cautious`, shapes are compared before memory is taken for the network: its size is what the folder says.
    """
    import torch

    network = None if cautious else build()
    if network is None:
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            wanted = build().state_dict()
    else:
        wanted = network.state_dict()
    for name in sorted(wanted.keys() | weights.keys()):
        have, want = (tuple(some[name].shape) if name in some else "none" for some in (weights, wanted))
        if have != want:
            raise UserError(f"{source}: the weights do not fit config.json: {name} is {have} and should be {want}.")
    check_finite(source, weights)
    network = network or build()
    network.load_state_dict(dict(weights))
    return network.to(device).eval()


def check_finite(source: str | Path, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN, infinite or complex: all that follows would be made up."""
    for name, tensor in weights.items():
        # A sum is finite only of what is, and takes a tenth of the time; too large a one says nothing yet.
        quick = tensor.is_floating_point() and bool(tensor.sum().isfinite())
        if tensor.is_complex() or not (quick or tensor.isfinite().all()):
            raise UserError(f"{source}: the weights {name} hold NaN, infinity or complex numbers.")
