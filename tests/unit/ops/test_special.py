"""Special functions: their references against mpmath over the domain, at poles and ends against SciPy, derivatives."""

from __future__ import annotations

import functools

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special

import tg
from tg.types.dtypes import numpy_dtype

FLOATS = ("bfloat16", "float16", "float32", "float64")


def _gammaln(x):
    return mpmath.re(mpmath.loggamma(x))


def _erfcinv(x):
    """By Newton's method, where the inverse of erf has lost the digits."""
    if x > 0.1:
        return mpmath.erfinv(1 - x)
    y = mpmath.mpf(float(scipy.special.erfcinv(float(x))))
    for _ in range(4):
        y += (mpmath.erfc(y) - x) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
    return y


def ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _ndtri_exp(y):
    """By Newton's method."""
    if y > -0.6:
        return mpmath.sqrt(2) * _erfcinv(-2 * mpmath.expm1(y))
    x = mpmath.mpf(float(scipy.special.ndtri_exp(float(y))))
    for _ in range(5):
        x -= (mpmath.log(ndtr(x)) - y) * ndtr(x) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(x * x / 2)
    return x


EXACT = {
    "erfcinv": _erfcinv,
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "erfinv": mpmath.erfinv,
    "factorial": mpmath.factorial,
    "gamma": mpmath.gamma,
    "i0": lambda x: mpmath.besseli(0, x),
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
    "log_ndtr": lambda x: mpmath.log(ndtr(x)) if x < 5 else mpmath.log1p(-ndtr(-x)),
    "ndtr": ndtr,
    "ndtri": lambda p: -mpmath.sqrt(2) * _erfcinv(2 * p),
    "ndtri_exp": _ndtri_exp,
    "digamma": mpmath.digamma,
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "gammaln": _gammaln,
    "trigamma": lambda x: mpmath.polygamma(1, x),
}
SLOPES = {  # the derivatives of an order, where mpmath's differences take long
    "digamma": lambda x, n: mpmath.polygamma(n, x),
    "gammaln": lambda x, n: mpmath.polygamma(n - 1, x),
    "trigamma": lambda x, n: mpmath.polygamma(n + 1, x),
}
INSIDE = {  # where derivatives are taken, for functions that are not defined everywhere
    "erfcinv": [0.1, 0.3, 0.9, 1.2, 1.8],
    "erfinv": [-0.9, -0.3, 0.01, 0.2, 0.7],
    "ndtri": [0.01, 0.2, 0.4, 0.6, 0.95],
    "ndtri_exp": [-9.0, -3.0, -0.8, -0.5, -0.01],
}
SCIPY = {"digamma": scipy.special.psi, "trigamma": lambda x: scipy.special.polygamma(1, x)}
SCIPY |= {name: getattr(scipy.special, name) for name in EXACT if name not in SCIPY}
ENDS = {  # where what SciPy gives is not what is right, or has no limit
    "erfcinv": {5e-324: 27.213293210812946},
    "i0": {-np.inf: np.inf, np.inf: np.inf},
    "i1": {-np.inf: -np.inf, np.inf: np.inf},
    "gammaln": {-np.inf: np.inf, 5e-324: 744.4400719213812},
    "trigamma": {-np.inf: np.nan},
}


