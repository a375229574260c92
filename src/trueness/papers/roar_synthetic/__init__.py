"""The synthetic validation of Recursive ROAR (Madsen et al. 2022, section 3.3)."""
