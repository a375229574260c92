"""Planted evidence (Zhou et al. 2022), and the dry run: which explanations find what a model had to use?"""

from trueness.papers.ground_truth import figures, study, tables
from trueness.studies.kinds import StudyKind

GROUND_TRUTH = StudyKind(
    name="ground-truth",
    description="evidence is planted in texts; which explanations find it, of models that had to use it?",
    folder=__name__,
    schema=study.GroundTruthStudy,
    plan=study.plan,
    figures=figures.figures,
    tables=tables.tables,
    intervals="Student's over models (seeds) that used the evidence; n counts them",
    headlines=("accuracy", "AUROC", "attribution share", "decoy share"),
)
