"""Kalman's filter and smoother beside the joint normal distribution of all that is seen."""

from __future__ import annotations

import kalman
import numpy as np
import pytest
from scipy.stats import multivariate_normal

DATA = kalman.voyages(2, 8)


def joint(theta, steps):
    """The covariance of all states (6 t, 6 t), and what is seen of them (3 t, 6 t), with its noise."""
    forward, push, seen, noise, spread = kalman.motion(theta, np)
    at = [spread]
    for _ in range(steps - 1):
        at.append(forward @ at[-1] @ forward.T + push)

    def power(k):
        return np.linalg.matrix_power(forward, k)

    blocks = [
        [power(max(i - j, 0)) @ at[min(i, j)] @ power(max(j - i, 0)).T for j in range(steps)] for i in range(steps)
    ]
    return np.block(blocks), np.kron(np.eye(steps), seen), np.kron(np.eye(steps), noise)


def by_joint(theta, y):
    """The log-density of measurements of ships."""
    covariance, seen, noise = joint(theta, y.shape[1])
    density = multivariate_normal(np.zeros(y[0].size), seen @ covariance @ seen.T + noise)
    return sum(density.logpdf(one.ravel()) for one in y)


@pytest.fixture(scope="module")
def compiled():
    return kalman.compiled("c", DATA.y), kalman.smoother("c", DATA.y)


@pytest.mark.parametrize("theta", [kalman.START, kalman.TRUTH])
def test_the_log_likelihood_is_the_joint_density_and_its_gradient_the_change_of_it(compiled, theta):
    value, gradient = compiled[0](theta)
    np.testing.assert_allclose(value, by_joint(theta, DATA.y), rtol=1e-11)
    moves = 1e-3 * np.eye(len(theta))

    def of(move):
        return by_joint(theta + move, DATA.y)

    needed = [(8 * (of(m) - of(-m)) - of(2 * m) + of(-2 * m)) / 12e-3 for m in moves]
    np.testing.assert_allclose(gradient, needed, rtol=1e-7, atol=1e-7)


def test_the_smoother_gives_the_expectation_of_states_given_all_measurements(compiled):
    means, deviations = compiled[1](kalman.TRUTH)
    covariance, seen, noise = joint(kalman.TRUTH, 8)
    across = covariance @ seen.T
    gain = np.linalg.solve(seen @ across + noise, across.T).T
    left = np.sqrt(np.diag(covariance - gain @ across.T)).reshape(8, 6)[:, :3]
    for k, y in enumerate(DATA.y):
        np.testing.assert_allclose(means[k], (gain @ y.ravel()).reshape(8, 6)[:, :3], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(deviations[k], left, rtol=1e-9)


@pytest.mark.long
def test_the_fit_is_near_what_made_the_data_and_knows_how_near():
    data = kalman.voyages()
    r = kalman.run("c", data)
    assert np.all(np.abs(r.theta - kalman.TRUTH) < 4 * r.errors)
    np.testing.assert_allclose(kalman.compiled("c", data.y)(r.theta)[1] * r.errors, 0, atol=1e-2)
    off = np.sqrt(np.mean(((r.places - data.places) / r.deviations) ** 2))
    assert abs(off - 1) < 4 * 0.028  # of 40 other draws of the data: 0.997 on average, with a deviation of 0.028


@pytest.mark.long
def test_the_fit_is_that_of_jax():
    pytest.importorskip("jax")
    data = kalman.voyages(2, 100)
    r, peer = kalman.run("c", data), kalman.run_jax(data)
    np.testing.assert_allclose(r.at_start, peer.at_start, rtol=1e-9)
    assert np.all(np.abs(r.theta - peer.theta) < 1e-2 * r.errors)


def test_the_log_likelihood_is_that_of_statsmodels():
    pytest.importorskip("statsmodels")
    peer = kalman.run_statsmodels(DATA)
    np.testing.assert_allclose(peer.at_start[0], by_joint(kalman.START, DATA.y), rtol=1e-10)
