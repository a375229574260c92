"""Run experiments: python -m benchmarks.experiments NAME... --out FOLDER."""

from benchmarks.experiments.running import main

main()
