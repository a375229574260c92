"""A small share of `make fuzz`."""

import pytest

from tests.fuzz.every import TARGETS
from tests.fuzz.runner import Tally, _take, fuzz, peak_memory
from tests.fuzz.targets import Target
from trueness.errors import UserError

COUNTS = {"data files": 80, "settings": 80, "command lines": 15, "checkpoints": 30, "model folders": 6}
COUNTS |= {"models of images": 20, "folders of images": 6, "stores": 20, "settings of audits": 20}


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_refused_in_one_sentence(name):
    found = fuzz(TARGETS[name], COUNTS.get(name, 40), number=1)
    assert found.inputs
    for place, (value, trace) in found.crashes.items():
        pytest.fail(f"{name}: {place}\ninput: {value}\n{trace}")
    assert peak_memory() < 4


def test_what_breaks_is_counted():
    """The counting itself: one refused, one taken, two that break at the same place."""

    def feed(value, folder):
        if value == "refuse":
            raise UserError("no")
        if value == "break":
            raise ZeroDivisionError

    tally = Tally()
    for value in ("refuse", "take", "break", "break"):
        _take(Target(None, feed, 1), value, tally)
    assert (tally.inputs, tally.refused, len(tally.crashes)) == (4, 1, 1)
