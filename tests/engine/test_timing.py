"""How long tasks take, learnt from others; whole runs are timed in test_driver."""

from dataclasses import replace

import pytest

from tests.engine.tasks import double, fails, total
from trueness.engine import walk
from trueness.engine.timing import Timing, chains, ends_after, kinds_of


def test_longest_chain_first():
    short, chain = double(value=1), double(value=2)
    for _ in range(3):
        chain = total({"parts": [chain]})
    tasks = walk([short, chain])
    timing = Timing.of([(double(value=7), 2.0), (total({"parts": []}), 1.0)])
    needed = [task.key for task in tasks]
    priority = chains(tasks, timing, needed)
    assert priority[double(value=2).key] == 5.0
    assert priority[short.key] == 2.0
    assert timing.total({kinds_of(double(value=1)): 3, kinds_of(fails(reason="")): 2}) == pytest.approx(3 * 2 + 2 * 1.5)
    assert Timing().total({kinds_of(short): 1}) is None
    assert ends_after(tasks, timing, needed, 2) == 5.0, "the chain; the other one beside it"
    assert ends_after(tasks, timing, needed, 1) == 7.0


def test_tasks_are_timed_by_their_words_and_sources():
    slow, fast = double(value=0, log="slow"), double(value=0, log="fast")
    timing = Timing.of([(slow, 8.0), (fast, 2.0)])
    assert timing.estimate(kinds_of(double(value=5, log="slow"))) == 8.0
    assert timing.estimate(kinds_of(double(value=5, log="neither"))) == 5.0
    timing = Timing.of([(double(value=0, log=["slow", "fast"]), 8.0), (double(value=0, log=["fast"]), 2.0)])
    assert timing.estimate(kinds_of(double(value=5, log=["fast"]))) == 2.0, "several words"
    large, small = double(value=100), double(value=1)
    timing = Timing.of([(total({"parts": [large]}), 9.0), (total({"parts": [small]}), 1.0)])
    assert timing.estimate(kinds_of(total({"parts": [large]}, seconds=0.5))) == 9.0
    last = replace(total({"parts": []}), type=replace(total, name="other", light=True))
    assert timing.estimate(kinds_of(fails(reason=""))) == 5.0
    assert timing.estimate(kinds_of(last)) is None, "a light task is like no other"
