import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from trueness.kinds.vector.families import VECTOR_MODELS
from trueness.kinds.vector.vectors import VECTOR_DATASETS, Vectors
from trueness.papers.roar_synthetic.trial import LinearModel, fit

NAMES = [name for name in VECTOR_MODELS if name.startswith("logistic")]


def examples(seed, n=500, width=3):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, width))
    y = (x @ [1.0, -2.0, 0.0][:width] + rng.standard_normal(n) > 0.3).astype(np.int64)
    return Vectors(x, y)


@pytest.mark.parametrize("name", NAMES)
def test_it_maximises_the_likelihood(name):
    data = examples(0)

    def loss(w):
        margin = (2 * data.labels - 1) * (data.features @ w[:-1] + w[-1])
        return np.logaddexp(0, -margin).sum()

    best = minimize(loss, np.zeros(4), tol=1e-10).x
    model = fit(name, data)
    assert [*model.coefficients, model.intercept] == pytest.approx(best, abs=2e-2)


@pytest.mark.parametrize("name", NAMES)
def test_without_features_or_with_one_class_it_predicts_the_majority(name):
    data = examples(1)
    nothing = data.keep(np.array([], dtype=int))
    model = fit(name, nothing)
    assert model.accuracy(nothing) == max(data.labels.mean(), 1 - data.labels.mean())
    ones = Vectors(data.features, np.ones(500, dtype=np.int64))
    assert fit(name, ones).accuracy(ones) == 1.0


def test_on_separable_data_only_the_plain_model_is_at_an_optimum():
    """The gradient of the (all but unpenalised) loss vanishes for the plain model; L-BFGS stops short of it."""
    data = VECTOR_DATASETS["roar-synthetic@madsen2022"](7, features=16, informative=4, train=1000, test=10).train

    def relative_gradient(model):
        score = data.features @ model.coefficients + model.intercept
        error = expit(score) - data.labels
        return np.abs(data.features.T @ error + model.coefficients / 1e6).max() / len(data)

    plain, published = (relative_gradient(fit(name, data)) for name in NAMES)
    assert plain < 1e-5
    assert published > 10 * plain


def test_accuracy_is_the_share_of_right_predictions():
    model = LinearModel(np.array([1.0]), 0.0)
    data = Vectors(np.array([[1.0], [-1.0], [2.0], [-2.0]]), np.array([1, 0, 0, 0]))
    assert model.predict(data.features).tolist() == [1, 0, 1, 0]
    assert model.accuracy(data) == 0.75
