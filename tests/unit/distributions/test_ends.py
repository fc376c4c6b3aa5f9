"""Derivatives of distribution functions at centres, at ends of the support, beside these and beyond."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.distributions.laws import CONTINUOUS, LAWS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
SIGNS = {"cdf": 1, "sf": -1}


def places(name, parameters):
    """The median, the ends and what is beyond; for a distribution about a centre this."""
    theirs = LAWS[name][0](*parameters)
    low, high = (parameters[0] - np.pi, parameters[0] + np.pi) if name == "vonmises" else theirs.support()
    ends = [v + by for v in (low, high) if np.isfinite(v) for by in (-1, 0, 1e-3, 1)]
    if name == "vonmises":
        ends = []
    centre = {"t": 1, "triangular": 1}.get(name, 0)
    about = [parameters[centre] + by for by in (0, 1e-8, -1e-8)] if name in ABOUT else []
    beyond = [] if name == "vonmises" else [np.inf, -np.inf]
    return np.array([theirs.median(), *about, *ends, *beyond], float)


BENT = ("laplace", "triangular")  # whose density has no derivative at the centre
ABOUT = ("cauchy", "gumbel", "laplace", "logistic", "normal", "t", "triangular", "vonmises")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_slope_of_a_distribution_function_is_the_density(name):
    """At an end it is what the density is there by definition, which SciPy's is too; beyond both are 0."""
    law = getattr(tg.distributions, name)
    x, given = tg.vector("x"), [tg.vector(p.name) for p in law.parameters]
    slopes = [tg.grad(tg.sum(getattr(law, method)(x, *given)), x) for method in SIGNS]
    second = tg.grad(tg.sum(slopes[0]), x, disconnected="zero")
    of_density = tg.grad(tg.sum(law.pdf(x, *given)), x, disconnected="zero")
    f = tg.function([x, *given], [*slopes, second, of_density], backend="perform", on_unused_input="ignore")
    for parameters in LAWS[name][1]:
        at = places(name, parameters)
        *first, twice, once = f(at, *(np.full(at.shape, float(v)) for v in parameters))
        density = np.where(np.isinf(at), 0.0, LAWS[name][0](*parameters).pdf(at))
        for sign, found in zip(SIGNS.values(), first, strict=True):
            np.testing.assert_allclose(found, sign * density, rtol=1e-11, atol=1e-300, err_msg=str((at, parameters)))
        known = np.isfinite(once) & np.isfinite(density) & (name not in BENT)
        scale = np.abs(once[known]) + density[known]
        assert (np.abs(twice[known] - once[known]) <= 1e-11 * scale + 1e-300).all(), (at[known], parameters)


@pytest.mark.parametrize(("name", "parameters", "slope"), [("uniform", (2.0, 5.0), 3), ("exponential", (2.0,), 2)])
def test_the_slope_of_a_quantile_at_0_is_that_of_its_formula(name, parameters, slope):
    q = tg.scalar("q")
    y = getattr(tg.distributions, name).ppf(q, *parameters)
    assert float(tg.grad(y, q).eval({q: 0.0})) == slope
