"""trueness puts a model's explanations on trial: are they true to the model?

The names below load on first use, so that importing the package, or one layer of it, stays light.
"""

# ruff: noqa: F403, F405 (the functions come from one layer; a type checker follows the star)
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueness.version import __version__

if TYPE_CHECKING:
    from trueness.api import *
    from trueness.engine import TasksFailedError
    from trueness.errors import UserError
    from trueness.explainers import explainer
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'trueness' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOME.get(name, "trueness.api")), name)


_HOME = {
    "TasksFailedError": "trueness.engine",
    "UserError": "trueness.errors",
    "explainer": "trueness.explainers",
}
"""Of the names that are not functions of `trueness.api`."""

__all__ = [
    "Plan",
    "StudyRun",
    "TasksFailedError",
    "UserError",
    "__version__",
    "adversarial_attention",
    "agreement",
    "compare",
    "compare_attention",
    "dry_run",
    "evaluate",
    "explain",
    "explainer",
    "fine_tune",
    "load_dataset",
    "load_model",
    "load_study",
    "names",
    "open_run",
    "plan",
    "recursive_roar",
    "run",
    "train",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
