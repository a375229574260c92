"""Order in the Court (2022): do explanation methods agree with one another?"""

from trueness.papers.agreement.study import AgreementStudy, plan
from trueness.studies.kinds import StudyKind, later

AGREEMENT = StudyKind(
    name="agreement",
    description="agreement of all pairs of explanation methods, about our models and transformers",
    folder=__name__,
    schema=AgreementStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    intervals="crossed over seeds and texts, n counts seeds; of one model and of accuracy Student's",
    headlines=("Kendall tau", "accuracy"),
)
