"""The regressions of counts and times: their data, derivatives, and published fits."""

from __future__ import annotations

import numpy as np
import pytest
import regressions

REGRESSIONS = {data.title: data for data in regressions.regressions()}
TITLES = tuple(REGRESSIONS)
COUNTS = "negative binomial"
# The fit of statsmodels 0.15.0: NegativeBinomial(y, x).fit(method="newton"), of whose alpha r is the reciprocal.
BY_STATSMODELS = (
    [2.8945799902, -0.5693716974, 0.0823202841, -0.4484281499, 0.0880801521, 0.3569009714, 0.292109157, 0.2428619751],
    [0.2279261351, 0.1576086627, 0.1646847448, 0.2376018649, 0.2415476454, 0.2466200456, 0.182936845, 0.1263214839],
    -546.5755091449919,
)
# Of R's survreg(Surv(time, cens) ~ treat, gehan): the errors that its summary prints.
BY_SURVREG = [0.252, 0.311, 0.147]


def test_the_data_are_those_of_the_sources():
    counts, times = REGRESSIONS.values()
    assert counts.y.sum() == 2403
    np.testing.assert_array_equal(counts.x.sum(axis=0), [146, 77, 66, 46, 40, 33, 63])
    np.testing.assert_array_equal([times.y[times.x[:, 1] == k].sum() for k in (0, 1)], [359, 182])
    np.testing.assert_array_equal([times.is_known[times.x[:, 1] == k].sum() for k in (0, 1)], [9, 21])


def slopes(data, theta):
    """The gradient from the densities of SciPy, by central differences of fourth order."""
    found = []
    for move in 1e-3 * np.eye(len(theta)):
        near, far = (data.by_hand(theta + k * move, data) - data.by_hand(theta - k * move, data) for k in (1, 2))
        found.append((8 * near - far) / 12e-3)
    return np.array(found)


@pytest.mark.parametrize("title", TITLES)
def test_derivatives_and_step_are_those_of_the_densities_of_scipy(title):
    data = REGRESSIONS[title]
    theta = data.published[0] + 0.05
    value, gradient, hessian, step, errors = regressions.compiled(data, "perform")(theta)
    np.testing.assert_allclose(value, data.by_hand(theta, data), rtol=1e-13)
    np.testing.assert_allclose(gradient, slopes(data, theta), rtol=1e-7, atol=1e-7)
    moves = 1e-4 * np.eye(len(theta))
    needed = np.array([slopes(data, theta + move) - slopes(data, theta - move) for move in moves]) / 2e-4
    np.testing.assert_allclose(hessian, needed, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(step, np.linalg.solve(-hessian, gradient), rtol=1e-9)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(-hessian))), rtol=1e-9)


@pytest.mark.parametrize("backend", ["c", pytest.param("numba", marks=pytest.mark.long)])
@pytest.mark.parametrize("title", TITLES)
def test_the_fit_is_the_published_one(title, backend):
    data = REGRESSIONS[title]
    found = regressions.run(backend, data)
    said, height = data.published
    decimals = 4 if title == COUNTS else 3
    np.testing.assert_array_equal(np.round(found.theta, decimals), np.round(said, decimals))
    assert round(found.log_likelihood, 1) == round(height, 1)
    np.testing.assert_allclose(slopes(data, found.theta) * found.errors, 0, atol=1e-7)


def test_errors_of_the_fit_are_those_of_others():
    found = regressions.run("perform", REGRESSIONS[COUNTS])
    np.testing.assert_allclose(found.theta, BY_STATSMODELS[0], rtol=1e-8)
    np.testing.assert_allclose(found.errors, BY_STATSMODELS[1], rtol=1e-8)
    np.testing.assert_allclose(found.log_likelihood, BY_STATSMODELS[2], rtol=1e-13)
    found = regressions.run("perform", REGRESSIONS["Weibull"])
    np.testing.assert_array_equal(np.round(found.errors, 3), BY_SURVREG)


@pytest.mark.long
@pytest.mark.parametrize("title", TITLES)
def test_scipy_finds_the_same_by_differences(title):
    data = REGRESSIONS[title]
    found, peer = regressions.run("c", data), regressions.run_by_hand(data)
    assert np.all(np.abs(found.theta - peer.theta) < 1e-3 * found.errors)
    np.testing.assert_allclose(peer.errors, found.errors, rtol=1e-4)
    assert found.calls < peer.calls
    if title == COUNTS:
        pytest.importorskip("statsmodels")
        peer = regressions.run_statsmodels(data)
        np.testing.assert_allclose(peer.theta, found.theta, rtol=1e-7)
        np.testing.assert_allclose(peer.errors, found.errors, rtol=1e-7)
