"""Special functions where digits would be lost: beside poles, far out, of next to nothing."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import tg
from tests.unit.ops.test_special import ndtr
from tests.unit.ops.test_special_loops import LOOPED

BESIDE = {  # small steps from large numbers, whole numbers beyond, sums that round: a value, and where it is taken
    "beta": (mpmath.beta, [(169.0, 1e-8), (100.0, 0.1), (0.5, 165.5), (1e-30, 7.0), (85.0, 85.0)]),
    "betaln": (lambda x, y: mpmath.log(mpmath.beta(x, y)), [(1e6, 1e-8), (1e15, 0.5), (3.0, 1e-30), (5e4, 12.5)]),
    "binom": (mpmath.binomial, [(1e-30, 4.0), (1e-8, 300.0), (0.5, 2.5), (1.0, 4.0), (100.5, 1e-8), (2.0, 2.25)]),
    "poch": (mpmath.rf, [(100.0, 1e-8), (1e6, 1e-8), (5.5, -0.3), (0.5, 1e-8)]),
}


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BESIDE)
def test_values_and_derivatives_beside_what_would_cancel_have_their_digits(name, dtype):
    exact, places = BESIDE[name]
    x, y = tg.vector("x", dtype), tg.vector("y", dtype)
    value = getattr(tg, name)(x, y)
    slopes = tg.grad(tg.sum(value), [x, y])
    curves = [tg.grad(tg.sum(slope), v) for slope, v in zip(slopes, (x, y), strict=True)]
    f = tg.function([x, y], [value, *slopes, *curves], backend="perform")
    operands = [np.array(column, dtype) for column in zip(*places, strict=True)]
    found = f(*operands)
    with mpmath.workdps(60), np.errstate(over="ignore"):
        rows = [tuple(map(mpmath.mpf, row)) for row in zip(*(a.tolist() for a in operands), strict=True)]
        for n, v in zip([(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)], found, strict=True):
            right = np.array([float(_slope_at(exact, row, n)) for row in rows])
            digits = 2e-13 if sum(n) < 2 else 2e-10  # of a second derivative terms cancel
            allowed = max(digits, 8 * float(np.finfo(dtype).eps))
            np.testing.assert_allclose(v, right.astype(dtype), rtol=allowed, atol=1e-14 if sum(n) else 0)


def _slope_at(exact, place, orders):
    """A derivative in one operand by central differences, of steps relative to it."""
    if sum(orders) == 0:
        return exact(*place)
    k = orders.index(max(orders))
    h = abs(place[k]) * mpmath.mpf(10) ** -12
    with mpmath.workdps(200):
        low, middle, high = (exact(*(v + s * h * (i == k) for i, v in enumerate(place))) for s in (-1, 0, 1))
        return (high - low) / (2 * h) if sum(orders) == 1 else (high - 2 * middle + low) / (h * h)


def test_the_third_derivative_of_log_ndtr_far_below_has_its_digits():
    """Of 1 / erfcx the terms of it cancel to one part in x^2."""
    x = tg.scalar("x")
    found = [tg.log_ndtr(x)]
    for _ in range(3):
        found.append(tg.grad(found[-1], x))
    f = tg.function([x], found[1:], backend="perform")
    for place in (-29.9, -30.1, -500.0, -1e6):
        with mpmath.workdps(60):
            r = mpmath.npdf(place) / ndtr(mpmath.mpf(place)) if place > -600 else None
            if r is None:  # by its continued fraction: a + 1 / (a + 2 / (a + 3 / ...))
                r = mpmath.mpf(-place)
                for k in range(60, 0, -1):
                    r = -place + k / r
            first = -r * (place + r)
            wanted = [r, first, -first * (place + r) - r * (1 + first)]
        for value, right, digits in zip(f(place), wanted, (1e-14, 1e-11, 1e-9), strict=True):
            assert value == pytest.approx(float(right), rel=digits)


@pytest.mark.parametrize("name", ["erfcinv", "erfinv", "ndtri", "ndtri_exp"])
def test_slopes_of_quantiles_in_float32_are_those_of_float64_rounded(name):
    """They are exponentials of squares of the value, whose rounding would count some hundred times."""
    places = {"ndtri_exp": [-80.0, -1e-9, -0.6], "erfinv": [0.99999, -0.7, 1e-3]}.get(name, [1e-30, 1e-9, 0.3])
    rounded = np.array(places, "f4")
    found = []
    for dtype in ("float32", "float64"):
        x = tg.vector("x", dtype)
        f = tg.function([x], tg.grad(tg.sum(getattr(tg, name)(x)), x), backend="perform")
        found.append(f(rounded.astype(dtype)))
    np.testing.assert_array_max_ulp(found[0], found[1].astype("f4"), 1)


@pytest.mark.long
@pytest.mark.parametrize("name", ["kv", "kve"])
def test_k_of_next_to_nothing_has_its_digits(name):
    """What is integrated is as good as constant over hundreds of units."""
    orders, places = np.array([0.0, 0.0, 1e-2, 1.0, 2.5, 0.3]), np.array([1e-30, 1e-300, 1e-100, 1e-14, 1e-40, 1e-13])
    v, x = tg.vector("v"), tg.vector("x")
    y = getattr(tg, name)(v, x)
    f = tg.function([v, x], [y, *tg.grad(tg.sum(y), [v, x])], backend="perform")
    with mpmath.workdps(50):
        pairs = [tuple(map(mpmath.mpf, pair)) for pair in zip(orders, places, strict=True)]
        wanted = [
            [mpmath.besselk(a, b) for a, b in pairs],
            [mpmath.diff(lambda t, b=b: mpmath.besselk(t, b), a) for a, b in pairs],
            [-(mpmath.besselk(a - 1, b) + mpmath.besselk(a + 1, b)) / 2 for a, b in pairs],
        ]
    for found, right in zip(f(orders, places), wanted, strict=True):
        np.testing.assert_allclose(found, np.array(right, float), rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize("name", ["iv", "jv"])
def test_the_slope_of_a_small_order_has_its_digits(name):
    """Of the order less 1 there are none left of it."""
    orders, places = np.array([1e-30, 1e-10, -1e-5, 0.12, 0.13, 0.0]), np.array([1e-20, 1e-8, 1e-3, 2.0, 2.0, 0.5])
    v, x = tg.vector("v"), tg.vector("x")
    f = tg.function([v, x], tg.grad(tg.sum(getattr(tg, name)(v, x)), x), backend="perform")
    exact = LOOPED[name][0]
    with mpmath.workdps(50):
        wanted = [
            sum(
                sign * exact(mpmath.mpf(a) + by, mpmath.mpf(b))
                for by, sign in ((-1, 1), (1, 1 if name == "iv" else -1))
            )
            for a, b in zip(orders, places, strict=True)
        ]
    np.testing.assert_allclose(f(orders, places), np.array(wanted, float) / 2, rtol=1e-13)


@pytest.mark.long
def test_no_derivative_of_poch_loses_digits_beside_a_pole_of_gamma():
    z, m = tg.vector("z"), tg.vector("m")
    outputs = [tg.poch(z, m)]
    for _ in range(3):
        outputs.append(tg.grad(tg.sum(outputs[-1]), z))
    f = tg.function([z, m], outputs, backend="perform")
    at = np.array([1e-30, 1e-8, 0.0, -1.0, -2 + 1e-9, -0.4, 1e-3, -7.0, 0.49, 0.51])
    steps = np.array([5.0, 5.0, 5.0, 3.0, 3.0, 2.7, 2.5, 3.0, 4.0, 4.0])
    found = f(at, steps)
    with mpmath.workdps(60):
        for k, (a, b) in enumerate(zip(at.tolist(), steps.tolist(), strict=True)):
            right = [mpmath.diff(lambda t, b=b: mpmath.rf(t, b), mpmath.mpf(a), order) for order in range(4)]
            size = max(map(abs, right))
            for order in range(1, 4):
                assert abs(found[order][k] - right[order]) <= 1e-12 * size, (a, b, order)


def test_the_bessel_function_of_the_second_kind_of_subnormal_arguments():
    v, x = np.array([0.0, 0.0, 1e-3, 0.3, 0.5, 0.5]), np.array([5e-324, 1e-310, 5e-324, 5e-324, 1e-310, 3e-308])
    with mpmath.workdps(40):
        right = [float(mpmath.besselk(a, mpmath.mpf(b))) for a, b in zip(v.tolist(), x.tolist(), strict=True)]
    for f in (tg.kv, tg.kve):
        np.testing.assert_allclose(f(v, x).eval(), right, rtol=1e-13)
    assert float(tg.kv(1.0, 5e-324).eval()) == np.inf
