"""Explainers of other libraries, each built anew for the model that is asked: shuffled and retrained models, too.

An explainer of Captum, SHAP or lime holds one model, by a function that it was made with. An audit asks other models as
well, so that only the method and its settings are kept, and the function is one of ours.
"""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trueness.data.inputs import Batch
from trueness.errors import UserError
from trueness.explainers.contract import Explainer, Facts, Need, Target
from trueness.explainers.masking import of_groups, said_of_copies
from trueness.explainers.outputs import chosen_class
from trueness.models.network import Network

_PLAIN = (str, int, float)


@dataclass(frozen=True, kw_only=True)
class Outside(Explainer):
    """A method of another library with its settings. Examples are explained one by one, each from a seed of its own."""

    library: str
    method: Any
    """The library's class, or a function that makes one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    signed: bool = True
    random: bool = True
    """Whether it draws at random: then an audit asks it again with another seed."""
    seed: int = 0

    @property
    def facts(self) -> Facts:  # type: ignore[override]  # of this object
        """As it was said where it was made."""
        return Facts(self.signed, self.random, slow=True, needs=self.needs, machinery=self.machinery)

    @property
    def machinery(self) -> tuple[str, ...]:
        """Which computations it shares with others."""
        return ("masking",)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What of a model it looks at, beside what it says."""
        return ()

    @property
    def code(self) -> Any:
        """Whose code computes: of somebody else it is watched."""
        return self.method

    @property
    def __name__(self) -> str:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", str(getattr(self.method, "__name__", type(self.method).__name__)))
        shown = {key: value for key, value in self.settings.items() if isinstance(value, _PLAIN)}
        settings = ", ".join(
            f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in shown.items()
        )
        plain = re.sub(r"\W+", "-", name).strip("-").lower().removesuffix("-explainer")
        return f"{self.library}-{plain.removeprefix(f'{self.library}-')}" + (f"[{settings}]" if settings else "")

    def attribute(self, model: Network, batch: Batch, target: Target = "predicted") -> Tensor:
        chosen = chosen_class(model, batch, target).tolist()
        scores = torch.zeros(batch.mask.shape, dtype=model.dtype, device=model.device)
        each = zip(batch.alone(), chosen, batch.generators(self.seed), strict=True)
        for row, (one, number, generator) in enumerate(each):
            if not one.mask.any():
                continue
            with drawing(int(torch.randint(2**31, (), generator=generator))), _quiet():
                found = self.of_one(model, one, number)
            scores[row, : found.shape[-1]] = found.detach().to(scores)[0]
        return scores

    def of_one(self, model: Network, one: Batch, target: int) -> Tensor:
        """(1, units) of one example; by default from what a model says to copies of which groups are hidden."""
        groups = one.finest().groups()
        count = int(groups.max()) + 1

        def ask(keep: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
            return said_of_copies(model, one, torch.as_tensor(np.asarray(keep) > 0.5), target).cpu().numpy()

        if count == 1:  # then every method would say the same, where it says anything
            whole, empty = ask(np.array([[1], [0]]))
            scores = np.array([whole - empty])
        else:
            scores = np.asarray(self.of_groups(ask, count, places(one, groups)), dtype=np.float64)
        if scores.shape != (count,):
            raise UserError(f"{self.__name__} returned scores of shape {scores.shape} for {count} units.")
        return of_groups(torch.from_numpy(scores).to(groups.device)[None], groups, model, one)

    def of_groups(
        self, ask: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]], count: int, where: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """(groups,) scores. `ask` says (copies,) the target's probability where (copies, groups) are kept.

        `where` (groups, axes) is where the groups lie.
        """
        raise NotImplementedError


def places(batch: Batch, groups: Tensor) -> npt.NDArray[np.float64]:
    """(groups, axes) the middle of each group of an example, in the grid of its units; in a row where there is none."""
    inside = groups[0].cpu().numpy()
    shape = batch.finest().grid or inside.shape
    at = np.stack([axis.ravel() for axis in np.indices(shape)], axis=1).astype(np.float64)
    count = int(inside.max()) + 1
    middle: npt.NDArray[np.float64] = np.stack([at[inside == number].mean(axis=0) for number in range(count)])
    return middle


@contextlib.contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Inside, what libraries draw at random is fixed by a seed; then all generators are as they were."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002  # libraries draw from it
    with torch.random.fork_rng():
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(theirs)  # noqa: NPY002


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what libraries say to one another about versions to come."""
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", "Setting forward, backward hooks")  # Captum: they are taken away again
        yield


def imported(module: str, package: str) -> Any:
    """A library that is no dependency; UserError that says how it is installed."""
    from importlib import import_module

    try:
        with _quiet():
            return import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"This needs {package}: pip install {package}.") from error
