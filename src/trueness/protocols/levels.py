"""How much of a text is hidden where the cost of hiding is measured."""

LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7)
"""Shares of the words."""
