"""The audit: a line of trials on one's own model and explainers, and one verdict for each explainer."""

from trueness.audits.dry_run import KIND as DRY_RUN
from trueness.audits.study import AuditStudy, plan
from trueness.studies.kinds import KINDS, StudyKind, later

AUDIT = StudyKind(
    name="audit",
    description="which explanations of one's own classifiers may be shown? a line of trials, one verdict each",
    schema=AuditStudy,
    plan=plan,
    intervals="Student's over texts; of planted evidence crossed over models and examples",
    beside=later(__name__, "assemble", "examples_beside"),
)
for _kind in (AUDIT, DRY_RUN):
    KINDS.add(_kind.name, _kind, _kind.description)
