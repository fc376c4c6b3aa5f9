"""Splines of SciPy in graphs of PyTensor: values, slopes and what is outside of their interval; and PyMC's density."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import scipy.interpolate as si
import scipy.stats
from pymc.distributions.dist_math import SplineWrapper

import tg
import tg_pytensor

DRAWS = np.random.default_rng(3)
PLACES = np.sort(DRAWS.uniform(0, 5, 12))
HEIGHTS = DRAWS.normal(size=12)
ENDS = PLACES[0], PLACES[-1]
CUBIC = si.InterpolatedUnivariateSpline(PLACES, HEIGHTS, k=3)
X = np.concatenate([np.linspace(-1, 6, 57), PLACES, [np.nextafter(ENDS[0], -9), np.nextafter(ENDS[1], 9), np.nan]])
EXTRAPOLATED, ZERO, EDGE = 0, 1, 3


def applied(spline, dtype="float64"):
    """A vector of PyTensor, and a spline of it."""
    x = pt.vector("x", dtype=dtype)
    return x, SplineWrapper(spline)(x)


def compiled(spline, backend, dtype="float64"):
    """A spline and its derivative."""
    x, y = applied(spline, dtype)
    graph = tg_pytensor.from_pytensor([x], [y])
    (given,), (y,) = graph.inputs, graph.outputs
    return tg.function([given], [y, tg.grad(tg.sum(y), given, disconnected="zero")], backend=backend)


@pytest.mark.parametrize("backend", ["perform", "c"])
@pytest.mark.parametrize("outside", [EXTRAPOLATED, ZERO, EDGE])
def test_values_and_slopes_are_those_of_scipy(outside, backend):
    for degree in (1, 2, 3, 5):
        spline = si.InterpolatedUnivariateSpline(PLACES, HEIGHTS, k=degree, ext=outside)
        for one in (spline, spline.derivative(), si.UnivariateSpline(PLACES, HEIGHTS, k=degree, s=3, ext=outside)):
            value, slope = compiled(one, backend)(X)
            np.testing.assert_allclose(value, one(X), rtol=1e-10, atol=1e-10)
            if one is spline:
                wanted = one.derivative()(X)
                flat = (ENDS[0] > X) | (ENDS[1] < X) if outside == EDGE else np.zeros(X.shape, bool)
                np.testing.assert_allclose(slope[:-1], np.where(flat, 0, wanted)[:-1], rtol=1e-9, atol=1e-9)


def test_a_spline_that_refuses_what_is_outside_says_so():
    f = compiled(si.InterpolatedUnivariateSpline(PLACES, HEIGHTS, k=3, ext="raise"), "c")
    assert f(PLACES)[0] == pytest.approx(HEIGHTS, rel=1e-12)
    with pytest.raises(ValueError, match=r"SplineWrapper: found 1 numbers outside of its interval, needed all from"):
        f([9.0])


def test_numbers_of_half_the_length_are_looked_up_in_full():
    x = PLACES[:5].astype("float32")
    value, _ = compiled(CUBIC, "c", "float32")(x)
    assert value.dtype == "float32"
    np.testing.assert_allclose(value, CUBIC(x).astype("float32"), rtol=1e-6)


def test_a_function_of_python_in_the_place_of_a_spline_is_refused_by_name():
    x, y = applied(si.CubicSpline(PLACES, HEIGHTS))
    with pytest.raises(
        tg.NoRuleError, match="no rule for SplineWrapper of CubicSpline: needed scipy's UnivariateSpline"
    ):
        tg_pytensor.from_pytensor([x], [y])


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_the_density_of_an_interpolated_prior(backend):
    grid = np.linspace(0.0, 1.0, 7)
    heights = np.exp(-grid) * (grid + 0.1)
    with pm.Model() as model:
        share = pm.Interpolated("share", grid, heights)
        pm.Normal("y", share, 1.0, observed=0.3)
    area = np.trapezoid(heights, grid)

    def density(t):
        x = 1 / (1 + np.exp(-t))
        prior = np.log(np.interp(x, grid, heights) / area) + np.log(x * (1 - x))
        return prior + scipy.stats.norm.logpdf(0.3, x)

    f = tg_pytensor.from_pymc(model).value_and_grad(backend)
    for t in (-3.1, -0.7, 0.45, 2.2):
        value, slope = f(share_interval__=t)
        assert value == pytest.approx(density(t), rel=1e-13)
        assert slope == pytest.approx([(density(t + 1e-5) - density(t - 1e-5)) / 2e-5], rel=1e-6)
