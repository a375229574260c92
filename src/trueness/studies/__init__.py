"""Study files: validation, planning, and the binding of protocols to tasks."""

from trueness.studies.kinds import KINDS, StudyKind, plan
from trueness.studies.loading import builtin_studies, load_study, parse_setting
from trueness.studies.schema import Study

__all__ = ["KINDS", "Study", "StudyKind", "builtin_studies", "load_study", "parse_setting", "plan"]
