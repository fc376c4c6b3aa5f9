"""Loops with ends, positions and stages in C: against the reference, and how exact sums are."""

import math

import numpy as np
import pytest

import tg
from tg_c.ends import CHUNK

LENGTHS = (0, 1, 3, 7, 8, 9, 31, 33, 600)


def agrees(inputs, outputs, arrays, rtol=1e-12):
    """Compare with the reference, layouts and dtypes too."""
    found = tg.function(inputs, outputs, backend="c")(*arrays)
    wanted = tg.function(inputs, outputs, backend="perform")(*arrays)
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_one_pass_gives_a_sum_an_extreme_and_an_array():
    x, mu = tg.vector("x"), tg.scalar("mu")
    z = x - mu
    f = tg.function([x, mu], [tg.sum(z * z), tg.sum(z), tg.exp(z)], backend="c")
    assert f.source().count("static __attribute__((noinline)) void loop") == 1
    for n in LENGTHS:
        a = normal(n)
        found = f(a, 0.5)
        np.testing.assert_allclose(found[0], math.fsum((a - 0.5) ** 2), rtol=1e-13)
        np.testing.assert_allclose(found[2], np.exp(a - 0.5), rtol=1e-14)


@pytest.mark.parametrize("shape", [(3, 5), (1, 8), (4, 17), (0, 3), (2, 100), (5, 1)])
def test_rows(shape):
    x, a = tg.matrix("x"), normal(*shape)
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    c = x - tg.mean(x, axis=-1, keepdims=True)
    agrees([x], [e / tg.sum(e, axis=-1, keepdims=True)], [a])
    agrees([x], [c / tg.sqrt(tg.mean(c * c, axis=-1, keepdims=True) + 1e-3), tg.sum(c * c)], [a])
    agrees([x], [tg.sum(tg.exp(x), axis=-1), tg.sum(tg.exp(x) * 2.0), tg.exp(x)], [a])
    agrees([x], [tg.all(x > 0), tg.any(x > 1.0, axis=-1), tg.prod(x * 1.5, axis=-1)], [a])
    agrees([x], [tg.sum(tg.exp(x.T), axis=-1), tg.sum(tg.exp(x[:, ::-1]))], [a])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int8", "uint16", "uint64", "bool"])
def test_reductions_of_other_dtypes(dtype):
    x = tg.tensor("x", dtype, (None, None))
    for shape in ((3, 5), (2, 70), (0, 4)):
        a = normal(*shape) > 0 if dtype == "bool" else (np.abs(normal(*shape)) * 3).astype(dtype)
        tolerance = 1e-5 if dtype == "float32" else 0
        agrees([x], [tg.sum(x + x), tg.sum(x * x, axis=-1), tg.sum(x)], [a], tolerance)
        if shape[0]:
            agrees([x], [tg.max(x * x), tg.min(x * x, axis=-1)], [a], tolerance)


@pytest.mark.parametrize("places", [1, 3, 50])
def test_reads_and_writes_at_positions(places):
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    b, j = tg.matrix("b"), tg.vector("j", dtype="int32")
    z = x * a[i] + 1.0
    summed = [tg.sum(z * z), *tg.grad(tg.sum(z * z), [a, x])]
    paired = [tg.exp(b[i, j]) * x, tg.grad(tg.sum(tg.exp(b[i, j]) * x), b)]
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        index, other = rng.integers(-places, places, n), rng.integers(0, 4, n).astype("int32")
        agrees([a, x, i], summed, [normal(places), normal(n), index])
        agrees([a, x, i], summed, [normal(places), normal(n), np.sort(index)])
        agrees([b, i, j, x], paired, [normal(places, 4), index, other, normal(n)])


def test_positions_outside_are_refused_as_ever():
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    f = tg.function([a, x, i], tg.sum(x * a[i]), backend="c")
    for length, index in ((3, [5, 0]), (3, [-4, 0]), (0, [0, 0])):
        with pytest.raises(IndexError, match="is out of bounds for an axis of length"):
            f(np.ones(length), np.ones(2), np.array(index))


def test_the_first_nan_wins_over_any_extreme():
    x = tg.vector("x")
    f = tg.function([x], [tg.max(x * 2.0), tg.min(x * 2.0)], backend="c")
    for n in (1, 8, 40):
        for k in range(n):
            a = normal(n)
            a[k] = np.nan
            assert np.isnan(f(a)).all()


@pytest.mark.parametrize("n", [1000, 123_457])
def test_the_error_of_a_sum_is_bounded(n):
    x = tg.vector("x")
    sums = tg.function([x], [tg.sum(x * 1.5), tg.sum(tg.exp(x))], backend="c")
    a = normal(n) * 10.0 ** np.random.default_rng(2).integers(-3, 4, n)
    a[a > 30] = 30.0
    for found, terms in zip(sums(a), (a * 1.5, np.exp(a)), strict=True):
        bound = (CHUNK + math.log2(n) + 4) * np.finfo(np.float64).eps  # 4: of the exponentials themselves
        assert abs(found - math.fsum(terms)) <= bound * math.fsum(np.abs(terms))


def test_a_divisor_that_a_row_shares_is_inverted_only_where_that_is_exact_enough():
    x, s = tg.vector("x"), tg.scalar("s")
    f = tg.function([x, s], x / s + 0.0, backend="c")
    a = np.array([1.0, -0.0, 3.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 7.0])
    with np.errstate(all="ignore"):
        for divisor in (3.0, -7.0, 5e-324, 1e-310, 1e305, 1.7e308, 0.0, -0.0, np.inf, np.nan, 2.0**-1000, 2.0**1000):
            wanted = a / divisor + 0.0
            np.testing.assert_allclose(f(a, divisor), wanted, rtol=2.3e-16, atol=5e-324)
    strict = tg.function([x, s], x / s + 0.0, backend=tg.backend("c", accuracy="strict"))
    np.testing.assert_array_equal(strict(a, 3.0), a / 3.0 + 0.0)
