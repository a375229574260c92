"""AtteFa (2022) and the four tests of Wiegreffe and Pinter (2019): can a twin predict the same but attend elsewhere?"""

from trueness.papers.attefa import figures, study, tables
from trueness.studies.kinds import StudyKind

ATTEFA = StudyKind(
    name="attefa",
    description="twins that predict the same but attend elsewhere, retrained and uniform models, attention as a guide",
    folder=__name__,
    schema=study.AttefaStudy,
    plan=study.plan,
    figures=figures.figures,
    tables=tables.tables,
    intervals="Student's over seeds; n counts them",
    headlines=("AtteFa", "AtteFa*", "F1 of a guided model"),
)
