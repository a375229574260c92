"""Run all benchmarks, or those named on the command line; fails where a ratio misses its limit."""

import importlib
import sys

from benchmarks.report import failures

NAMES = (
    "kendall",
    "engine",
    "leave_one_out",
    "training",
    "recurrence",
    "attention",
    "twins",
    "flow",
    "agreement",
    "explainers",
    "coalitions",
    "roar",
    "audit",
    "images",
    "prompts",
)

for name in sys.argv[1:] or NAMES:
    importlib.import_module(f"benchmarks.{name}").main()
sys.exit(1 if failures else 0)
