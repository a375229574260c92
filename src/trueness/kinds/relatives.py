"""How models like the audited one are trained, where their families train from a dataset alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trueness.kinds.contract import Purpose
from trueness.plugins import is_function
from trueness.registry import Registry

Recognise = Callable[[str | Path, Any], tuple[Any, dict[str, Any]]]
View = Callable[[Any, int], Any]


def hidden_at_random(split: Any, seed: int) -> Any:
    """The same examples, of which units are hidden at random."""
    return split.hidden_at_random(seed)


@dataclass(frozen=True)
class FamilyRelatives:
    """Models of the audited one's family, from scratch or from the weights that its family begins with."""

    families: Registry[Any]
    recognise: Recognise
    recipe: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What of the recipe is different here: audits have few examples."""
    usual_passes: tuple[float, float] = (15.0, 15.0)
    view: View = hidden_at_random
    """How the companion sees a split."""

    def like(self, model: Path | str, family: Any = None) -> dict[str, Any] | None:
        """The family, and what of a network's shape it lets anybody set; a function has nothing to train."""
        if is_function(model):
            return None
        found, config = self.recognise(model, family)
        shape = config.get("network") or {}
        settings = {name: shape[name] for name in found.settings if name in shape}
        return {"family": self.families.reference(found.name), "shape": settings}

    def passes(self, like: Mapping[str, Any]) -> tuple[float, float]:  # noqa: ARG002  # all learn by one recipe
        """As its kind says."""
        return self.usual_passes

    def train(
        self,
        like: Mapping[str, Any],
        dataset: Any,
        seed: int,
        *,
        purpose: Purpose,
        epochs: int,
        device: str,
        longer: bool = False,
    ) -> Any:
        """By the recipe of its kind, whatever it learns."""
        from trueness.models.recipes import RECIPES

        if longer:
            return None
        how: dict[str, Any] = {"device": device, **like["shape"]}
        changes = {**self.changes, **({"epochs": epochs} if epochs else {})}
        if changes:
            how["recipe"] = replace(RECIPES[self.recipe], **changes)
        if purpose == "companion":
            how["views"] = [lambda name, split: self.view(split, seed + (name != "train"))]
        (trained,) = self.families[like["family"]].train(dataset, [seed], **how)
        return trained

    def retraining(self, like: Mapping[str, Any]) -> None:
        """Not from an audit."""
