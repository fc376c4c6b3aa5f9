"""The epidemics and the autoregression: their log-likelihoods, the gradients, and what a fit finds."""

from __future__ import annotations

import epidemic
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import multivariate_normal, poisson

SERIES = {s.title: s for s in epidemic.series(150)}
TITLES = tuple(SERIES)


def by_integration(title, p, days):
    """The counts that are expected, by SciPy's solver to ten digits, from the equations in the example's docstring."""

    def rates(t, state):
        if title == "SIR":
            (s, i), (beta, gamma, _) = state, p
            return [-beta * s * i, beta * s * i - gamma * i]
        (s, e, i), (beta, sigma, gamma, _) = state, p
        return [-beta * s * i, beta * s * i - sigma * e, sigma * e - gamma * i]

    begin = [1 - p[-1], p[-1]] + [0.0] * (title == "SEIR")
    found = solve_ivp(rates, (0, days), begin, rtol=1e-11, atol=1e-13, t_eval=np.arange(days + 1.0))
    return -np.diff(found.y[0]) * 0.3 * 1e5


def of_observations(y, a, b, q, r):
    """The log-density of an autoregression that begins with two values of variance 10, from its covariance matrix."""
    count = len(y) + 2
    inverse = np.eye(count) - a * np.eye(count, k=-1) - b * np.eye(count, k=-2)
    inverse[:2] = np.eye(count)[:2]
    forward = np.linalg.inv(inverse)  # of the two first values and the shocks
    covariance = forward @ np.diag([10.0, 10.0] + [q * q] * len(y)) @ forward.T + r * r * np.eye(count)
    return multivariate_normal(np.zeros(len(y)), covariance[2:, 2:]).logpdf(y)


@pytest.mark.parametrize("title", ["SIR", "SEIR"])
def test_the_expected_counts_are_those_of_the_equations(title):
    s = SERIES[title]
    found = epidemic.expected_counts(getattr(epidemic, title.lower()), np.exp(s.truth), 150)
    np.testing.assert_allclose(found, by_integration(title, np.exp(s.truth), 150), rtol=1e-5)


@pytest.mark.parametrize("title", ["SIR", pytest.param("SEIR", marks=pytest.mark.long)])
def test_the_log_likelihood_of_counts_is_the_density_of_scipy(title):
    s = SERIES[title]
    means = [by_integration(title, np.exp(theta), 150) for theta in (s.truth, s.start)]
    needed = np.diff([np.sum(poisson.logpmf(s.data, mean)) for mean in means])
    f = epidemic.compiled(s, "c")
    np.testing.assert_allclose(float(f(s.start)[0]) - float(f(s.truth)[0]), needed[0], rtol=1e-5)


def test_the_log_likelihood_of_the_autoregression_is_the_density_of_scipy():
    s = SERIES["AR(2)"]._replace(data=SERIES["AR(2)"].data[:30])
    found = float(epidemic.compiled(s, "perform")(s.start)[0])
    np.testing.assert_allclose(found, of_observations(s.data, 0.5, 0.0, 1.0, 1.0), rtol=1e-12)


def slopes(s, theta):
    """The gradient of the loop in Python, by a step into the complex plane, which loses no digit."""
    found = []
    for k in range(len(theta)):
        moved = theta + 1e-30j * np.eye(len(theta))[k]
        if s.title == "AR(2)":
            found.append(epidemic.of_autoregression_by_hand(moved, s.data).imag / 1e-30)
        else:
            expected = epidemic.expected_counts(getattr(epidemic, s.title.lower()), np.exp(moved), len(s.data))
            found.append(np.sum(s.data * np.log(expected) - expected).imag / 1e-30)
    return np.array(found)


@pytest.mark.parametrize("title", TITLES)
def test_the_gradient_is_that_of_the_loop_in_python(title):
    s = SERIES[title]
    value, gradient = epidemic.compiled(s, "c")(s.start)
    np.testing.assert_allclose(value, s.by_hand(s.start, s.data), rtol=1e-11)
    np.testing.assert_allclose(gradient, slopes(s, s.start), rtol=1e-9)


@pytest.mark.parametrize("title", TITLES)
def test_the_fit_finds_what_made_the_data(title):
    s = SERIES[title]
    result = epidemic.run("c", s)
    assert np.all(np.abs(result.theta - s.truth) < 4 * result.errors)
    np.testing.assert_allclose(slopes(s, result.theta) * result.errors, 0, atol=0.02)  # in standard errors: the top
    assert result.calls > 5
    assert 0 < result.call_microseconds < 1e6 * result.seconds
    assert result.first_seconds < result.seconds


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("title", TITLES)
def test_the_fit_of_1200_steps_is_that_of_scipy_without_gradients(title, backend):
    (s,) = (one for one in epidemic.series() if one.title == title)
    result, peer = epidemic.run(backend, s), epidemic.run_by_hand(s)
    assert np.all(np.abs(result.theta - s.truth) < 4 * result.errors)
    assert np.all(np.abs(result.theta - peer.theta) < 0.01 * result.errors)
    np.testing.assert_allclose(result.at_start[0], peer.at_start[0], rtol=1e-11)
    np.testing.assert_allclose(result.at_start[1:], slopes(s, s.start), rtol=1e-8)


def test_where_a_call_takes_long_nothing_is_fitted(monkeypatch):
    monkeypatch.setattr(epidemic, "SHORT", 0.0)
    for fits in (True, False):
        result = epidemic.run("c", SERIES["AR(2)"], fits=fits)
        assert result.theta is None
        assert result.calls == 0
