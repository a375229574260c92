"""SHAP's explainers that only ask a model: `tn.explainers.shap("partition", max_evals=500)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.errors import UserError
from trueness.explainers.outside import Outside, imported
from trueness.registry import nearest

_ASKING = ("partition", "permutation", "kernel", "sampling", "exact")
"""The algorithms that need a function alone."""
_DRAWING = ("permutation", "kernel", "sampling")


class FromShap(Outside):
    """Shapley or Owen values as SHAP computes them; what is hidden is hidden as the model does it."""

    def of_groups(
        self,
        ask: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]],
        count: int,
        where: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """A row of ones is explained before one of zeros: kept and hidden. Neighbours are joined first."""
        shap = imported("shap", "shap")
        made_with = inspect.signature(self.method.__init__).parameters
        making = {name: value for name, value in self.settings.items() if name in made_with}
        calling = {name: value for name, value in self.settings.items() if name not in made_with}
        if "seed" in made_with:
            making = {"seed": int(np.random.randint(2**31)), **making}  # noqa: NPY002  # fixed by who calls
        hidden, kept = np.zeros((1, count)), np.ones((1, count))
        if issubclass(self.method, shap.KernelExplainer | shap.SamplingExplainer):
            values = self.method(ask, hidden, **making).shap_values(kept, silent=True, **calling)
        else:
            if issubclass(self.method, shap.PartitionExplainer):
                masker = shap.maskers.Partition(hidden, clustering=_tree(where))
            else:
                masker = shap.maskers.Independent(hidden)
            values = self.method(ask, masker, **making)(kept, silent=True, **calling).values
        return np.asarray(values, dtype=np.float64).reshape(-1)


def _tree(where: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Which groups are joined, the nearest first."""
    from scipy.cluster.hierarchy import linkage

    tree: npt.NDArray[np.float64] = linkage(where, "complete")
    return tree


def shap(method: Any = "partition", **settings: Any) -> FromShap:
    """An explainer of SHAP: partition, permutation, kernel, sampling or exact, a class of these, or an object of one.

    `settings` are those of the class and of its call, such as `max_evals=500`. The words are those that the model
    reads, hidden in its own way: the masker of an object is not asked, so that shuffled and retrained models can be.
    """
    library = imported("shap", "shap")
    classes = {name: getattr(library, f"{name.capitalize()}Explainer") for name in _ASKING}
    if isinstance(method, str):
        if method not in classes:
            raise UserError(
                f"SHAP has no explainer {method!r} that only asks a model; {nearest(method, list(classes))}"
            )
        chosen = classes[method]
    elif isinstance(method, type):
        chosen = method
    else:
        chosen = type(method)
        link = getattr(method, "link", library.links.identity)
        if link is not library.links.identity:
            settings = {"link": link, **settings}
    name = next((name for name, known in classes.items() if chosen is known), None)
    if name is None:
        raise UserError(f"{chosen.__name__} reads more of a model than what it says: give one of {', '.join(classes)}.")
    return FromShap(library="shap", method=chosen, settings=settings, random=name in _DRAWING)
