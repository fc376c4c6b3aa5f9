"""Student's distribution about its centre and far out: values and three derivatives, of which mpmath is the oracle."""

from __future__ import annotations

import functools

import mpmath as mp
import numpy as np
import pytest

import tg

t = tg.distributions.t
POINTS = [0.0, 1e-300, -1e-300, 1e-8, -1e-8, 0.3, -0.3, 5.0, -5.0, 1e10, -1e10, np.inf, -np.inf]
DEGREES = [0.5, 1.0, 2.5, 30.0, 1e4, 1e6, np.inf]
LEVELS = [0.5, 0.5 + 1e-8, 0.5 - 1e-8, 0.3, 0.7, 0.01, 0.99, 1e-10, 1e-50]


def _constant(n):
    return mp.gamma((n + 1) / 2) / (mp.sqrt(n * mp.pi) * mp.gamma(n / 2))


def _below(z, n):
    """The distribution function at z <= 0, by a series in which nothing cancels, or about the centre."""
    z = -z
    if n == mp.inf:
        return mp.erfc(z / mp.sqrt(2)) / 2
    if z < 3 and z * z < n / 1000:
        return mp.mpf(1) / 2 - _constant(n) * z * mp.hyp2f1(mp.mpf(1) / 2, (n + 1) / 2, mp.mpf(3) / 2, -z * z / n)
    a, b, x = n / 2, mp.mpf(1) / 2, n / (n + z * z)
    return x**a * mp.sqrt(z * z / (n + z * z)) / (2 * a * mp.beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, x)


@functools.cache
def parts(z, n):
    """The distribution function at z and -z, the density, and the derivatives of its logarithm."""
    z, n = mp.mpf(z), mp.mpf(n)
    low = _below(-abs(z), n) if abs(z) < mp.inf else mp.mpf(0)
    below, above = (low, 1 - low) if z < 0 else (1 - low, low)
    if abs(z) == mp.inf:
        return below, above, mp.mpf(0), mp.mpf(0), mp.mpf(0)
    if n == mp.inf:
        return below, above, mp.npdf(z), -z, mp.mpf(-1)
    density = _constant(n) * (1 + z * z / n) ** (-(n + 1) / 2)
    s = n + z * z
    return below, above, density, -(n + 1) * z / s, -(n + 1) * (n - z * z) / s**2


def of_cdf(z, n):
    """The distribution function and three derivatives; each as a list of terms."""
    below, _, f, d, e = parts(z, n)
    return [below], [f], [f * d], [f * d * d, f * e]


def of_log(z, n):
    """Those of its logarithm."""
    below, above, f, d, e = parts(z, n)
    if below == 0:
        slope = mp.inf if n == mp.inf else mp.mpf(0)
        return [-mp.inf], [slope], [mp.mpf(-1 if n == mp.inf else 0)], [mp.mpf(0)]
    h = f / below
    log = mp.log(below) if below < 0.5 else mp.log1p(-above)
    return [log], [h], [h * d, -h * h], [h * d * d, h * e, -3 * h * h * d, 2 * h**3]


def of_quantile(z, n):
    """Those of the quantile that is z, by its probability."""
    _, _, f, d, e = parts(z, n)
    return [mp.mpf(z)], [1 / f], [-d / f**2], [2 * d * d / f**3, -e / f**3]


def quantile(q, n):
    """The quantile, by Newton's method from what is tested."""
    q, n = mp.mpf(q), mp.mpf(n)
    z = mp.mpf(float(t.ppf(float(q), float(n)).eval()))
    for _ in range(3):
        below, _, f, _, _ = parts(z, n)
        z -= (mp.log(below) - mp.log(q)) * below / f
    return z if q != 0.5 else mp.mpf(0)


@functools.cache
def compiled(method, dtype, backend):
    """A value and three derivatives."""
    x, n = tg.vector("x", dtype=dtype), tg.vector("n", dtype=dtype)
    outputs = [getattr(t, method)(x, n)]
    for _ in range(3):
        outputs.append(tg.grad(tg.sum(outputs[-1]), x))
    return tg.function([x, n], outputs, backend=backend)


def check(method, exact, points, degrees, dtype="float64", units=512):
    x, n = np.array([(x, n) for x in points for n in degrees]).T.astype(dtype)
    found = compiled(method, dtype, "perform")(x, n)
    info = np.finfo(dtype)
    with mp.workdps(60):
        for k, (v, m) in enumerate(zip(x.tolist(), n.tolist(), strict=True)):
            for order, terms in enumerate(exact(v, m)):
                right, size = mp.fsum(terms) if len(terms) > 1 else terms[0], sum(map(abs, terms))
                value = float(found[order][k])
                lost = abs(mp.log(size)) if 0 < size < mp.inf else 0  # as the exponential loses digits
                allowed = units * float(info.eps) * size * (1 + lost) + float(info.tiny)
                assert value == right or abs(value - right) <= allowed, (v, m, order, value, mp.nstr(right, 17))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("degrees", DEGREES)
def test_the_distribution_function_and_its_derivatives(degrees):
    check("cdf", of_cdf, POINTS, [degrees])


@pytest.mark.long
@pytest.mark.parametrize("degrees", DEGREES)
def test_the_logarithm_of_the_distribution_function_and_its_derivatives(degrees):
    check("logcdf", of_log, POINTS, [degrees])


@pytest.mark.sampled(7)
@pytest.mark.parametrize("degrees", DEGREES)
def test_the_quantile_and_its_derivatives(degrees):
    check("ppf", lambda q, n: of_quantile(quantile(q, n), n), LEVELS, [degrees])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("method", "exact", "points"),
    [
        ("cdf", of_cdf, [0.0, 1e-8, -0.3, 5.0, -np.inf]),
        ("logcdf", of_log, [0.0, -1e-8, 0.3, -40.0, np.inf]),
        ("ppf", lambda q, n: of_quantile(quantile(q, n), n), [0.5, 0.375, 0.0078125, 0.9921875]),
    ],
)
def test_single_precision(method, exact, points):
    check(method, exact, points, [0.5, 2.5, 1e6], "float32")


def test_the_derivative_in_the_degrees_of_freedom_does_not_depend_on_the_order_at_the_centre():
    x, n = tg.vector("x"), tg.vector("n")
    y = t.cdf(x, n)
    first = tg.jvp(tg.grad(tg.sum(y), n), x, tg.ones_like(x))
    last = tg.grad(tg.sum(tg.grad(tg.sum(y), x)), n)
    f = tg.function([x, n], [first, last], backend="perform")
    with mp.workdps(40):
        right = [float(mp.diff(lambda m: _constant(m), n)) for n in (0.5, 3, 1000)]
    for found in f(np.zeros(3), np.array([0.5, 3.0, 1000.0])):
        np.testing.assert_allclose(found, right, rtol=1e-12)
