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


EXACT = {
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
SCIPY = {"digamma": scipy.special.psi, "trigamma": lambda x: scipy.special.polygamma(1, x)}
SCIPY |= {name: getattr(scipy.special, name) for name in ("erf", "erfc", "gammaln")}
ENDS = {  # where what SciPy gives is not what is right, or has no limit
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


ARGUMENTS = {"erf": signed, "erfc": signed}


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
    check(name, dtype, 6000)


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
    np.testing.assert_allclose(found, right, rtol=8 * info.eps)
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(right[right == 0]))


@pytest.mark.parametrize("name", EXACT)
def test_first_and_second_derivatives_are_those_of_mpmath(name):
    x = tg.vector("x")
    fn = getattr(tg, name)
    first = tg.grad(tg.sum(fn(x)), x)
    f = tg.function([x], [first, tg.grad(tg.sum(first), x)], backend="perform")
    values = np.array([0.3, 0.8, 1.7, 3.2, 5.0])
    with mpmath.workdps(30):
        slope = SLOPES.get(name, functools.partial(mpmath.diff, EXACT[name]))
        right = [[slope(mpmath.mpf(v), n) for v in values] for n in (1, 2)]
    for found, wanted in zip(f(values), right, strict=True):
        np.testing.assert_allclose(found, np.array(wanted, float), rtol=1e-13, atol=1e-25)


@pytest.mark.parametrize("name", EXACT)
def test_derivatives_are_no_nan_where_the_function_has_a_limit(name):
    x = tg.vector("x")
    f = tg.function([x], tg.grad(tg.sum(getattr(tg, name)(x)), x), backend="perform")
    ends = [np.inf, 1e300, 40.0, *((-np.inf, -1e300, 0.0) if name in ("erf", "erfc") else ())]
    assert np.isfinite(f(np.array(ends))[1:]).all()
    assert not np.isnan(f(np.array(ends))).any() or name == "trigamma"


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
