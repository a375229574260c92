"""Recursive ROAR (Madsen et al. 2022): mask what is called important, train again; does performance fall?"""

from trueness.papers.recursive_roar.study import RecursiveRoarStudy, plan
from trueness.studies.kinds import StudyKind, later

RECURSIVE_ROAR = StudyKind(
    name="recursive-roar",
    description="mask what is called important, train again, step by step: does it fall faster than by chance?",
    folder=__name__,
    schema=RecursiveRoarStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    beside=later(__name__, "tables", "costs"),
    intervals="Student's over seeds; n counts them",
    headlines=("faithfulness", "faithfulness, as published", "faithfulness (plain ROAR)"),
)
