"""Feeds inputs to targets and counts: how many, how many refused, what broke, the slowest, the most memory."""

import contextlib
import resource
import signal
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import RefusedError, Target
from trueness.errors import UserError

LONGEST = 60
"""Seconds after which an input counts as one that hangs."""
_TOGETHER = 500
"""Inputs drawn by one search: it remembers them all, and memory is to tell of the program."""


@dataclass
class Tally:
    """What came of the inputs of one target."""

    inputs: int = 0
    refused: int = 0
    crashes: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Where in the program it broke, to the input and the traceback; one of each."""
    slowest: tuple[float, str] = (0.0, "")


class _EndedError(Exception):
    """The time is up."""


def fuzz(target: Target, count: int, number: int, seconds: float = 600) -> Tally:
    """So many inputs, fixed by a number, as far as the seconds suffice."""
    tally = Tally()
    end = time.monotonic() + seconds
    for begin in range(0, count, _TOGETHER):
        _fuzz(target, min(_TOGETHER, count - begin), 1_000_000 * number + begin, tally, end)
    return tally


def _fuzz(target: Target, count: int, number: int, tally: Tally, end: float) -> None:
    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def one(value):
        if time.monotonic() > end:
            raise _EndedError
        _take(target, value, tally)

    with contextlib.suppress(_EndedError):
        one()


def _take(target: Target, value: object, tally: Tally) -> None:
    begin = time.monotonic()
    before = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(LONGEST)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.feed(value, Path(folder))
    except (UserError, RefusedError):
        tally.refused += 1
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        key = f"{type(error).__name__} at {place.filename}:{place.lineno}"
        tally.crashes.setdefault(key, (repr(value)[:500], "".join(traceback.format_exception(error))))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    tally.inputs += 1
    tally.slowest = max(tally.slowest, (time.monotonic() - begin, repr(value)[:200]))


def _hangs(*_: object) -> None:
    raise TimeoutError(f"no answer within {LONGEST} s")


def peak_memory() -> float:
    """GiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
