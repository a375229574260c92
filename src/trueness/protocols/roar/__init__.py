"""Remove what is called important, retrain, measure: ROAR and Recursive ROAR (Madsen et al. 2022)."""
