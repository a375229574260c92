"""Attention is not Explanation (Jain and Wallace 2019): does attention agree with gradients, and could it differ?"""

from trueness.papers.attention_is_not_explanation.study import AttentionStudy, plan
from trueness.studies.kinds import StudyKind, later

ATTENTION_IS_NOT_EXPLANATION = StudyKind(
    name="attention-is-not-explanation",
    description="attention against gradients and leave-one-out, permuted, and adversarial",
    folder=__name__,
    schema=AttentionStudy,
    plan=plan,
    figures=later(__name__, "figures"),
    tables=later(__name__, "tables"),
    intervals="crossed over seeds and instances; n counts seeds",
)
