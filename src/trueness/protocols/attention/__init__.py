"""Tests of attention as an explanation (Jain and Wallace 2019): correlation, permutation, adversarial attention.

`view` is what they start from; `trial` runs them on one model; `summary` draws the conclusions of a study.
"""
