"""Planted evidence (Zhou et al. 2022), and the dry run: which explanations find what a model had to use?"""

from trueness.papers.ground_truth.study import GroundTruthStudy, plan
from trueness.studies.kinds import StudyKind, later

GROUND_TRUTH = StudyKind(
    name="ground-truth",
    description="evidence is planted in texts; which explanations find it, of models that had to use it?",
    folder=__name__,
    schema=GroundTruthStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    intervals="Student's over models (seeds) that used the evidence; n counts them",
    headlines=("accuracy", "AUROC", "attribution share", "decoy share"),
)
