"""lime's explainer of texts as an explainer: `tn.explainers.lime(num_samples=1000)`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from trueness.errors import UserError
from trueness.explainers.outside import Outside, imported


class FromLime(Outside):
    """Local regression as lime computes it; what is hidden is hidden as the model does it."""

    def of_groups(
        self,
        ask: Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]],
        count: int,
        where: npt.NDArray[np.float64],  # noqa: ARG002  # it knows no neighbours
    ) -> npt.NDArray[np.float64]:
        """One word stands for each group, since lime hides words."""
        names = [f"unit{number}" for number in range(count)]

        def classifier(texts: list[str]) -> npt.NDArray[np.float64]:
            there = [set(text.split()) for text in texts]
            said = ask(np.array([[name in some for name in names] for some in there]))
            return np.stack([1 - said, said], axis=1)

        given = {"num_features": count, **self.settings}
        explainer = copy.copy(self.method)
        explainer.base = copy.copy(self.method.base)
        explainer.random_state = explainer.base.random_state = np.random.RandomState(np.random.randint(2**31))  # noqa: NPY002
        explainer.split_expression, explainer.mask_string = r"\s+", None
        explainer.bow, explainer.char_level = True, False
        found = dict(explainer.explain_instance(" ".join(names), classifier, labels=(1,), **given).as_list(label=1))
        return np.array([found.get(name, 0.0) for name in names])


def lime(explainer: Any = None, **settings: Any) -> FromLime:
    """Lime's `LimeTextExplainer`, one's own or a new one; `settings` are those of its `explain_instance`.

    The words are those that the model reads. Of the explainer its kernel and its way to choose features count; how it
    splits and hides words does not: shuffled and retrained models hide words in their own way.
    """
    library = imported("lime.lime_text", "lime")
    made = library.LimeTextExplainer() if explainer is None else explainer
    if not isinstance(made, library.LimeTextExplainer):
        raise UserError(f"Of lime a LimeTextExplainer is taken, not an object of type {type(made).__name__}.")
    for name in ("classifier_fn", "text_instance", "labels", "top_labels"):
        if name in settings:
            raise UserError(f"{name} is given where an explanation is asked for: leave it out.")
    return FromLime(library="lime", method=made, settings=settings)
