"""AtteFa (2022) and the four tests of Wiegreffe and Pinter (2019): can a twin predict the same but attend elsewhere?"""

from trueness.papers.attefa.study import AttefaStudy, plan
from trueness.studies.kinds import StudyKind, later

ATTEFA = StudyKind(
    name="attefa",
    description="twins that predict the same but attend elsewhere, retrained and uniform models, attention as a guide",
    folder=__name__,
    schema=AttefaStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    intervals="Student's over base models, or over seeds where each is a model; n counts them",
    headlines=("AtteFa", "AtteFa*", "F1 of a guided model"),
)
