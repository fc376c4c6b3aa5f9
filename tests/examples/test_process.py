"""The Gaussian process: its log-density, derivatives, predictions, and the fit beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import process
import pytest
from scipy.stats import multivariate_normal

DATA = process.measured(40, 10)


def kernel(a, b, theta):
    """The covariance of the docstring, element by element."""
    v, l1, l2, _ = np.exp(theta)
    return np.array(
        [[v * np.exp(-((p[0] - q[0]) ** 2) / (2 * l1**2) - (p[1] - q[1]) ** 2 / (2 * l2**2)) for q in b] for p in a]
    )


def slopes(theta, x, y):
    """The gradient by equation 5.9 of Rasmussen and Williams, with matrices of derivatives written by hand."""
    k = kernel(x, x, theta)
    squares = (x[:, None] - x) ** 2 / np.exp(2 * theta[1:3])
    changes = [k, k * squares[..., 0], k * squares[..., 1], np.exp(theta[3]) * np.eye(len(x))]
    inverse = np.linalg.inv(k + np.exp(theta[3]) * np.eye(len(x)))
    alpha = inverse @ y
    return np.array([0.5 * np.sum((np.outer(alpha, alpha) - inverse) * change) for change in changes])


@pytest.fixture(scope="module")
def compiled():
    return process.compiled(DATA, "c")


@pytest.mark.long
def test_the_log_likelihood_is_the_density_of_scipy_and_its_gradient_the_formula(compiled):
    for theta in (process.START, process.TRUTH):
        value, gradient = compiled[0](theta)
        covariance = kernel(DATA.x, DATA.x, theta) + np.exp(theta[3]) * np.eye(40)
        np.testing.assert_allclose(value, multivariate_normal(np.zeros(40), covariance).logpdf(DATA.y), rtol=1e-11)
        np.testing.assert_allclose(gradient, slopes(theta, DATA.x, DATA.y), rtol=1e-9)


def test_the_hessian_is_that_of_the_formula(compiled):
    moves = 1e-5 * np.eye(4)
    needed = [
        (slopes(process.TRUTH + m, DATA.x, DATA.y) - slopes(process.TRUTH - m, DATA.x, DATA.y)) / 2e-5 for m in moves
    ]
    np.testing.assert_allclose(compiled[1](process.TRUTH), needed, rtol=1e-6, atol=1e-6)


def test_predictions_are_those_of_the_joint_normal_distribution(compiled):
    mean, deviation = compiled[2](process.TRUTH)
    covariance = kernel(DATA.x, DATA.x, process.TRUTH) + np.exp(process.TRUTH[3]) * np.eye(40)
    across = kernel(DATA.places, DATA.x, process.TRUTH)
    np.testing.assert_allclose(mean, across @ np.linalg.solve(covariance, DATA.y), rtol=1e-9)
    left = kernel(DATA.places, DATA.places, process.TRUTH) - across @ np.linalg.solve(covariance, across.T)
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(left)), rtol=1e-9)


def test_the_fit_is_at_the_top_and_near_what_made_the_data():
    found = process.run("c", DATA)
    assert np.all(np.abs(found.theta - process.TRUTH) < 4 * found.errors)
    np.testing.assert_allclose(slopes(found.theta, DATA.x, DATA.y) * found.errors, 0, atol=1e-3)
    np.testing.assert_array_less(np.abs(found.mean - DATA.values), 5 * found.deviation)


@pytest.mark.long
def test_the_fit_of_250_places_is_that_of_scikit_learn():
    pytest.importorskip("sklearn")
    data = process.measured()
    found, peer = process.run("c", data), process.run_sklearn(data)
    np.testing.assert_allclose(found.at_start, peer.at_start, rtol=1e-9)
    assert np.all(np.abs(found.theta - peer.theta) < 1e-3 * found.errors)
    np.testing.assert_allclose(found.log_likelihood, peer.log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(found.mean, peer.mean, atol=1e-4)
    np.testing.assert_allclose(found.deviation, peer.deviation, atol=1e-5)
