"""Training loops, saved models, memory and devices: what models have in common, whatever kind they read."""
