"""Vectors and tables of numbers."""
