"""Texts, words and where they come from."""
