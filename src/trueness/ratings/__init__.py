"""What people make of explanations, blind: plausibility, which is not faithfulness, and stands beside it."""

from typing import Literal

Mode = Literal["pairwise", "simulation", "highlight"]
"""Which of two is better; what the model says; which words speak for it."""
