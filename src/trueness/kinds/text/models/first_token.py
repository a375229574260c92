"""Transformers that classify by their first token: behind the last layer's attention no other need be computed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

AFTER_ATTENTION = {
    "bert": "encoder.layer.{}.attention.output",
    "distilbert": "transformer.layer.{}.sa_layer_norm",
    "electra": "encoder.layer.{}.attention.output",
    "roberta": "encoder.layer.{}.attention.output",
}
"""The part of a layer from which on tokens no longer see one another. Behind it the last layer's other tokens are an
eighth of MiniLM's work."""


@contextlib.contextmanager
def first_token(model: Any) -> Iterator[None]:
    """Behind the last layer's attention there is the first token alone."""
    place = AFTER_ATTENTION[model.config.model_type].format(model.config.num_hidden_layers - 1)
    part = model.base_model.get_submodule(place)
    hook = part.register_forward_pre_hook(lambda _, inputs: tuple(one[:, :1] for one in inputs))
    try:
        yield
    finally:
        hook.remove()


@torch.no_grad()
def first_token_suffices(model: Any, table: Tensor) -> bool:
    """Whether logits stay the same so, on a few random texts of its embeddings: a head of one's own may read all."""
    if model.config.model_type not in AFTER_ATTENTION or table.dtype not in (torch.float32, torch.float64):
        return False
    draws = torch.Generator().manual_seed(0)
    texts = table[torch.randint(len(table), (4, 6), generator=draws).to(table.device)]
    try:
        with torch.autocast(table.device.type, enabled=False):
            wanted = model(inputs_embeds=texts).logits
            with first_token(model):
                found = model(inputs_embeds=texts).logits
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):  # a model of another build
        return False
    return found.shape == wanted.shape and bool((found - wanted).abs().max() <= 1e-3 * wanted.abs().max())
