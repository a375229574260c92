"""Planted evidence in images (Zhou et al. 2022, section 5): do saliency maps find what a model had to use?"""
