"""What the command line does, as functions."""

from trueness.api.arrays import recursive_roar
from trueness.api.catalogue import names
from trueness.api.studies import Plan, StudyRun, compare, dry_run, open_run, plan, run
from trueness.api.texts import (
    adversarial_attention,
    agreement,
    compare_attention,
    evaluate,
    explain,
    fine_tune,
    load_dataset,
    load_model,
    train,
)
from trueness.studies import load_study

__all__ = [
    "Plan",
    "StudyRun",
    "adversarial_attention",
    "agreement",
    "compare",
    "compare_attention",
    "dry_run",
    "evaluate",
    "explain",
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