def positive(rng, n):
    """Numbers of every size, and many beside the zeros."""
    near = [c + rng.normal(size=n // 8) * 1e-3 for c in (1, 1.4616321449683622, 2)]
    return np.concatenate([rng.uniform(0, 9, n), np.exp(rng.uniform(-70, 70, n)), *near])


def signed(rng, n):
    """Numbers in both tails, up to where erfc is 0, and small ones."""
    small = np.exp(rng.uniform(-70, 0, n // 2))
    return np.concatenate([rng.uniform(-6, 6, n), rng.uniform(0, 26, n), small, -small])


def between(low, high):
    """Numbers of an interval, and many of every size in it."""

    def drawn(rng, n):
        small = np.exp(rng.uniform(-70, 0, n // 2))
        found = np.concatenate([rng.uniform(low, high, n), rng.uniform(max(low, -3), min(high, 3), n), small, -small])
        return found[(found > low) & (found < high)]

    return drawn


ARGUMENTS = {
    "erf": signed,
    "erfc": signed,
    "erfcinv": between(0, 2),
    "erfcx": between(-26, 40),
    "erfinv": between(-1, 1),
    "factorial": between(0, 170),
    "gamma": between(0, 171),
    "log_ndtr": between(-100, 9),
    "ndtr": between(-37, 8),
    "ndtri": between(0, 1),
    "ndtri_exp": between(-700, 0),
    **dict.fromkeys(("i0", "i0e", "i1", "i1e"), between(-700, 700)),
}


def exactly(name, x):
    with mpmath.workdps(30):
        return np.array([np.longdouble(mpmath.nstr(EXACT[name](mpmath.mpf(float(v))), 25)) for v in x])


def off(found, right, size):
    """The largest error in units in the last place of some sizes; what underflows may be 0."""
    info = ml_dtypes.finfo(found.dtype)
    with np.errstate(all="ignore"):
        unit = np.maximum(np.abs(size) * float(info.eps), np.longdouble(float(info.tiny)) * float(info.eps)) / 2
        error = np.abs(found.astype(np.longdouble) - right) / unit
        beyond = np.abs(right) > float(info.max)
    error = np.where(beyond, np.where(np.isinf(found), 0, np.inf), error)
    return np.where((found == 0) & (np.abs(right) < float(info.tiny)), 0, error)


def arguments(name, dtype, n):
    with np.errstate(all="ignore"):
        x = ARGUMENTS.get(name, positive)(np.random.default_rng(7), n).astype(numpy_dtype(dtype))
    return x[np.isfinite(x.astype(float)) & (np.abs(x.astype(float)) >= float(ml_dtypes.finfo(x.dtype).tiny))]


def check(name, dtype, n):
    x = arguments(name, dtype, n)
    right = exactly(name, x)
    fn = getattr(tg, name)
    error = off(fn.op.perform(x)[0], right, right)
    worst = int(np.argmax(error))
    assert error[worst] <= 2 * fn.accuracy, f"{name}({x[worst]!r}): {error[worst] / 2:.2f} units off"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_the_reference_is_as_exact_as_its_record_says(name, dtype):
    check(name, dtype, 40 if dtype == "float64" else 12)


@pytest.mark.long
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_the_reference_is_as_exact_as_its_record_says_over_the_domain(name, dtype):
    check(name, dtype, 1500 if dtype == "float64" else 300)


@functools.cache
def below_zero():
    rng = np.random.default_rng(8)
    x = np.concatenate([-rng.uniform(0, 12, 40), -np.exp(rng.uniform(-20, 6, 20))])
    return x[x != np.rint(x)]


@pytest.mark.parametrize("name", ["digamma", "gammaln", "trigamma"])
def test_below_zero_the_reference_is_as_exact_as_its_terms_are(name):
    x = below_zero()
    right = exactly(name, x)
    terms = {"digamma": exactly("digamma", 1 - x), "gammaln": 1 + np.abs(x * np.log1p(-x))}.get(name, right)
    found = getattr(tg, name).op.perform(x)[0]
    assert off(found, right, np.maximum(np.abs(right), np.abs(terms))).max() <= 12


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_poles_and_ends_are_those_of_scipy(name, dtype):
    info = np.finfo(dtype)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, -1e30, info.max, info.tiny, info.smallest_subnormal]
    x = np.array(ends, dtype)
    with np.errstate(all="ignore"):
        right = SCIPY[name](x).astype(dtype)
    for end, value in ENDS.get(name, {}).items():
        right[x.astype(float) == end] = value
    found = getattr(tg, name).op.perform(x)[0]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    np.testing.assert_allclose(found, right, rtol=8 * info.eps, atol=info.smallest_subnormal)
    if name not in ("erfinv", "i1", "i1e"):  # SciPy's have no negative zero
        both = (found == 0) & (right == 0)
        np.testing.assert_array_equal(np.signbit(found[both]), np.signbit(right[both]))


@pytest.mark.parametrize("name", EXACT)
def test_first_and_second_derivatives_are_those_of_mpmath(name):
    x = tg.vector("x")
    fn = getattr(tg, name)
    first = tg.grad(tg.sum(fn(x)), x)
    f = tg.function([x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    values = np.array(INSIDE.get(name, [0.3, 0.8, 1.7, 3.2, 5.0]))
    with mpmath.workdps(30):
        slope = SLOPES.get(name, functools.partial(mpmath.diff, EXACT[name]))
        right = [[slope(mpmath.mpf(v), n) for v in values] for n in (1, 2)]
    for found, wanted in zip(f(values), right, strict=True):
        np.testing.assert_allclose(found, np.array(wanted, float), rtol=1e-13, atol=1e-25)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_log_ndtr_far_above_0_have_their_digits(dtype):
    """Of c / erfcx(-x) the second is over a square that is infinite from 27 on."""
    x = tg.vector("x", dtype)
    first = tg.grad(tg.sum(tg.log_ndtr(x)), x)
    f = tg.function([x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    values = np.array([0, 0.5, 4.0, 12.5, *((26.9, 28.0, 37.0) if dtype == "float64" else ())], dtype)
    with mpmath.workdps(30):
        slopes = [(v, mpmath.npdf(v) / ndtr(v)) for v in map(mpmath.mpf, values.tolist())]
        right = [[slope, -slope * (v + slope)] for v, slope in slopes]
    allowed = np.finfo(dtype).eps * (8 + values.astype(float) ** 2 * np.finfo(float).eps / np.finfo(dtype).eps)
    for found, wanted in zip(f(values), np.array([*zip(*right, strict=True)], float), strict=True):
        assert (np.abs(found / wanted - 1) <= allowed).all()


def test_derivatives_beside_a_pole_overflow_where_they_have_to_alone():
    x = tg.vector("x")
    f = tg.function([x], tg.grad(tg.sum(tg.trigamma(x)), x), backend="perform")
    np.testing.assert_allclose(f(np.array([1e-50, 3e-102, 1e-103])), [-2e150, -2 / 3e-102**3, -np.inf], rtol=1e-14)


@pytest.mark.parametrize("name", ["digamma", "erf", "erfc", "gammaln", "i0e", "i1e", "log_ndtr", "ndtr", "trigamma"])
def test_derivatives_are_no_nan_where_the_function_has_a_limit(name):
    x = tg.vector("x")
    f = tg.function([x], tg.grad(tg.sum(getattr(tg, name)(x)), x), backend="perform")
    ends = [np.inf, 1e300, 40.0, *((-np.inf, -1e300, 0.0) if name in ("erf", "erfc", "ndtr") else ())]
    assert np.isfinite(f(np.array(ends))[1:]).all()
    assert not np.isnan(f(np.array(ends))).any() or name == "trigamma"


def _mixed(exact, place, i, j):
    """The derivative of the second order by operands i and j, by central differences of 120 digits in mpmath."""
    with mpmath.workdps(120):
        place = [mpmath.mpf(v) for v in place]
        step = mpmath.mpf(10) ** -30

        def at(u, v):
            moved = list(place)
            moved[i] += u * step * place[i]
            moved[j] += v * step * place[j]
            return exact(*moved)

        if i == j:
            return (at(1, 0) - 2 * at(0, 0) + at(-1, 0)) / (step * place[i]) ** 2
        return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * step * step * place[i] * place[j])


def _lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def _part(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


SHAPED = {  # each way of computing
    "gammainc": (_lower, ([0.5, 3.0, 120.0, 0.9, 25.0, 1e-4], [0.1, 1.0, 130.0, 1.05, 31.0, 2.0])),
    "log_gamma_lower": (lambda a, x: mpmath.log(_lower(a, x)), ([0.5, 3.0, 20.0, 90.0], [0.1, 9.0, 0.1, 70.0])),
    "log_gamma_upper": (
        lambda a, x: mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True)),
        ([0.5, 3.0, 20.0, 90.0], [0.1, 30.0, 0.1, 115.0]),
    ),
    "betainc": (
        _part,
        ([0.5, 3.0, 20.0, 0.02, 150.0, 2.0], [2.0, 0.4, 15.0, 9.0, 90.0, 1.0], [0.3, 0.8, 0.6, 0.01, 0.62, 0.9]),
    ),
    "log_beta_tail": (
        lambda a, b, w: mpmath.log(_part(a, b, 1 / (1 + w))),
        ([0.5, 3.0, 0.02], [2.0, 0.4, 9.0], [0.3, 0.8, 7.0]),
    ),
    "kv": (mpmath.besselk, ([0.5, 2.0, -1.3], [0.3, 4.0, 0.7])),
    "kve": (lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), ([0.5, 2.0, -1.3], [0.3, 4.0, 0.7])),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPED)
def test_second_derivatives_in_shapes_and_orders_are_those_of_mpmath(name):
    exact, places = SHAPED[name]
    operands = [tg.vector(f"x{k}") for k in range(len(places))]
    first = tg.grad(tg.sum(getattr(tg, name)(*operands)), operands[:-1])
    pairs = [(i, j) for i in range(len(operands) - 1) for j in range(len(operands))]
    f = tg.function(operands, [tg.grad(tg.sum(first[i]), operands[j]) for i, j in pairs], backend="perform")
    for (i, j), values in zip(pairs, f(*map(np.array, places)), strict=True):
        right = np.array([float(_mixed(exact, place, i, j)) for place in zip(*places, strict=True)])
        np.testing.assert_allclose(values, right, rtol=1e-12, atol=1e-14, err_msg=f"by {i} and {j}")


@pytest.mark.long
def test_second_derivatives_of_gammainc_in_a_small_shape_have_their_digits():
    """By differences in mpmath with 90 digits, which take half a minute."""
    a, x = tg.vector("a"), tg.vector("x")
    first = tg.grad(tg.sum(tg.gammainc(a, x)), a)
    f = tg.function([a, x], tg.grad(tg.sum(first), a), backend="perform")
    wanted = [-0.00035554152629261717, -0.15278499723069847, 0.6827666183458246]
    np.testing.assert_allclose(f(np.array([1e-10, 1e-4, 0.7]), np.array([7.5, 2.0, 0.3])), wanted, rtol=1e-12)


def test_the_graph_of_a_reference_is_made_once_for_each_dtype():
    x = np.linspace(0.1, 9, 5)
    calls = []

    from tg.ops.elementwise.special.series import interpreted

    def expansion(v):
        calls.append(v.type.dtype)
        return tg.exp(v) * 2

    reference = interpreted(expansion)
    for array in (x, x.reshape(5, 1), x.astype(np.float32), x[:0], np.float64(3)):
        np.testing.assert_allclose(reference(np.asarray(array)), 2 * np.exp(array), rtol=1e-6)
    assert calls == ["float64", "float32"]


def test_names_are_those_of_scipy():
    for name in tg.special.__all__:
        assert getattr(tg.special, name) is getattr(tg, name)
        assert name in ("digamma", "sinc", "trigamma") or hasattr(scipy.special, name)
