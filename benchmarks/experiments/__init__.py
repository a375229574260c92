"""Experiments beside the studies, to be run on one GPU: see `results/experiments/README.md`."""
