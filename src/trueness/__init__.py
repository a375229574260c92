"""trueness puts a model's explanations on trial: are they true to the model?

The names below load on first use, so that importing the package, or one layer of it, stays light.
"""

# ruff: noqa: F403, F405 (the functions come from one layer; a type checker follows the star)
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trueness.version import __version__

if TYPE_CHECKING:
    from trueness import explainers, stats
    from trueness.api import *
    from trueness.audits.verdict import Audit
    from trueness.engine import TasksFailedError
    from trueness.errors import Unsupported, UserError
    from trueness.explainers.contract import Explainer, Facts, explainer
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.data.examples import TextExample
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.kinds.vector.vectors import VectorDataset
    from trueness.protocols.result import Result
    from trueness.report import Figure, Measurement
    from trueness.report.heatmap import AdversarialAttention, Explanation
    from trueness.studies import Study, StudyKind
else:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'trueness' has no attribute {name!r}")
        from importlib import import_module

        if name in ("explainers", "stats"):
            return import_module(f"trueness.{name}")
        home = next((module for module, names in _HOME.items() if name in names), "trueness.api")
        return getattr(import_module(home), name)


_HOME = {
    "trueness.audits.verdict": ("Audit",),
    "trueness.kinds.text.data.dataset": ("TextDataset",),
    "trueness.kinds.text.data.examples": ("TextExample",),
    "trueness.kinds.vector.vectors": ("VectorDataset",),
    "trueness.engine": ("TasksFailedError",),
    "trueness.errors": ("Unsupported", "UserError"),
    "trueness.explainers": ("Explainer", "Facts", "explainer"),
    "trueness.kinds.text.models.classifier": ("Classifier",),
    "trueness.protocols.result": ("Result",),
    "trueness.report": ("Figure", "Measurement"),
    "trueness.report.heatmap": ("AdversarialAttention", "Explanation"),
    "trueness.studies": ("Study", "StudyKind"),
}
"""Of the names that are not functions of `trueness.api`."""

__all__ = [
    "AdversarialAttention",
    "Audit",
    "AuditPlan",
    "AuditRun",
    "AuditSizes",
    "Classifier",
    "Explainer",
    "Explanation",
    "Facts",
    "Figure",
    "Measurement",
    "Plan",
    "Result",
    "Study",
    "StudyKind",
    "StudyRun",
    "TasksFailedError",
    "TextDataset",
    "TextExample",
    "Unsupported",
    "UserError",
    "VectorDataset",
    "Verification",
    "__version__",
    "adversarial_attention",
    "agreement",
    "attefa",
    "audit",
    "compare",
    "dry_run",
    "evaluate",
    "explain",
    "explain_images",
    "explainer",
    "explainers",
    "faithfulness",
    "fine_tune",
    "list",
    "load_dataset",
    "load_model",
    "load_study",
    "open_run",
    "plan",
    "rating",
    "recursive_roar",
    "recursive_roar_images",
    "run",
    "stats",
    "train",
    "verify",
]


def __dir__() -> Sequence[str]:
    return sorted({*globals(), *__all__})
