"""How long tasks take, learnt from others; whole runs are timed in test_driver."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.tasks import double, fails, total
from trueness.engine.timing import Timing, _at_once, ends_after, kinds_of


def one_by_one(*measured):
    """Learnt from tasks of so many seconds, each begun when the one before had finished."""
    clock, found = 0.0, []
    for task, seconds in measured:
        clock += seconds
        found.append((task, seconds, clock))
    return Timing.of(found)


def test_tasks_are_timed_by_their_words_and_sources():
    slow, fast = double(value=0, log="slow"), double(value=0, log="fast")
    timing = one_by_one((slow, 8.0), (fast, 2.0))
    assert timing.estimate(kinds_of(double(value=5, log="slow"))) == 8.0
    assert timing.estimate(kinds_of(double(value=5, log="neither"))) == 5.0
    timing = one_by_one((double(value=0, log=["slow", "fast"]), 8.0), (double(value=0, log=["fast"]), 2.0))
    assert timing.estimate(kinds_of(double(value=5, log=["fast"]))) == 2.0, "several words"
    large, small = double(value=100), double(value=1)
    timing = one_by_one((total({"parts": [large]}), 9.0), (total({"parts": [small]}), 1.0))
    assert timing.estimate(kinds_of(total({"parts": [large]}, seconds=0.5))) == 9.0
    last = replace(total({"parts": []}), type=replace(total, name="other", light=True))
    assert timing.estimate(kinds_of(fails(reason=""))) == 5.0
    assert timing.estimate(kinds_of(last)) is None, "a light task is like no other"


def crowded(exponent):
    """Four tasks of 2 seconds at once, two at once, and one alone, where tasks slow one another so much."""
    found, clock = [], 100.0
    for number in (4, 2, 1):
        seconds = 2.0 * number**exponent
        clock += seconds
        found += [(double(value=10 * number + one), seconds, clock) for one in range(number)]
        clock += 1.0
    return Timing.of(found)


@pytest.mark.parametrize("exponent", [0.0, 0.4, 1.0])
def test_how_tasks_slow_one_another_is_learnt(exponent):
    timing = crowded(exponent)
    assert timing.crowding == pytest.approx(exponent, rel=0.06)
    assert timing.estimate(kinds_of(double(value=5))) == pytest.approx(2.0, rel=0.06), "alone"


def test_a_hair_of_overlap_tells_nothing():
    found, clock = [], 1.7e9
    for number, seconds in enumerate((10.0, 11.0, 12.0, 13.0, 14.0)):
        clock += seconds + 1
        found.append((double(value=number), seconds, clock))
    found.append((total({"parts": [double(value=0)]}), 0.05, clock - 3))
    assert Timing.of(found).crowding < 0.01


def test_tasks_of_different_lengths_share_a_machine_only_while_both_run():
    long, short = double(value=1, log="long"), double(value=1, log="short")
    timing = Timing(crowding=1.0)
    timing.add(long, 10.0)
    timing.add(short, 4.0, beside=2.0)
    assert timing.estimate(kinds_of(short)) == 2.0
    both = [long.key, short.key]
    assert ends_after([long, short], timing, both, 2) == pytest.approx(12.0), "4 s for the short one, then 8 s alone"


def test_how_many_ran_at_once():
    rng = np.random.default_rng(0)
    begin = rng.integers(0, 50, 40).astype(float)
    spans = [(one, one + length) for one, length in zip(begin, rng.integers(0, 20, 40), strict=True)]
    literal = []
    for first, last in spans:
        shared = [max(0.0, min(last, end) - max(first, start)) for start, end in spans]
        literal.append(max(1.0, sum(shared) / (last - first)) if last > first else 1.0)
    assert _at_once(spans) == pytest.approx(literal)


def test_what_tells_nothing_of_crowding_is_taken_as_it_is():
    assert Timing.of([]).crowding == 0
    timing = Timing.of([(double(value=1), 3.0, 3.0), (double(value=2), 3.0, 3.0)])
    assert (timing.crowding, timing.estimate(kinds_of(double(value=3)))) == (0, 3.0), "always two at once"
    faster = Timing.of([(double(value=1), 1.0, 5.0), (double(value=2), 1.0, 5.0), (double(value=3), 9.0, 20.0)])
    assert faster.crowding == 0, "tasks do not hasten one another"
    at_once = Timing.of([(double(value=1), 0.0, 1.0), (double(value=2), 0.0, 1.0)])
    assert at_once.estimate(kinds_of(double(value=3))) == 0
