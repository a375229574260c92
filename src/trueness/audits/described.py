"""What each trial asks and how it finds out, for a reader who has read no paper; thresholds stand in the checks."""

from __future__ import annotations

from dataclasses import dataclass

from trueness.audits.trials import DEPENDS, INFORMATIVE, PLANTED, REMOVAL, REPEATS
from trueness.audits.verdict import Audit

_ADEBAYO = "Adebayo et al. (2018): Sanity Checks for Saliency Maps. NeurIPS. arXiv 1810.03292."
_HEDSTROEM = "Hedström et al. (2024): A Fresh Look at Sanity Checks for Saliency Maps. xAI. arXiv 2405.02383."
_BINDER = (
    "Binder et al. (2023): Shortcomings of Top-Down Randomization-Based Sanity Checks for Evaluations of Deep Neural "
    "Network Explanations. CVPR. arXiv 2211.12486."
)
_ZHOU = "Zhou et al. (2022): Do Feature Attribution Methods Correctly Attribute Features? AAAI. arXiv 2104.14403."
_DEYOUNG = "DeYoung et al. (2020): ERASER: A Benchmark to Evaluate Rationalized NLP Models. ACL. arXiv 1911.03429."
_NEELY = (
    "Neely et al. (2021): Order in the Court: Explainable AI Methods Prone to Disagreement. ICML workshop. "
    "arXiv 2105.03287."
)


@dataclass(frozen=True)
class Described:
    """What a trial asks and how it finds out."""

    question: str
    how: str
    papers: tuple[str, ...] = ()


def described(audit: Audit) -> dict[str, Described]:
    """By name of the trial, in the words of what the model reads; those of the kind's own stand before the last."""
    words = audit.words
    units, example, examples = words.units, words.example, words.examples
    return {
        DEPENDS: Described(
            "Does the explanation change when the model is ruined?",
            "The audit puts the numbers that the model has learned into random order: layer by layer from either end, "
            "and all at once. A method that explains the ruined model almost as before does not explain the model.",
            (_ADEBAYO, _BINDER, _HEDSTROEM),
        ),
        PLANTED: Described(
            "Does it point to what the model is known to use?",
            f"The audit plants evidence in the {examples} and trains a model of the same kind that can be right only "
            "by using it. So the right explanation is known, and one can count how often a method points to it.",
            (_ZHOU,),
        ),
        REMOVAL: Described(
            f"Do its important {units} matter to the model?",
            f"The audit hides the {units} that a method calls important, and then those that it calls unimportant. "
            f"If the method is right, hiding its important {units} takes far more of the model's confidence.",
            (_DEYOUNG,),
        ),
        REPEATS: Described(
            "Does it say the same when nothing of importance changes?",
            f"The audit explains the same {example} again: in other company, with another random start, or after a "
            f"harmless edit ({words.edit}). A method that then says something else tells more about chance than about "
            "the model.",
        ),
        **{one.name: Described(one.question, one.how, one.papers) for one in audit.own_trials},
        INFORMATIVE: Described(
            "Does it say more than the foils?",
            "The audit compares every method with the foils. One that is clearly better than they in one way "
            "passes; no verdict depends on it.",
            (_NEELY,),
        ),
    }
