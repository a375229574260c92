"""The synthetic validation of Recursive ROAR (Madsen et al. 2022, section 3.3)."""

from trueness.papers.roar_synthetic.study import RoarSynthetic, plan
from trueness.studies.kinds import StudyKind, later

ROAR_SYNTHETIC = StudyKind(
    name="roar-synthetic",
    description="removal curves on synthetic vectors: ROAR, Recursive ROAR and reference orders",
    folder=__name__,
    schema=RoarSynthetic,
    plan=plan,
    figures=later(__name__, "figures"),
    intervals="Student's over draws of a mean, exact (Clopper–Pearson) of a share",
)
