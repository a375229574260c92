"""Texts and pairs of texts."""
