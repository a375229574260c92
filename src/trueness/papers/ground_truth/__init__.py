"""Planted evidence (Zhou et al. 2022), and the dry run: which explanations find what a model had to use?"""
