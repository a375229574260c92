"""How a measurement is taken, and one line for each."""

import time
from collections.abc import Callable

import torch

failures: list[str] = []


def line(what: str, measured: float, unit: str, limit: float, *, at_least: bool) -> None:
    """Print a measurement beside its limit and remember a miss."""
    fine = measured >= limit if at_least else measured <= limit
    sign = "≥" if at_least else "≤"
    print(f"{'ok  ' if fine else 'MISS'}  {what:<74} {measured:>9.2f} {unit:<7} (limit {sign} {limit:g})", flush=True)
    if not fine:
        failures.append(what)


def seconds(work: Callable[[], object], tries: int = 3) -> float:
    """The least of several tries; a GPU is waited for."""
    taken = []
    for _ in range(tries):
        _wait()
        begin = time.perf_counter()
        work()
        _wait()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
