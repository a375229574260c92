"""Kendall tau-b with p-values, 10,000 pairs of rankings, against a loop over scipy.stats.kendalltau."""

import tracemalloc

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from benchmarks.report import line, ratio
from trueness.stats import kendall

Rows = npt.NDArray[np.float64]
PAIRS = 10_000
LOOPED = 500
LIMITS = {20: 50.0, 200: 5.0, 2000: 1.5}


def main() -> None:
    rng = np.random.default_rng(0)
    for tokens, limit in LIMITS.items():
        for ties in (False, True):
            a, b = rng.standard_normal((2, PAIRS, tokens))
            if ties:
                a, b = np.round(a, 1), np.round(b, 1)
            name = f"kendall, {tokens} tokens{', ties' if ties else ''}, against scipy (loop of {LOOPED}, scaled)"
            line(name, _ratio(a, b), "x", limit, at_least=True)
    a, b = np.round(rng.standard_normal((2, 2000, 2000)), 1)
    least = _peak(a, b, 1)  # one row at a time: what remains is the input's own checked copies
    for megabytes in (4, 16, 64):
        scratch = (_peak(a, b, megabytes << 20) - least) / 2**20
        line(f"kendall, scratch memory with max_bytes = {megabytes} MiB", scratch, "MiB", megabytes, at_least=False)


def _ratio(a: Rows, b: Rows) -> float:
    kendall(a[:LOOPED], b[:LOOPED])

    def loop() -> None:
        for x, y in zip(a[:LOOPED], b[:LOOPED], strict=True):
            kendalltau(x, y)

    return ratio(loop, lambda: kendall(a, b)) * len(a) / LOOPED


def _peak(a: Rows, b: Rows, max_bytes: int) -> int:
    tracemalloc.start()
    kendall(a, b, max_bytes=max_bytes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
