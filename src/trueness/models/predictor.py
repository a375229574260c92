"""Functions as models of any kind: from a list of examples to the probabilities of classes, each answer checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.boundary import calling, first_line, quoted
from trueness.errors import UserError
from trueness.registry import Registry

Probabilities = npt.NDArray[np.float64]
SMALLEST = 1e-12
"""Probabilities are no smaller, so that their logarithms are finite."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """A function from examples to probabilities, what it is called, and its classes where it says them."""

    name: str
    function: Callable[[Any], Any]
    classes: tuple[str, ...] | None = None

    def __call__(self, examples: Any, what: str = "texts", note: str = "") -> Probabilities:
        """(examples, classes); UserError where that is not what the function returns."""
        count = len(examples)
        with calling(f"{self.name}, asked about {count} {what}{note},", self.function):
            array = self._numbers(self.function(examples), count, what)
        if array.ndim != 2 or len(array) != count:
            raise self._wrong(f"an array of shape {array.shape}", count, what)
        if array.shape[1] < 2 or (self.classes is not None and array.shape[1] != len(self.classes)):
            wanted = "two or more" if self.classes is None else f"{len(self.classes)} ({', '.join(self.classes)})"
            raise UserError(f"{self.name} returned probabilities of {array.shape[1]} classes instead of {wanted}.")
        bad = ~np.isfinite(array) | (array < 0) | (array > 1)
        if bad.any():
            raise UserError(f"{self.name} returned {array[bad][0]}, which is no probability from 0 to 1.")
        sums = array.sum(axis=1)
        if np.abs(sums - 1).max(initial=0) > 1e-3:
            worst = sums[np.abs(sums - 1).argmax()]
            raise UserError(f"{self.name} returned probabilities of one example that sum to {worst:.6g}, not to 1.")
        return array

    def _numbers(self, found: Any, count: int, what: str) -> Probabilities:
        if isinstance(found, list) and found and getattr(found[0], "ndim", 0) == 2:
            raise UserError(
                f"{self.name} decides about several labels at once: explain one of them, with a classifier of its own."
            )
        try:
            array = np.asarray(found.detach().cpu() if hasattr(found, "detach") else found)
            real = array if array.dtype.kind == "c" else array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._wrong(f"an object of type {type(found).__name__}", count, what) from error
        if real.dtype.kind == "c":
            raise self._wrong("complex numbers", count, what)
        return real

    def _wrong(self, found: str, count: int, what: str) -> UserError:
        return UserError(f"{self.name} returned {found} for {count} {what} instead of a row of probabilities for each.")


def as_predictor(thing: Any, name: str) -> Predictor:
    """A function of a list of examples, or an object or class with `predict_proba`; UserError for anything else."""
    if isinstance(thing, Predictor):
        return replace(thing, name=name)
    made = thing
    if isinstance(thing, type):
        try:
            inspect.signature(thing).bind()
        except (TypeError, ValueError) as error:
            raise UserError(f"{name} is a class that needs arguments: give an object of it.") from error
        with calling(name, thing):
            made = thing()
    function = getattr(made, "predict_proba", made)
    if not callable(function):
        raise UserError(f"{name} is no model: give a function of a list of examples, or an object with predict_proba.")
    classes = getattr(made, "classes", None)
    return Predictor(name, function, class_names(getattr(made, "classes_", None) if classes is None else classes, name))


def _check_takes(predictor: Predictor, *given: Any) -> None:
    """Refuse a function that cannot be called so."""
    wanted = "one argument, a list of examples" if len(given) == 1 else "a question and a list of passages"
    try:
        inspect.signature(predictor.function).bind(*given)
    except TypeError as error:
        raise UserError(f"{predictor.name} must take {wanted} ({first_line(error)}).") from error
    except ValueError:
        pass  # some built in another language have no signature


def class_names(classes: Any, name: str) -> tuple[str, ...] | None:
    """Names of classes as a function or a person gives them; UserError unless they are two or more different ones."""
    if classes is None:
        return None
    given = [] if isinstance(classes, str) else [str(one) for one in classes]
    if len(given) < 2 or len(set(given)) != len(given):
        raise UserError(f"The classes of {name} are two or more different names, not {quoted(classes)}.")
    return tuple(given)


BLACK_BOXES: Registry[Predictor] = Registry("black box", adapt=as_predictor)
"""Functions by their address; `reference` gives the name that a task may carry."""


def find_predictor(reference: Any, *given: Any) -> Predictor:
    """By the address of a function, or the thing itself, that takes what is `given`: by default a list of examples."""
    if not isinstance(reference, str):
        found = as_predictor(reference, str(getattr(reference, "__name__", type(reference).__name__)))
    elif reference not in BLACK_BOXES:
        raise UserError(f"{reference!r} names no function: write path/to/file.py:name or package.module:name.")
    else:
        found = BLACK_BOXES[reference]
    _check_takes(found, *(given or ([],)))
    return found
