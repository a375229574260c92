"""Tests of explanations: pure functions from models, data and attributions to results."""

from trueness.protocols.result import Abstention, Claim, Result, ResultWarning, Score
from trueness.protocols.roar.removal import ORDERS, Point, removal_curve

__all__ = ["ORDERS", "Abstention", "Claim", "Point", "Result", "ResultWarning", "Score", "removal_curve"]
