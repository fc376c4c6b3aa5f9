"""Special functions with loops, over what they are for."""

from __future__ import annotations

import functools

import ml_dtypes
import mpmath
import numpy as np
import pytest

import tg
from tests.unit.ops.test_special import EXACT, FLOATS
from tg.types.dtypes import numpy_dtype


def _p(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def _owens(h, a):
    return mpmath.quad(lambda x: mpmath.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mpmath.pi)


SHAPE, WIDE, PART = (0.02, 60), (1e-3, 80), (0.001, 0.999)
LOOPED = {
    "gammainc": (_p, SHAPE, WIDE),
    "gammaincc": (lambda a, x: mpmath.gammainc(a, x, regularized=True), SHAPE, WIDE),
    "betainc": (lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), SHAPE, SHAPE, PART),
    "iv": (mpmath.besseli, (0, 60), (0.01, 90)),
    "ive": (lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x), (0, 60), (0.01, 400)),
    "kv": (mpmath.besselk, (-40, 40), (0.01, 90)),
    "kve": (lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), (-40, 40), (0.01, 400)),
    "jv": (mpmath.besselj, (-20, 60), (0.01, 90)),
    "j0": (lambda x: mpmath.besselj(0, x), (-300, 300)),
    "j1": (lambda x: mpmath.besselj(1, x), (-300, 300)),
    "owens_t": (_owens, (-5, 5), (-9, 9)),
    "hyp2f1": (mpmath.hyp2f1, (0.1, 4), (0.1, 4), (0.2, 9), (-3, 0.8)),
}
INVERSES = {
    "gammaincinv": (_p, lambda a, x: x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a), SHAPE),
    "gammainccinv": (
        lambda a, x: mpmath.gammainc(a, x, regularized=True),
        lambda a, x: x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a),
        SHAPE,
    ),
    "betaincinv": (
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b),
        (0.3, 60),
        (0.3, 60),
    ),
}


def samples(ends, dtype, n=200):
    """Operands of a dtype, half of them by size where there are no negative ones."""
    rng = np.random.default_rng(11)
    found = []
    for low, high in ends:
        x = rng.uniform(low, high, n)
        if low > 0:
            x[::2] = np.exp(rng.uniform(np.log(low), np.log(high), x[::2].size))
        found.append(rng.permutation(x).astype(numpy_dtype(dtype)))
    return found


def _size(name, operands, right):
    """What the rounding of a value is relative to."""
    y = np.abs(right.astype(float))
    if name in ("jv", "j0", "j1"):
        v, x = (np.abs(np.asarray(a, float)) for a in (operands if name == "jv" else (0, operands[0])))
        return np.where(x > v, np.maximum(y, np.sqrt(2 / np.pi / np.maximum(x, 1))), y * (1 + np.abs(np.log(y))))
    if name == "hyp2f1":
        return y + 1
    return y * (1 + np.abs(np.log(y, where=y > 0, out=np.zeros_like(y))))


def _right(exact, operands):
    with mpmath.workdps(30):
        rows = zip(*(a.astype(float).tolist() for a in operands), strict=True)
        return np.array([np.longdouble(mpmath.nstr(mpmath.re(exact(*map(mpmath.mpf, row))), 25)) for row in rows])


@pytest.mark.long
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LOOPED)
def test_functions_with_loops_are_as_exact_as_their_records_say_over_the_domain(name, dtype):
    exact, *ends = LOOPED[name]
    operands, info = samples(ends, dtype), ml_dtypes.finfo(numpy_dtype(dtype))
    right = _right(exact, operands)
    found = getattr(tg, name).op.perform(*operands)[0].astype(np.longdouble)
    inside = (np.abs(right) < float(info.max)) & (np.abs(right) > float(info.tiny))
    assert inside.sum() > (20 if dtype == "float16" else 60)  # whose largest is 65504
    error = np.abs(found - right) / (_size(name, operands, right) * float(info.eps))
    worst = int(np.argmax(np.where(inside, error, 0)))
    at = [a[worst] for a in operands]
    assert error[worst] <= getattr(tg, name).accuracy, f"{name}{at}: {found[worst]}, needed {right[worst]}"


@pytest.mark.long
@pytest.mark.parametrize("name", INVERSES)
def test_inverses_of_functions_with_loops_lead_back(name):
    exact, density, *ends = INVERSES[name]
    *shapes, part = samples([*ends, PART], "float64")
    found = getattr(tg, name).op.perform(*shapes, part)[0]
    there = (found > 1e-300) & (found < 1 - 1e-9 if name == "betaincinv" else True)
    assert there.sum() > 150
    operands = [a[there] for a in (*shapes, found)]
    rest = np.abs(_right(exact, operands) - part[there])
    slope = _right(lambda *v: v[-1] * density(*v), operands)
    eps = np.finfo(float).eps
    assert (rest <= getattr(tg, name).accuracy * eps * (slope + part[there])).all()


def test_what_overflows_in_one_element_is_as_it_is_alone_though_others_go_on():
    """Inf times 0 is no term: it was added to a sum that had ended."""
    huge, usual = (1.98e124, -57.33, 1.05e-125, 0.557), (10.2, 18.0, 1.17, 0.99)
    both = tg.hyp2f1.op.perform(*(np.array(pair) for pair in zip(huge, usual, strict=True)))[0]
    assert both.tolist() == [tg.hyp2f1.op.perform(*map(np.array, x))[0] for x in (huge, usual)]
    assert np.isinf(both[0])
    assert both[1] == pytest.approx(float(mpmath.hyp2f1(*usual)), rel=1e-12)


