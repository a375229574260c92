"""Tests of attention as an explanation (Jain and Wallace 2019): correlation, permutation, adversarial attention."""
