"""What the command line does, as functions; each is exported (`as`), and `trueness` lists the same names.

A module loads when one of its names is first asked for: no command waits for another's imports.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueness.api.arrays import recursive_roar as recursive_roar
    from trueness.api.attention import adversarial_attention as adversarial_attention
    from trueness.api.attention import attefa as attefa
    from trueness.api.audited import AuditPlan as AuditPlan
    from trueness.api.audited import AuditRun as AuditRun
    from trueness.api.audits import AuditSizes as AuditSizes
    from trueness.api.audits import audit as audit
    from trueness.api.benches import bench_audit as bench_audit
    from trueness.api.checkup import Checkup as Checkup
    from trueness.api.checkup import doctor as doctor
    from trueness.api.explaining import agreement as agreement
    from trueness.api.explaining import explain as explain
    from trueness.api.explaining import faithfulness as faithfulness
    from trueness.api.listing import catalogue as catalogue
    from trueness.api.models import evaluate as evaluate
    from trueness.api.models import fine_tune as fine_tune
    from trueness.api.models import load_dataset as load_dataset
    from trueness.api.models import load_model as load_model
    from trueness.api.models import train as train
    from trueness.api.plans import Plan as Plan
    from trueness.api.plans import plan as plan
    from trueness.api.ratings import rating as rating
    from trueness.api.studies import StudyRun as StudyRun
    from trueness.api.studies import compare as compare
    from trueness.api.studies import dry_run as dry_run
    from trueness.api.studies import open_run as open_run
    from trueness.api.studies import run as run
    from trueness.api.verification import Verification as Verification
    from trueness.api.verification import verify as verify
    from trueness.studies import load_study as load_study
else:
    _HOME = {
        "api.arrays": ("recursive_roar",),
        "api.audited": ("AuditPlan", "AuditRun"),
        "api.audits": ("AuditSizes", "audit"),
        "api.attention": ("adversarial_attention", "attefa"),
        "api.benches": ("bench_audit",),
        "api.checkup": ("Checkup", "doctor"),
        "api.explaining": ("agreement", "explain", "faithfulness"),
        "api.listing": ("catalogue",),
        "api.models": ("evaluate", "fine_tune", "load_dataset", "load_model", "train"),
        "api.plans": ("Plan", "plan"),
        "api.ratings": ("rating",),
        "api.studies": ("StudyRun", "compare", "dry_run", "open_run", "run"),
        "api.verification": ("Verification", "verify"),
        "studies": ("load_study",),
    }

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        for module, names in _HOME.items():
            if name in names:
                return getattr(import_module(f"trueness.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
