"""How a measurement is taken, and one line for each."""

import time
from collections.abc import Callable

import torch

failures: list[str] = []
TIE = 0.95
"""As fast as a peer, as far as can be told."""
ENOUGH = 4.0
"""Seconds of short calls, so that one busy moment of the machine does not decide."""


def line(what: str, measured: float, unit: str, limit: float, *, at_least: bool) -> None:
    """Print a measurement beside its limit and remember a miss."""
    fine = measured >= limit if at_least else measured <= limit
    sign = "≥" if at_least else "≤"
    print(f"{'ok  ' if fine else 'MISS'}  {what:<74} {measured:>9.2f} {unit:<7} (limit {sign} {limit:g})", flush=True)
    if not fine:
        failures.append(what)


def seconds(work: Callable[[], object], tries: int = 3) -> float:
    """The least of several tries: CPU time, which others' load does not change; a GPU is waited for."""
    return min(_once(work) for _ in range(tries))


def ratio(theirs: Callable[[], object], ours: Callable[[], object], tries: int = 3) -> float:
    """How many times as long theirs takes: the least of several tries of each, which alternate; more of short ones."""
    taken = [(_once(theirs), _once(ours)) for _ in range(tries)]
    while sum(map(sum, taken)) < ENOUGH and len(taken) < 20 * tries:
        taken.append((_once(theirs), _once(ours)))
    return min(pair[0] for pair in taken) / min(pair[1] for pair in taken)


def _once(work: Callable[[], object]) -> float:
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    _wait()
    begin = clock()
    work()
    _wait()
    return clock() - begin


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
