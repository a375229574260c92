import numpy as np
import pytest

from trueness.kinds.vector.roar_synthetic import roar_synthetic
from trueness.kinds.vector.vectors import VECTOR_DATASETS

SIZES = {"features": 16, "informative": 4, "train": 400, "test": 300}


@pytest.mark.parametrize("name", ["roar-synthetic", "roar-synthetic@madsen2022"])
def test_a_seed_fixes_the_draw(name):
    first, second, other = (VECTOR_DATASETS[name](seed, **SIZES) for seed in (1, 1, 2))
    assert np.array_equal(first.train.features, second.train.features)
    assert not np.array_equal(first.train.features, other.train.features)
    assert not np.array_equal(first.train.features[:300], first.test.features)
    assert (len(first.train), len(first.test), first.width) == (400, 300, 16)
    assert first.evidence.tolist() == [True] * 4 + [False] * 12
    assert first.name == name
    assert 0.4 < first.train.labels.mean() < 0.6


def test_shared_noise_leaves_three_dimensions():
    """With one scalar of noise, x lies in the span of a, d and the all-ones vector."""
    x = roar_synthetic(0, shared_noise=True).train.features
    assert np.linalg.matrix_rank(x) == 3
    assert np.linalg.matrix_rank(roar_synthetic(0).train.features) == 16


def test_shared_noise_makes_informative_features_redundant():
    """Any one informative feature and two others determine z, so they classify perfectly; two others alone cannot."""
    data = roar_synthetic(3, shared_noise=True)
    for informative in range(4):
        x, y = data.train.features[:, [informative, 10, 11]], data.train.labels
        # z is a linear combination of the three; find it from the label by least squares on the span.
        weights = np.linalg.lstsq(x, 2.0 * y - 1, rcond=None)[0]
        test = data.test.features[:, [informative, 10, 11]] @ weights > 0
        assert (test == data.test.labels).mean() > 0.99
    blind = (
        data.test.features[:, [10, 11]] @ np.linalg.lstsq(data.train.features[:, [10, 11]], 2.0 * y - 1, rcond=None)[0]
    )
    assert abs(((blind > 0) == data.test.labels).mean() - 0.5) < 0.02


def test_independent_noise_has_the_stated_variance():
    """Uninformative features: variance d^2 + 0.01, and covariance d_i d_j."""
    x = roar_synthetic(5, train=200_000).train.features[:, 4:]
    covariance = np.cov(x.T)
    values, vectors = np.linalg.eigh(covariance)
    assert values[:-1] == pytest.approx(np.full(11, 0.01), rel=0.05)
    d = vectors[:, -1] * np.sqrt(values[-1] - 0.01)
    assert np.outer(d, d) == pytest.approx(covariance - 0.01 * np.eye(12), abs=0.02)
