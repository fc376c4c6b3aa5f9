"""Special functions: their references against mpmath over the domain, at poles and ends against SciPy, derivatives."""

from __future__ import annotations

import functools
import math

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


def _ndtr(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _ndtri_exp(y):
    """By Newton's method."""
    if y > -0.6:
        return mpmath.sqrt(2) * _erfcinv(-2 * mpmath.expm1(y))
    x = mpmath.mpf(float(scipy.special.ndtri_exp(float(y))))
    for _ in range(5):
        x -= (mpmath.log(_ndtr(x)) - y) * _ndtr(x) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(x * x / 2)
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
    "log_ndtr": lambda x: mpmath.log(_ndtr(x)) if x < 5 else mpmath.log1p(-_ndtr(-x)),
    "ndtr": _ndtr,
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
        slopes = [(v, mpmath.npdf(v) / _ndtr(v)) for v in map(mpmath.mpf, values.tolist())]
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


# --- functions of two ------------------------------------------------------------------------------------------------

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


# --- functions with loops, over what they are for ---------------------------------------------------------------------


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


# --- where digits would be lost --------------------------------------------------------------------------------------

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
            r = mpmath.npdf(place) / _ndtr(mpmath.mpf(place)) if place > -600 else None
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
