"""Recursive ROAR (Madsen et al. 2022): mask what is called important, train again; does performance fall?"""

from trueness.papers.recursive_roar import figures, study, tables
from trueness.studies.kinds import StudyKind

RECURSIVE_ROAR = StudyKind(
    name="recursive-roar",
    description="mask what is called important, train again, step by step: does it fall faster than by chance?",
    folder=__name__,
    schema=study.RecursiveRoarStudy,
    plan=study.plan,
    figures=figures.figures,
    tables=tables.tables,
    beside=tables.costs,
    intervals="Student's over seeds; as published: bias-corrected and accelerated bootstrap; n counts seeds",
    headlines=("faithfulness", "faithfulness, as published", "faithfulness (plain ROAR)"),
)
