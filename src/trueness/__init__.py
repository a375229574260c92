"""trueness puts a model's explanations on trial: are they true to the model?

The names below load on first use, so that importing the package, or one layer of it, stays light.
"""

# ruff: noqa: F403, F405 (the functions come from one layer; a type checker follows the star)
from __future__ import annotations

import typing as _typing

from trueness.papers import PAPERS as _PAPERS
from trueness.registry import FILLED_BY as _FILLED_BY
from trueness.version import __version__

_FILLED_BY.update(
    {
        "trueness.studies": (*(f"trueness.papers.{name}.study" for name in _PAPERS), "trueness.audits"),
        "trueness.explainers": ("trueness.papers.explainers",),
        "kinds": ("trueness.kinds",),
        "explainers of a kind": ("trueness.kinds.text.explainers.catalogue",),
        "trueness.vector_datasets": (
            "trueness.kinds.vector.roar_synthetic",
            "trueness.papers.roar_synthetic.published",
        ),
        "trueness.vector_models": ("trueness.papers.roar_synthetic.published",),
        "trueness.image_explainers": ("trueness.papers.explainers",),
    }
)

if _typing.TYPE_CHECKING:
    from trueness import explainers, stats
    from trueness.api import *
    from trueness.audits.verdict import Audit
    from trueness.engine import TasksFailedError
    from trueness.errors import Unsupported, UserError
    from trueness.explainers.contract import Explainer, Facts, explainer
    from trueness.kinds.contract import Kind
    from trueness.kinds.image.data.images import ImageDataset, Images
    from trueness.kinds.image.models.model import ImageModel
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.data.examples import TextExample
    from trueness.kinds.text.data.texts import Texts
    from trueness.kinds.text.models.classifier import Classifier
    from trueness.kinds.vector.model import VectorModel
    from trueness.kinds.vector.vectors import VectorDataset, Vectors
    from trueness.papers.attention_is_not_explanation.adversary import AdversarialAttention
    from trueness.protocols.result import Result
    from trueness.report import Figure, Measurement
    from trueness.report.explanation import Explanation, Explanations
    from trueness.studies import Study, StudyKind
else:

    def __getattr__(name):
        if name == "list":  # as it was called; a star import would hide Python's own
            name = "catalogue"
        if name not in __all__:
            raise AttributeError(f"module 'trueness' has no attribute {name!r}")
        from importlib import import_module

        if name in ("explainers", "stats"):
            return import_module(f"trueness.{name}")
        home = next((module for module, names in _HOME.items() if name in names), "trueness.api")
        return getattr(import_module(home), name)


_HOME = {
    "trueness.audits.verdict": ("Audit",),
    "trueness.engine": ("TasksFailedError",),
    "trueness.errors": ("Unsupported", "UserError"),
    "trueness.explainers": ("Explainer", "Facts", "explainer"),
    "trueness.kinds.contract": ("Kind",),
    "trueness.kinds.image.data.images": ("ImageDataset", "Images"),
    "trueness.kinds.image.models.model": ("ImageModel",),
    "trueness.kinds.text.data.dataset": ("TextDataset",),
    "trueness.kinds.text.data.examples": ("TextExample",),
    "trueness.kinds.text.data.texts": ("Texts",),
    "trueness.kinds.text.models.classifier": ("Classifier",),
    "trueness.kinds.vector.model": ("VectorModel",),
    "trueness.kinds.vector.vectors": ("VectorDataset", "Vectors"),
    "trueness.papers.attention_is_not_explanation.adversary": ("AdversarialAttention",),
    "trueness.protocols.result": ("Result",),
    "trueness.report": ("Figure", "Measurement"),
    "trueness.report.explanation": ("Explanation", "Explanations"),
    "trueness.studies": ("Study", "StudyKind"),
}
"""Of the names that are not functions of `trueness.api`."""

__all__ = [
    "AdversarialAttention",
    "Audit",
    "AuditPlan",
    "AuditRun",
    "AuditSizes",
    "Checkup",
    "Classifier",
    "Explainer",
    "Explanation",
    "Explanations",
    "Facts",
    "Figure",
    "ImageDataset",
    "ImageModel",
    "Images",
    "Kind",
    "Measurement",
    "Plan",
    "Result",
    "Study",
    "StudyKind",
    "StudyRun",
    "TasksFailedError",
    "TextDataset",
    "TextExample",
    "Texts",
    "Unsupported",
    "UserError",
    "VectorDataset",
    "VectorModel",
    "Vectors",
    "Verification",
    "__version__",
    "adversarial_attention",
    "agreement",
    "attefa",
    "audit",
    "bench_audit",
    "catalogue",
    "compare",
    "doctor",
    "dry_run",
    "evaluate",
    "explain",
    "explainer",
    "explainers",
    "faithfulness",
    "fine_tune",
    "load_dataset",
    "load_model",
    "load_study",
    "open_run",
    "plan",
    "rating",
    "recursive_roar",
    "run",
    "stats",
    "train",
    "verify",
]


def __dir__() -> _typing.Sequence[str]:
    return sorted(__all__)
