"""What all tasks of an audit begin with: the model, opened once by each worker, and the examples it is asked about."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Store, Stored
from trueness.engine.encoding import path_digest
from trueness.engine.worker import current_device
from trueness.errors import Unsupported, UserError
from trueness.kinds import KINDS
from trueness.kinds.contract import Model
from trueness.plugins import Reference

if TYPE_CHECKING:
    from trueness.stats.undefined import Floats


def opened(kind: str, model: Path | str, family: str | None) -> Model:
    """The audited model; a worker opens it once for all its tasks, and again when it has changed."""
    content = path_digest(model) if isinstance(model, Path) else getattr(model, "identity", model)
    return _opened(kind, model, family, current_device(), repr(content))


@functools.lru_cache(maxsize=1)
def _opened(kind: str, model: Path | str, family: str | None, device: str, content: str) -> Model:  # noqa: ARG001
    return KINDS[kind].models.open(model, device, family)


@functools.lru_cache(maxsize=2)
def _unpacked(kind: str, path: Path, key: str) -> Any:
    return KINDS[kind].data.unpack(Store.open(path).get(key))


def unpacked(kind: str, stored: Stored) -> Any:
    """The dataset that a task left: a worker reads it once for all its tasks."""
    return _unpacked(kind, stored.store.path, stored.key)


@functools.lru_cache(maxsize=1)
def _trained(kind: str, path: Path, key: str, device: str) -> Model:
    return KINDS[kind].models.unpack(Store.open(path).get(key), "0", device)


def trained(kind: str, stored: Stored) -> Model:
    """The model that a task trained: a worker reads it once for all tasks that ask it in a row."""
    return _trained(kind, stored.store.path, stored.key, current_device())


def audited_examples(inputs: Mapping[str, Any], kind: str, number: int) -> Any:
    """The first examples of an audit; each is labelled with the class that the model predicts."""
    predicted = inputs["asked"].read("said")["probability"][:number].argmax(axis=1)
    first, *_ = unpacked(kind, inputs["read"]).splits.values()
    return first.pick(range(len(predicted))).labelled(predicted)


def probabilities(model: Model, examples: Any) -> Floats:
    """(examples, classes) what the model says; refused where it is not finite."""
    import numpy as np

    from trueness.models.network import inspecting

    found = np.zeros((len(examples), len(model.classes)))
    with inspecting(model.network):
        for rows, batch in model.coded(examples).in_order(1 << 13):
            found[rows] = model.network(batch).logits.double().softmax(dim=-1).cpu().numpy()
    if not np.isfinite(found).all():
        raise UserError("The model's outputs are not finite: its weights are too large, or damaged.")
    return found


@contextlib.contextmanager
def warned() -> Iterator[list[str]]:
    """What is warned of meanwhile, each once, instead of a line beside the progress bar; there when it ends."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    told += dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning | RuntimeWarning))


def attempted(explainer: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the work leaves; or why the model cannot have that explainer, or what failed in its own code.

    Only code of somebody else's is to blame for its errors: one of ours is told, and ends the audit.
    """
    with warned() as told:
        try:
            found = work()
        except Unsupported as error:
            return {"refused": {"reason": str(error)}}
        except UserError as error:
            if not isinstance(explainer, Reference):
                raise
            return {"broken": {"error": str(error)}}
    return {**found, "told": {"warnings": told}}
