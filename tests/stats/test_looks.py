"""Looking a few times at growing data: how often the tests err at any look, and which sizes there are."""

import numpy as np
import pytest
from scipy.stats import binom

from trueness.stats.bounded import mean_p
from trueness.stats.looks import Looks, shared

LEVEL, DRAWS = 0.1, 1500
POPULATIONS = {
    "two values": lambda rng, n: (rng.random(n) < 0.8) * 1.0,
    "skewed": lambda rng, n: rng.beta(8, 1.2, n),
    "1, rarely less": lambda rng, n: np.where(rng.random(n) < 0.05, rng.uniform(0, 0.6, n), 1.0),
}
MEANS = {"two values": 0.8, "skewed": 8 / 9.2, "1, rarely less": 0.95 + 0.05 * 0.3}


def errors(name, looks, seed=0):
    """In how many draws it errs at any look: with the level shared, and with the whole level at each."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(DRAWS):
        values = POPULATIONS[name](rng, looks.sizes[-1])
        found.append(min(mean_p(values[:n], MEANS[name], 0.0) for n in looks.sizes))
    return [int((np.array(found) <= level).sum()) for level in (looks.level(LEVEL), LEVEL)]


@pytest.mark.parametrize("name", POPULATIONS)
def test_all_looks_together_err_as_often_as_the_level_says(name):
    looks = Looks.doubling(60, 3, 10_000)
    together, _ = errors(name, looks)
    assert together <= binom(DRAWS, LEVEL).ppf(0.999)


def test_the_whole_level_at_each_look_would_err_more_often():
    _, unshared = errors("two values", Looks.doubling(60, 3, 10_000))
    assert unshared > binom(DRAWS, LEVEL).ppf(0.999)


def test_sizes_double_and_end_with_what_there_is():
    looks = Looks.doubling(300, 3, 700)
    assert looks.sizes == (300, 600, 700)
    assert [looks.after(n) for n in (0, 300, 450, 600, 700)] == [300, 600, 600, 700, None]
    assert looks.level(0.03) == pytest.approx(0.01)
    assert Looks.doubling(300, 3, 200).sizes == (200,)  # all are looked at once, at the whole level


def test_sizes_that_do_not_grow_are_refused():
    for sizes in ((), (300, 300), (300, 200)):
        with pytest.raises(ValueError, match="grow"):
            Looks(sizes)
    with pytest.raises(ValueError, match="once"):
        shared(0.05, 0)
