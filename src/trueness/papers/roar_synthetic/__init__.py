"""The synthetic validation of Recursive ROAR (Madsen et al. 2022, section 3.3)."""

from trueness.papers.roar_synthetic import figures, study
from trueness.studies.kinds import StudyKind

ROAR_SYNTHETIC = StudyKind(
    name="roar-synthetic",
    description="removal curves on synthetic vectors: ROAR, Recursive ROAR and reference orders",
    folder=__name__,
    schema=study.RoarSynthetic,
    plan=study.plan,
    figures=figures.figures,
    intervals="bias-corrected and accelerated bootstrap of a mean, exact (Clopper–Pearson) of a share",
)
