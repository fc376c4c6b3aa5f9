"""Logarithms of tails that underflow, and their slopes, beside mpmath."""

import mpmath
import numpy as np
import pytest

import tg
from tg import distributions as d


def lower(a, x):
    return mpmath.log(mpmath.gammainc(a, 0, x, regularized=True))


def upper(a, x):
    return mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True))


def below(a, b, x):
    """The logarithm of the incomplete beta function by the series that has no cancelling terms."""
    front = a * mpmath.log(x) + b * mpmath.log(1 - x) - mpmath.log(a) - mpmath.log(mpmath.beta(a, b))
    return front + mpmath.log(mpmath.hyp2f1(a + b, 1, a + 1, x))


# a distribution, its method, what it is, the value and the parameters
TAILS = {
    "gamma above": (d.gamma.logsf, lambda x, a, s: upper(a, x / s), (4000.0, 2.5, 0.5)),
    "gamma below": (d.gamma.logcdf, lambda x, a, s: lower(a, x / s), (1e-3, 300.0, 2.0)),
    "gamma above, beside a large shape": (d.gamma.logsf, lambda x, a, s: upper(a, x / s), (1.25e5, 1e5, 1.0)),
    "chisquare above": (d.chisquare.logsf, lambda x, n: upper(n / 2, x / 2), (5000.0, 3.0)),
    "invgamma below": (d.invgamma.logcdf, lambda x, a, s: upper(a, s / x), (1e-4, 2.0, 0.7)),
    "invgamma above": (d.invgamma.logsf, lambda x, a, s: lower(a, s / x), (1e9, 90.0, 0.7)),
    "gengamma above": (d.gengamma.logsf, lambda x, a, c, s: upper(a, (x / s) ** c), (50.0, 1.5, 2.0, 1.0)),
    "beta below": (d.beta.logcdf, lambda x, a, b: below(a, b, x), (1e-4, 200.0, 3.0)),
    "beta above": (d.beta.logsf, lambda x, a, b: below(b, a, 1 - x), (1 - 2.0**-20, 3.0, 150.0)),
    "poisson above": (d.poisson.logsf, lambda x, m: lower(x + 1, m), (500.0, 0.5)),
    "poisson below": (d.poisson.logcdf, lambda x, m: upper(x + 1, m), (3.0, 2000.0)),
    "binomial above": (d.binomial.logsf, lambda x, n, p: below(x + 1, n - x, p), (400.0, 500.0, 1e-3)),
    "nbinom below": (d.nbinom.logcdf, lambda x, n, p: below(n, x + 1, p), (2.0, 300.0, 1e-3)),
}
WHOLE = ("poisson", "binomial", "nbinom")


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
@pytest.mark.parametrize("name", TAILS)
def test_a_tail_that_underflows_has_its_logarithm_and_slope(name, backend):
    method, exact, (value, *parameters) = TAILS[name]
    x, *given = (tg.scalar(f"x{k}") for k in range(1 + len(parameters)))
    y = method(x, *given)
    first = given[-1] if name.split()[0] in WHOLE else x
    f = tg.function([x, *given], [y, tg.grad(y, first)], backend=backend)
    found, slope = f(value, *parameters)
    with mpmath.workdps(60):
        numbers = [mpmath.mpf(v) for v in (value, *parameters)]
        place = len(numbers) - 1 if first is not x else 0
        right = exact(*numbers)
        moved = lambda v: exact(*numbers[:place], v, *numbers[place + 1 :])  # noqa: E731
        step = numbers[place] * mpmath.mpf(10) ** -20
        right_slope = (moved(numbers[place] + step) - moved(numbers[place] - step)) / (2 * step)
    assert float(right) < -700
    np.testing.assert_allclose(found, float(right), rtol=2e-14)
    np.testing.assert_allclose(slope, float(right_slope), rtol=5e-14 * abs(float(right)) / 700 + 1e-12)


def test_logarithms_at_the_ends_and_in_the_middle_are_those_of_the_tails():
    x = tg.vector("x")
    values = np.array([0.0, 1e-3, 0.4, 0.5, 0.6, 1.0])
    for one in (d.beta(2.0, 3.0), d.gamma(2.0, 0.4), d.chisquare(3.0), d.invgamma(3.0, 0.4)):
        logs = tg.function([x], [one.logcdf(x), one.logsf(x), one.cdf(x), one.sf(x)], backend="perform")(values)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(logs[0], np.log(logs[2]), rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(logs[1], np.log(logs[3]), rtol=1e-13, atol=1e-15)
