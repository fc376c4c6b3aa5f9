"""Loops with ends, positions and stages: against the reference, and how exact sums are."""

import math

import numpy as np
import pytest

import tg
from tg_native.loops.costs import CHUNK

pytestmark = pytest.mark.sampled(4)
LENGTHS = (0, 1, 3, 7, 8, 9, 31, 33, 600)


def comparison(backend, inputs, outputs, rtol=1e-12):
    """What compares, for some arrays, with the reference, layouts and dtypes too."""
    compiled = tg.function(inputs, outputs, backend=backend)
    reference = tg.function(inputs, outputs, backend="perform")

    def compare(arrays):
        for a, b in zip(compiled(*arrays), reference(*arrays), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)

    return compare


@pytest.fixture
def same(backend):
    """Compare with the reference, layouts and dtypes too."""
    return lambda inputs, outputs, arrays, rtol=1e-12: comparison(backend, inputs, outputs, rtol)(arrays)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("shape", [(3, 5), (1, 8), (4, 17), (0, 3), (2, 100), (5, 1)])
def test_rows(shape, same):
    x, a = tg.matrix("x"), normal(*shape)
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    c = x - tg.mean(x, axis=-1, keepdims=True)
    same([x], [e / tg.sum(e, axis=-1, keepdims=True)], [a])
    same([x], [c / tg.sqrt(tg.mean(c * c, axis=-1, keepdims=True) + 1e-3), tg.sum(c * c)], [a])
    same([x], [tg.sum(tg.exp(x), axis=-1), tg.sum(tg.exp(x) * 2.0), tg.exp(x)], [a])
    same([x], [tg.all(x > 0), tg.any(x > 1.0, axis=-1), tg.prod(x * 1.5, axis=-1)], [a])
    same([x], [tg.sum(tg.exp(x.T), axis=-1), tg.sum(tg.exp(x[:, ::-1]))], [a])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "int8", "uint16", "uint64", "bool", "complex64"])
def test_reductions_of_other_dtypes(dtype, same):
    x = tg.tensor("x", dtype, (None, None))
    for shape in ((3, 5), (2, 70), (0, 4)):
        a = normal(*shape) > 0 if dtype == "bool" else (np.abs(normal(*shape)) * 3).astype(dtype)
        tolerance = 1e-5 if dtype in ("float32", "complex64") else 0
        same([x], [tg.sum(x + x), tg.sum(x * x, axis=-1), tg.sum(x)], [a], tolerance)
        if shape[0] and dtype != "complex64":
            same([x], [tg.max(x * x), tg.min(x * x, axis=-1)], [a], tolerance)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("places", [1, 3, 50])
def test_reads_and_writes_at_positions(places, same):
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    b, j = tg.matrix("b"), tg.vector("j", dtype="int32")
    z = x * a[i] + 1.0
    summed = [tg.sum(z * z), *tg.grad(tg.sum(z * z), [a, x])]
    paired = [tg.exp(b[i, j]) * x, tg.grad(tg.sum(tg.exp(b[i, j]) * x), b)]
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        index, other = rng.integers(-places, places, n), rng.integers(0, 4, n).astype("int32")
        same([a, x, i], summed, [normal(places), normal(n), index])
        same([a, x, i], summed, [normal(places), normal(n), np.sort(index)])
        same([b, i, j, x], paired, [normal(places, 4), index, other, normal(n)])


def test_positions_outside_are_refused_as_ever(backend):
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    f = tg.function([a, x, i], tg.sum(x * a[i]), backend=backend)
    for length, index in ((3, [5, 0]), (3, [-4, 0]), (0, [0, 0])):
        with pytest.raises(IndexError, match="is out of bounds for an axis of length"):
            f(np.ones(length), np.ones(2), np.array(index))
    b = tg.matrix("b")
    g = tg.function([b, x, i], [tg.sum(x * b[0, i]), tg.grad(tg.sum(x * b[i - i, i]), b)], backend=backend)
    with pytest.raises(IndexError, match="is out of bounds for an axis of length 0"):
        g(np.ones((0, 3)), np.ones(2), np.array([2, 1]))


def test_the_first_nan_wins_over_any_extreme(backend):
    x = tg.vector("x")
    f = tg.function([x], [tg.max(x * 2.0), tg.min(x * 2.0)], backend=backend)
    for n in (1, 8, 40):
        for k in range(n):
            a = normal(n)
            a[k] = np.nan
            assert np.isnan(f(a)).all()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("n", [1000, 123_457])
def test_the_error_of_a_sum_is_bounded(n, backend):
    x = tg.vector("x")
    sums = tg.function([x], [tg.sum(x * 1.5), tg.sum(tg.exp(x))], backend=backend)
    alone = tg.function([x], tg.sum(x), backend=backend)
    a = normal(n) * 10.0 ** np.random.default_rng(2).integers(-3, 4, n)
    a[a > 30] = 30.0
    for found, terms in zip((*sums(a), alone(a)), (a * 1.5, np.exp(a), a), strict=True):
        bound = (CHUNK + math.log2(n) + 4) * np.finfo(np.float64).eps  # 4: of the exponentials themselves
        assert abs(found - math.fsum(terms)) <= bound * math.fsum(np.abs(terms))
