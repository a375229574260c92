"""Numbers beside a threshold as sure as one likes, for tests of what is made of them."""

from dataclasses import dataclass, field

from scipy.special import ndtr, ndtri

from trueness.stats.thresholds import ThresholdTest


@dataclass(frozen=True)
class Known:
    """A value with a normal error."""

    value: float
    n: int = 100
    error: float = field(default=0.01)

    def p_above(self, threshold, *, times=1.0):
        return float(ndtr((threshold - self.value) / self.error * times**0.5))

    def p_below(self, threshold, *, times=1.0):
        return float(ndtr((self.value - threshold) / self.error * times**0.5))

    def lower(self, level):
        return self.value + float(ndtri(level)) * self.error

    def upper(self, level):
        return self.value - float(ndtri(level)) * self.error


def at(p_value, threshold=0.25, n=100, error=0.01):
    """A value above the threshold whose one-sided p-value it is."""
    return ThresholdTest(Known(threshold - float(ndtri(p_value)) * error, n, error), threshold)


def known(value, threshold=0.25, n=100, error=0.01):
    return ThresholdTest(Known(value, n, error), threshold)
