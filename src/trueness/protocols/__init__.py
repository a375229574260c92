"""Tests of explanations: pure functions from models, data and attributions to results."""

from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score

__all__ = ["Abstention", "Claim", "Result", "ResultWarning", "Score"]
