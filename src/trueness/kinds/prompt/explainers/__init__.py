"""Explainers that only language models with passages have."""
