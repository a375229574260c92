"""`python -m tests.fuzz`: all targets; FUZZ_INPUTS, FUZZ_SECONDS and FUZZ_SEED say how many, how long, which."""

import os
import sys
import time
import warnings

from tests.fuzz.every import TARGETS
from tests.fuzz.runner import fuzz, peak_memory


def main() -> int:
    """0 where nothing broke."""
    warnings.simplefilter("ignore")
    inputs, seconds, number = (int(os.environ.get(f"FUZZ_{name}", value)) for name, value in DEFAULTS.items())
    shares = sum(target.share for target in TARGETS.values())
    begin, broken, total, refused = time.monotonic(), 0, 0, 0
    print(f"{'target':18}{'inputs':>8}{'refused':>9}{'broken':>8}{'slowest':>10}{'memory':>11}", flush=True)
    for name, target in TARGETS.items():
        left = max(seconds - (time.monotonic() - begin), 0)
        found = fuzz(target, max(inputs * target.share // shares, 1), number, left)
        total, refused, broken = total + found.inputs, refused + found.refused, broken + len(found.crashes)
        print(
            f"{name:18}{found.inputs:8}{found.refused:9}{len(found.crashes):8}"
            f"{found.slowest[0]:8.1f} s{peak_memory():7.2f} GiB",
            flush=True,
        )
        if found.slowest[0] > 5:
            print(f"  slowest: {found.slowest[1]}")
        for place, (value, trace) in found.crashes.items():
            print(f"  {place}\n  input: {value}\n{trace}")
    print(f"{total} inputs, {refused} refused, {broken} broken, {time.monotonic() - begin:.0f} s, seed {number}")
    return int(broken > 0)


DEFAULTS = {"INPUTS": "20000", "SECONDS": "600", "SEED": "0"}

if __name__ == "__main__":
    sys.exit(main())
