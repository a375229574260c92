"""Sequence classifiers of transformers: from folders, from a pair with the tokeniser, and as payloads of tasks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from trueness.kinds.text.models.decoders import network_of
from trueness.kinds.text.models.pretrained import longest_text, open_folder
from trueness.kinds.text.models.transformer import Subwords, TransformerModel
from trueness.models.pretrained import class_names

if TYPE_CHECKING:
    from trueness.engine import Stored


def load_transformer(folder: str | Path, device: str | torch.device = "cpu") -> TransformerModel:
    """A fine-tuned classifier and its tokeniser, as `save_pretrained` left them: safetensors only, no code is run."""
    return of_pair(*open_folder(Path(folder)), device)


def of_pair(model: Any, tokenizer: Any, device: str | torch.device = "cpu") -> TransformerModel:
    """A classifier and its tokeniser, with the classes that its configuration names."""
    names = class_names(type(model).__name__, model.config)
    network = network_of(model).to(device)
    return TransformerModel(network, Subwords(tokenizer, longest_text(model, tokenizer)), names)


def payloads_of(model: TransformerModel) -> dict[str, Any]:
    """How a transformer is kept in a store: its weights, and its other files as text."""
    state = model.network.model.state_dict()
    with tempfile.TemporaryDirectory() as folder:
        model.network.model.config.save_pretrained(folder)
        model.coder.tokenizer.save_pretrained(folder)
        files = {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(folder).iterdir())}
    return {"weights": {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}, "files": files}


def read_payloads(stored: Stored, device: str | torch.device) -> TransformerModel:
    """The transformer whose `payloads_of` a store holds."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in stored.read("files").items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        weights = {name: torch.from_numpy(array) for name, array in stored.read("weights").items()}
        save_file(weights, Path(folder) / "model.safetensors", metadata={"format": "pt"})
        return load_transformer(folder, device)