@pytest.mark.parametrize("name", ["iv", "ive", "jv", "kv", "kve"])
def test_derivatives_of_bessel_functions_in_float32_are_those_of_float64_rounded(name):
    """The terms of that of kve cancel, and are infinite in float32 where the value beside is not."""
    orders, places = np.array([2.0, 3.0, 18.0]), np.array([1e3 if name in ("ive", "kve") else 9.0, 5.0, 0.25])
    found = []
    for dtype in ("float64", "float32"):
        v, x = tg.vector("v", dtype), tg.vector("x", dtype)
        f = tg.function([v, x], tg.grad(tg.sum(getattr(tg, name)(v, x)), x), backend="perform")
        found.append(f(orders.astype(dtype), places.astype(dtype)))
    with np.errstate(over="ignore"):
        np.testing.assert_array_max_ulp(found[1], found[0].astype(np.float32), 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_derivatives_of_erfcx_far_out_have_their_digits(dtype):
    """They are what little is left of 2 x erfcx(x) - 2 / sqrt(pi)."""
    x = tg.vector("x", dtype)
    first = tg.grad(tg.sum(tg.erfcx(x)), x)
    f = tg.function([x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    places = np.array([4.0, 9.5, 10.5, 25.0, 1e3, 1e9], dtype)
    with mpmath.workdps(60):
        slopes = [2 * p * EXACT["erfcx"](p) - 2 / mpmath.sqrt(mpmath.pi) for p in map(mpmath.mpf, places[:5].tolist())]
        curves = [
            2 * EXACT["erfcx"](p) + 2 * p * s for p, s in zip(map(mpmath.mpf, places[:5].tolist()), slopes, strict=True)
        ]
    size = 1 / np.sqrt(np.pi)  # of the first term of the series, which is all of it
    wanted = [*map(float, slopes), -size / 1e18], [*map(float, curves), 2 * size / 1e27]
    for found, right, lost in zip(f(places), wanted, (4e2, 4e4), strict=True):
        np.testing.assert_allclose(found, right, rtol=max(np.finfo(dtype).eps, lost * np.finfo(float).eps))


@pytest.mark.parametrize("name", ["ive", "kve"])
def test_the_derivatives_of_scaled_bessel_functions_far_out_have_their_digits(name):
    """They are some y / x, of terms as large as y."""
    v, x = tg.vector("v"), tg.vector("x")
    first = tg.grad(tg.sum(getattr(tg, name)(v, x)), x)
    f = tg.function([v, x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    orders, places = np.array([0.3, 2.0, 6.5, 9.0, 1.0]), np.array([51.0, 60.0, 50.5, 300.0, 6e5])
    wanted = [], []
    with mpmath.workdps(60):
        for order, place in zip(map(mpmath.mpf, orders), map(mpmath.mpf, places), strict=True):
            exact, step = functools.partial(LOOPED[name][0], order), place * mpmath.mpf(10) ** -15
            low, middle, high = (exact(place + k * step) for k in (-1, 0, 1))
            wanted[0].append(float((high - low) / (2 * step)))
            wanted[1].append(float((high - 2 * middle + low) / step**2))
    for found, right in zip(f(orders, places), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "third"), [("i1", 3 / 8), ("i1e", 0.0), ("j1", -3 / 8)])
def test_second_derivatives_of_bessel_functions_beside_0_have_their_digits(name, third, dtype):
    """The quotient by x has derivatives whose terms are as large as 1 / x^2."""
    x = tg.vector("x", dtype)
    first = tg.grad(tg.sum(getattr(tg, name)(x)), x)
    f = tg.function([x], tg.grad(tg.sum(first), x), backend="perform")
    places = np.array([1e-30, 3e-15, 2e-9], dtype)
    wanted = -np.ones(3) if name == "i1e" else third * places.astype(float)
    np.testing.assert_allclose(f(places), wanted, rtol=1e-7 if name == "i1e" else 4 * np.finfo(dtype).eps)


def test_the_slope_of_i1_is_infinite_where_it_is():
    x = tg.vector("x", "float32")
    f = tg.function([x], tg.grad(tg.sum(tg.i1(x)), x), backend="perform")
    np.testing.assert_array_equal(f(np.array([-200, 200], "f4")), np.array([np.inf, np.inf], "f4"))


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_derivatives_of_scaled_bessel_functions_are_differences_of_exact_values_far_out(name):
    x = tg.vector("x")
    first = tg.grad(tg.sum(getattr(tg, name)(x)), x)
    f = tg.function([x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    places = np.array([51.0, 1376.5, -1400.0])
    with mpmath.workdps(60):
        wanted = [[mpmath.diff(EXACT[name], mpmath.mpf(p), n) for p in places] for n in (1, 2)]
    for found, right in zip(f(places), wanted, strict=True):
        np.testing.assert_allclose(found, np.array(right, float), rtol=1e-13)


def test_derivatives_of_betaln_in_float32_have_their_digits():
    x, y = tg.vector("x", "float32"), tg.vector("y", "float32")
    f = tg.function([x, y], tg.grad(tg.sum(tg.betaln(x, y)), x), backend="perform")
    large, small = np.array([938355.0, 3e4], "f4"), np.array([0.66738933, 1e-3], "f4")
    pairs = zip(large.tolist(), small.tolist(), strict=True)
    with mpmath.workdps(30):
        wanted = [float(mpmath.digamma(a) - mpmath.digamma(mpmath.mpf(a) + b)) for a, b in pairs]
    np.testing.assert_allclose(f(large, small), wanted, rtol=1e-6)
