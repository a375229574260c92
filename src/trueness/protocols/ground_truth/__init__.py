"""Do explanations find planted evidence (Zhou et al. 2022)? Only of models that verifiably used it."""
