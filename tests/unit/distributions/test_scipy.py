"""Distributions of numbers: values, quantiles and moments are those of `scipy.stats`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.distributions.laws import DISCRETE, LAWS, LEVELS, all_points, asked, compiled

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SciPy's, at the ends
VALUES = ("logpdf", "logpmf", "pdf", "pmf", "cdf", "sf", "logcdf", "logsf")
MOMENTS = {"entropy": "entropy", "mean": "mean", "variance": "var", "std": "std"}
QUIRKS = {("t", "mean"): lambda df, *_: df <= 1}  # where SciPy gives infinity for what does not exist


def agree(found, wanted, what, rtol=1e-11, atol=1e-11):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, err_msg=what)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", LAWS)
def test_values_are_those_of_scipy(name):
    methods = asked(name, VALUES)
    xs, given, theirs = all_points(name)
    for method, found in zip(methods, compiled(name, tuple(methods), True)(np.concatenate(xs), *given), strict=True):
        wanted = np.concatenate([getattr(each, method)(x) for each, x in zip(theirs, xs, strict=True)])
        known = ~np.isnan(wanted)
        if method in ("logcdf", "logsf"):  # SciPy takes the logarithm of a tail that has underflowed
            small = np.isneginf(wanted) & (found < -740)
            wanted = np.where(small, found, wanted)
        agree(found[known], wanted[known], method)
        # of infinities SciPy does not always know: only NaN gives NaN
        assert np.array_equal(np.isnan(found[~known]), np.isnan(np.concatenate(xs)[~known])), method


def levels_of(name):
    """Probabilities and their ends, with all parameters."""
    make, table = LAWS[name]
    q = np.array([0.0, *LEVELS, 0.02, 0.98, 1.0, -0.1, 1.1, np.nan])
    given = [np.repeat(column, len(q)).astype(float) for column in zip(*table, strict=True)]
    return q, np.tile(q, len(table)), given, [make(*p) for p in table]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", [name for name in LAWS if asked(name, ["ppf"])])
def test_quantiles_are_those_of_scipy(name):
    methods = ("ppf", "isf")
    q, all_q, given, theirs = levels_of(name)
    for method, found in zip(methods, compiled(name, methods, True)(all_q, *given), strict=True):
        wanted = np.concatenate([getattr(each, method)(q) for each in theirs])
        agree(found, wanted, method)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_scipy(name):
    slow = ("variance", "std") if name == "vonmises" else ()  # SciPy integrates for half a minute
    methods = tuple(method for method in asked(name, MOMENTS) if method not in slow)
    make, table = LAWS[name]
    given = [np.array(column, float) for column in zip(*table, strict=True)]
    for method, found in zip(methods, compiled(name, methods, False)(*given), strict=True):
        wanted = np.array([getattr(make(*p), MOMENTS[method])() for p in table])
        unlike = QUIRKS.get((name, method))
        if unlike is not None:
            assert np.isnan(found[unlike(*given)]).all()
            wanted[unlike(*given)] = np.nan
        agree(found, wanted, method)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", DISCRETE)
def test_a_discrete_quantile_is_the_first_whose_probability_is_enough(name):
    """Also where the level is the probability itself."""
    rng = np.random.default_rng(5)
    make, table = LAWS[name]
    given = [np.repeat(column, 12).astype(float) for column in zip(*table, strict=True)]
    k = np.concatenate([make(*p).rvs(12, random_state=rng) for p in table]).astype(float)
    (level, left) = compiled(name, ("cdf", "sf"), True)(k, *given)
    quantile = compiled(name, ("ppf", "isf"), True)
    low = np.concatenate([np.full(12, make(*p).support()[0]) for p in table])
    inner = (level > 0) & (level < 1)
    np.testing.assert_array_equal(quantile(level, *given)[0][inner], k[inner])
    assert (quantile(left, *given)[1] <= k)[inner].all()
    q = rng.uniform(size=k.shape)
    found = quantile(q, *given)[0]
    cdf = compiled(name, ("cdf",), True)
    assert (cdf(found, *given)[0] >= q).all()
    assert ((cdf(found - 1, *given)[0] < q) | (found == low)).all()
