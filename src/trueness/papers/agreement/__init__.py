"""Order in the Court (2022): do explanation methods agree with one another?"""

from trueness.papers.agreement import figures, study, tables
from trueness.studies.kinds import StudyKind

AGREEMENT = StudyKind(
    name="agreement",
    description="agreement of all pairs of explanation methods, about our models and transformers",
    folder=__name__,
    schema=study.AgreementStudy,
    plan=study.plan,
    figures=figures.figures,
    tables=tables.tables,
    intervals="bias-corrected and accelerated bootstrap over texts with all their seeds; of accuracy Student's",
    headlines=("Kendall tau", "accuracy"),
)
