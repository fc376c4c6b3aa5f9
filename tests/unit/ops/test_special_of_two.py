"""Special functions of two numbers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import tg

TWO = {
    "beta": (mpmath.beta, (0.1, 30), (0.1, 30)),
    "betaln": (lambda x, y: mpmath.log(mpmath.beta(x, y)), (0.1, 1e5), (0.1, 1e5)),
    "binom": (mpmath.binomial, (0.1, 30), (0.1, 30)),
    "poch": (mpmath.rf, (0.1, 30), (-5, 30)),
    "zeta": (mpmath.zeta, (1.01, 20), (1e-3, 100)),
}


def grown(name, x, y):
    """How many units the rounding of a sum of the operands makes of one, beside those of the record."""
    return 1 if name == "zeta" else 1 + (x + np.abs(y)) * np.log1p(x + np.abs(y)) / 4


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_are_as_exact_as_their_records_say(name):
    exact, *ends = TWO[name]
    rng = np.random.default_rng(9)
    x, y = (rng.uniform(*end, 60) if end[1] < 1e3 else np.exp(rng.uniform(*np.log(end), 60)) for end in ends)
    fn = getattr(tg, name)
    with mpmath.workdps(80):  # mpmath's zeta is right to so many digits of 1
        right = np.array([np.longdouble(mpmath.nstr(exact(*map(mpmath.mpf, v)), 25)) for v in zip(x, y, strict=True)])
    error = np.abs(fn.op.perform(x, y)[0] - right) / (np.finfo(float).eps * np.maximum(np.abs(right), name == "betaln"))
    assert (error <= fn.accuracy * grown(name, x, y) ** (name != "betaln")).all()


@pytest.mark.parametrize("order", range(7))
def test_polygamma_is_right_on_both_sides_of_0(order):
    x = np.array([1e-3, 0.3, 1.4, 3.0, 40.0, 1e5, -0.4, -1.3, -7.8])
    with mpmath.workdps(30):
        right = np.array([mpmath.polygamma(order, mpmath.mpf(v)) for v in x], float)
    np.testing.assert_allclose(tg.polygamma.op.perform(np.full(x.shape, float(order)), x)[0], right, rtol=1e-13)


@pytest.mark.parametrize("name", ["beta", "betaln", "binom", "poch", "polygamma", "zeta"])
def test_ends_of_functions_of_two_are_those_of_scipy(name):
    x = np.array([1, 1, 0.5, 2, 3, 5, 0, 2, 3, 1e3, 30, np.nan, 0.5, 3])
    y = np.array([2, 1, 0, 0.5, 2.5, 2, 1, 1e-300, -0.5, 0.5, 0.25, 1, np.nan, -2.5])
    if name == "polygamma":
        x, y = np.array([0.0, 1, 2, 3, 2, 1, 4, 0.5, -1]), np.array([2, np.inf, 0.5, 1e-300, -2, -3, 7, 2, 2])
    if name == "zeta":
        x, y = np.array([1.0, 0.5, 2, 2, 3, 2, 2, 1.5]), np.array([2, 3, 0, np.inf, -2, -0.5, 1e200, -0.5])
    with np.errstate(all="ignore"):
        right = np.array([getattr(scipy.special, name)(int(a) if name == "polygamma" and a == int(a) else a, b)
                          for a, b in zip(x, y, strict=True)])  # fmt: skip
    np.testing.assert_allclose(getattr(tg, name).op.perform(x, y)[0], right, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ["beta", "betaln", "binom", "poch"])
def test_derivatives_by_both_operands_are_those_of_mpmath(name):
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], tg.grad(tg.sum(getattr(tg, name)(x, y)), [x, y]), backend="perform")
    values = np.array([0.7, 2.3, 6.5]), np.array([1.2, 1.6, 0.4])
    exact = TWO[name][0]
    with mpmath.workdps(30):
        right = [[mpmath.diff(exact, v, n) for v in zip(*values, strict=True)] for n in ((1, 0), (0, 1))]
    for found, wanted in zip(f(*values), right, strict=True):
        np.testing.assert_allclose(found, np.array(wanted, float), rtol=1e-12)


def test_the_order_of_polygamma_takes_no_part_in_derivatives():
    n, x = tg.vector("n"), tg.vector("x")
    f = tg.function([n, x], tg.grad(tg.sum(tg.polygamma(n, x)), x), backend="perform")
    orders, points = np.array([2.0, 3.0]), np.array([0.4, 2.5])
    right = [scipy.special.polygamma(int(k) + 1, v) for k, v in zip(orders, points, strict=True)]
    np.testing.assert_allclose(f(orders, points), right, rtol=1e-13)
    with pytest.raises(tg.NotDifferentiable, match="with respect to"):
        tg.grad(tg.sum(tg.polygamma(n, x)), n)


def test_derivatives_of_zeta_in_both_operands_are_those_of_mpmath():
    """Of y between 0 and 1 the first term has another sign than the others: right as a part of zeta log(y)."""
    s, q = tg.vector("s"), tg.vector("q")
    first = tg.grad(tg.sum(tg.zeta(s, q)), [s, q])
    second = [tg.grad(tg.sum(first[0]), v) for v in (s, q)]
    f = tg.function([s, q], [*first, *second], backend="perform")
    powers = np.array([1 + 2.0**-30, 1.5, 2.0, 3.0, 10.0, 60.0, 2.0, 1.1])
    points = np.array([1.0, 0.3, 1e-100, 1e5, 7.0, 9.0, 0.25, 12.0])
    for k, values in enumerate(f(powers, points)):
        with mpmath.workdps(80):
            places = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(powers, points, strict=True)]
            slopes = {
                0: lambda a, b: mpmath.zeta(a, b, 1),
                1: lambda a, b: -a * mpmath.zeta(a + 1, b),
                2: lambda a, b: mpmath.zeta(a, b, 2),
                3: lambda a, b: -mpmath.zeta(a + 1, b) - a * mpmath.zeta(a + 1, b, 1),
            }
            right = np.array([float(slopes[k](a, b)) for a, b in places])
            sizes = [float(abs(mpmath.zeta(a, b) * (1 + abs(mpmath.log(b))))) for a, b in places]
        within = np.maximum(np.abs(right), sizes if k in (0, 2) else 0)
        assert np.all(np.isclose(values, right, rtol=1e-13) | (np.abs(values - right) <= 1e-13 * within)), k


def test_ends_of_the_derivative_of_zeta_in_its_power():
    powers, points = np.array([2, 2, 2, 1, 0.5, np.nan, np.inf]), np.array([0, np.inf, -0.5, 2, 2, 2, 2.0])
    right = [np.inf, 0, np.nan, np.nan, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(tg.zeta_ds.op.perform(powers, points)[0], right)


def test_binom_next_to_its_zeros_where_the_difference_is_rounded():
    n = np.random.default_rng(2).uniform(-0.4, 4, 200)
    k = n + 5 + 10.0 ** np.linspace(-13, -3, 200)
    found = tg.binom.op.perform(n, k)[0]
    with mpmath.workdps(60):
        wanted = [float(mpmath.binomial(mpmath.mpf(a), mpmath.mpf(b))) for a, b in zip(n, k, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_binom_of_whole_numbers_is_a_whole_number():
    n, k = (a.ravel().astype(float) for a in np.mgrid[0:45, 0:46])
    np.testing.assert_array_equal(
        tg.binom.op.perform(n, k)[0], [math.comb(int(a), int(b)) for a, b in zip(n, k, strict=True)]
    )


@pytest.mark.parametrize("fn", [tg.polygamma, tg.jv, tg.iv, tg.ive], ids=lambda fn: fn.name)
def test_a_derivative_that_does_not_exist_is_an_error_and_no_zero(fn):
    """That of s iv(s, q) by s would be iv(s, q) without a word."""
    s, q = tg.scalar("s"), tg.scalar("q")
    y = fn(s, q) * s
    with pytest.raises(tg.NotDifferentiable, match=f"{fn.name}: has no derivative with respect to"):
        tg.grad(y, s)
    with pytest.raises(tg.NotDifferentiable, match=f"{fn.name}: has no derivative with respect to"):
        tg.jvp([y], [s], [tg.constant(1.0)])
    found = tg.grad(y, q).eval({s: 3.0, q: 2.0})
    step = 1e-5
    above, below = (getattr(scipy.special, fn.name)(3, 2 + d) * 3 for d in (step, -step))
    np.testing.assert_allclose(found, (above - below) / (2 * step), rtol=1e-7)
