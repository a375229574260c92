"""Estimates in numbers that can be worked out by hand."""

import math
from dataclasses import replace

import pytest

from tests.engine.tasks import double, fails, pause, total
from trueness.engine import Timing, walk
from trueness.engine.timing import _crowding, chains, ends_after, kinds_of


def test_what_a_task_is_like_from_most_to_least():
    part = double(value=1)
    inner = total({"parts": [part]})
    above = total({"parts": [double(value=2), part, inner]}, log="here", seconds=0.5)
    words, sources = (("log", "here"),), tuple(sorted([part.key, double(value=2).key]))
    assert kinds_of(above) == (
        ("total", words, sources),
        ("total", sources),
        ("total", words),
        ("total",),
        (),
    ), "what has inputs of its own is no source"
    light = replace(above, type=replace(total, light=True))
    assert kinds_of(light) == kinds_of(above)[:-1]
    listed = double(value=["b", "a"], log=[])
    assert kinds_of(listed)[0][1] == (("log", "[]"), ("value", "['b', 'a']"))
    assert kinds_of(double(value=["b", 1]))[0][1] == ()
    several = pause(kind="a", step="b", seconds=1)
    assert kinds_of(several)[2] == ("pause", (("kind", "a"), ("step", "b")))


def test_seconds_alone_are_the_mean_of_what_was_measured():
    timing = Timing(0.5)
    timing.add(double(value=1), 6.0, 4.0)
    timing.add(double(value=2), 5.0)
    kinds = kinds_of(double(value=3))
    assert timing.estimate(kinds) == 4.0, "(6 / 4 ** 0.5 + 5) / 2"
    assert timing.seconds(kinds) == 4.0
    assert Timing().crowding == 0.0
    assert Timing().estimate(kinds) is None
    assert Timing().seconds(kinds) == 1.0
    timing = Timing()
    timing.add(double(value=1), 0.0)
    assert timing.seconds(kinds) == 0.0, "no time at all is known too"


def test_the_total_is_shared_by_the_slots():
    timing = Timing(0.5)
    timing.add(double(value=1), 2.0)
    left = {kinds_of(double(value=1)): 3, kinds_of(fails(reason="")): 5}
    assert timing.total(left) == 16.0
    assert timing.total(left, 4) == 8.0, "16 * 4 ** -0.5"
    assert timing.total({}, 4) == 0.0
    assert Timing().total(left, 4) is None


def test_crowding_is_a_slope_drawn_to_nought():
    def slope(points):
        x, y = ([math.log(point[axis]) for point in points] for axis in (0, 1))
        mx, my = sum(x) / len(x), sum(y) / len(y)
        above = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
        return above, sum((a - mx) ** 2 for a in x)

    points = [(1.0, 2.0), (2.0, 2.5), (4.0, 4.0)]
    others = [(1.0, 10.0), (3.0, 12.0)]
    (one, first), (two, second) = slope(points), slope(others)
    timed = [("a", seconds) for _, seconds in points] + [("b", seconds) for _, seconds in others]
    beside = [count for count, _ in points + others]
    assert _crowding(timed, beside) == pytest.approx((one + two) / (first + second + 0.1))
    assert _crowding([*timed, ("a", 0.0), ("c", 5.0)], [*beside, 9.0, 7.0]) == pytest.approx(
        (one + two) / (first + second + 0.1)
    ), "what took no time, or is the only one of its kind, tells nothing"
    assert _crowding([], []) == 0.0
    assert _crowding([("a", 1.0), ("a", 1000.0)], [1.0, 8.0]) == 1.0, "at most in proportion"
    assert _crowding([("a", 1000.0), ("a", 1.0)], [1.0, 8.0]) == 0.0


def test_a_short_task_is_timed_as_well_as_a_long_one():
    beside = [1.0, 4.0]
    short, long = ([("a", seconds), ("a", 2 * seconds)] for seconds in (0.25, 4.0))
    assert _crowding(short, beside) == pytest.approx(_crowding(long, beside))
    assert _crowding(short, beside) > 0.4


def test_timing_learns_from_what_ran_side_by_side():
    measured = [(double(value=number), 4.0, 100.0) for number in range(2)] + [(double(value=9), 2.0, 50.0)]
    timing = Timing.of(iter(measured))
    a = math.log(2)
    expected = (2 * (a / 3) ** 2 + (2 * a / 3) ** 2) / (2 * (a / 3) ** 2 + (2 * a / 3) ** 2 + 0.1)
    assert timing.crowding == pytest.approx(expected)
    alone = 4.0 / 2**expected
    assert timing.estimate(kinds_of(double(value=5))) == pytest.approx((2 * alone + 2.0) / 3)


def test_tasks_of_other_words_are_not_compared():
    measured = [(double(value=1, log="a"), 4.0, 100.0), (double(value=2, log="b"), 4.0, 100.0)]
    measured += [(double(value=3, log="c"), 1.0, 50.0)]
    assert Timing.of(measured).crowding == 0.0


def test_the_longest_chain_of_what_is_needed():
    leaf, other = double(value=1), double(value=2)
    middle = total({"parts": [leaf, other]})
    top, aside = total({"parts": [middle]}, log="top"), pause({"before": [other]}, kind="a", step=1, seconds=1)
    timing = Timing()
    for one, seconds in ((leaf, 2.0), (middle, 3.0), (aside, 10.0)):
        timing.add(one, seconds)
    tasks = walk([top, aside])
    everything = [item.key for item in tasks]
    found = chains(tasks, timing, iter(everything))
    assert found == {leaf.key: 8.0, other.key: 12.0, middle.key: 6.0, top.key: 3.0, aside.key: 10.0}
    left = chains(tasks, timing, [leaf.key, top.key])
    assert left == {leaf.key: 5.0, other.key: 3.0, middle.key: 3.0, top.key: 3.0, aside.key: 0.0}
    unknown = chains(tasks, Timing(), everything)
    assert unknown[leaf.key] == 3.0, "unknown times count as 1"


def test_when_a_plan_would_end():
    timing = Timing()
    tasks = [double(value=number, log=name) for number, name in enumerate("abcd")]
    for one, seconds in zip(tasks, (5.0, 3.0, 3.0, 2.0), strict=True):
        timing.add(one, seconds)
    keys = [item.key for item in tasks]
    assert ends_after(tasks, timing, iter(keys), 1) == 13.0
    assert ends_after(tasks, timing, keys, 2) == 7.0, "5 + 2 beside 3 + 3"
    assert ends_after(tasks, timing, keys, 4) == 5.0
    assert ends_after(tasks, timing, keys[1:], 9) == 3.0, "only what is needed"
    assert ends_after(tasks, timing, [], 2) == 0.0
    above = total({"parts": tasks})
    timing.add(above, 1.5)
    assert ends_after([*tasks, above], timing, [*keys, above.key], 4) == 6.5, "after all it reads from"


def test_a_crowded_plan_ends_later():
    timing = Timing(0.5)
    tasks = [double(value=number, log=name) for number, name in enumerate("ab")]
    timing.add(tasks[0], 4.0)
    timing.add(tasks[1], 1.0)
    keys = [item.key for item in tasks]
    assert ends_after(tasks, timing, keys, 2) == pytest.approx(1.0 * 2**0.5 + 3.0)
    four = [double(value=number) for number in range(4)]
    timing = Timing(0.5)
    timing.add(four[0], 3.0)
    assert ends_after(four, timing, [item.key for item in four], 4) == pytest.approx(6.0)
